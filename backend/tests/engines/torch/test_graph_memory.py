"""Peak memory includes the working memory of a CUDA graph."""

import pytest
import torch

from tunix_rt.engines.torch import devices
from tunix_rt.engines.torch.devices import count_graph_memory, peak_bytes

GPU = torch.device("cuda")


class Allocator:
    """Tracks current and peak bytes like torch's allocator."""

    def __init__(self) -> None:
        self.now = self.peak = 0

    def allocate(self, num_bytes: int) -> None:
        self.now += num_bytes
        self.peak = max(self.peak, self.now)

    def allocate_briefly(self, num_bytes: int) -> None:
        """Allocate and free."""
        self.allocate(num_bytes)
        self.now -= num_bytes

    def reset_peak(self) -> None:
        self.peak = self.now


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch) -> Allocator:
    allocator = Allocator()
    monkeypatch.setattr(devices, "_graph_memory", devices._GraphMemory())
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda _: allocator.peak)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: allocator.now)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda _: allocator.reset_peak())
    return allocator


def test_peak_without_graph_is_allocator_peak(allocator: Allocator) -> None:
    allocator.allocate(5)
    allocator.allocate_briefly(3)
    assert peak_bytes(GPU) == 8


def test_graph_memory_adds_to_peak(allocator: Allocator) -> None:
    allocator.allocate(5)  # weights
    with count_graph_memory(GPU):
        allocator.allocate_briefly(3)  # activations
        allocator.allocate(1)  # the output stays
    assert peak_bytes(GPU) == 8
    allocator.allocate_briefly(2)  # the loss
    assert peak_bytes(GPU) == 5 + 1 + 2 + 2


def test_earlier_peak_is_kept(allocator: Allocator) -> None:
    """A peak from before the capture does not count as memory of the graph."""
    allocator.allocate_briefly(100)  # loading
    allocator.allocate(5)
    with count_graph_memory(GPU):
        allocator.allocate_briefly(3)
    allocator.allocate_briefly(2)
    assert peak_bytes(GPU) == 100
    allocator.allocate_briefly(99)
    assert peak_bytes(GPU) == 5 + 3 + 99


def test_new_graph_replaces_last(allocator: Allocator) -> None:
    for num_bytes in (5, 3):
        with count_graph_memory(GPU):
            allocator.allocate_briefly(num_bytes)
    assert peak_bytes(GPU) == 5
    allocator.allocate_briefly(4)
    assert peak_bytes(GPU) == 3 + 4
