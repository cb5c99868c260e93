"""Peak memory includes the working memory of a CUDA graph."""

import pytest
import torch

from tunix_rt.engines.torch import devices as graph_memory
from tunix_rt.engines.torch.devices import count_graph_memory, peak_bytes

GPU = torch.device("cuda")


class Allocator:
    """Counts as torch's allocator does."""

    def __init__(self) -> None:
        self.now = self.peak = 0

    def take(self, num_bytes: int) -> None:
        self.now += num_bytes
        self.peak = max(self.peak, self.now)

    def use(self, num_bytes: int) -> None:
        """Take it and give it back."""
        self.take(num_bytes)
        self.now -= num_bytes

    def forget_peak(self) -> None:
        self.peak = self.now


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch) -> Allocator:
    allocator = Allocator()
    monkeypatch.setattr(graph_memory, "_graph_memory", graph_memory._GraphMemory())
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda _: allocator.peak)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: allocator.now)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda _: allocator.forget_peak())
    return allocator


def test_without_a_graph_it_is_what_the_allocator_says(allocator: Allocator) -> None:
    allocator.take(5)
    allocator.use(3)
    assert peak_bytes(GPU) == 8


def test_what_a_replay_computes_in_lies_beside_the_loss(allocator: Allocator) -> None:
    allocator.take(5)  # weights
    with count_graph_memory(GPU):
        allocator.use(3)  # activations
        allocator.take(1)  # the output stays
    assert peak_bytes(GPU) == 8
    allocator.use(2)  # the loss
    assert peak_bytes(GPU) == 5 + 1 + 2 + 2


def test_an_earlier_peak_is_not_forgotten_nor_taken_for_the_graphs(allocator: Allocator) -> None:
    allocator.use(100)  # loading
    allocator.take(5)
    with count_graph_memory(GPU):
        allocator.use(3)
    allocator.use(2)
    assert peak_bytes(GPU) == 100
    allocator.use(99)
    assert peak_bytes(GPU) == 5 + 3 + 99


def test_the_next_graph_takes_the_place_of_the_last(allocator: Allocator) -> None:
    for num_bytes in (5, 3):
        with count_graph_memory(GPU):
            allocator.use(num_bytes)
    assert peak_bytes(GPU) == 5
    allocator.use(4)
    assert peak_bytes(GPU) == 3 + 4
