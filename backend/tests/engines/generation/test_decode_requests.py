"""Shapes of requests."""

import pytest

from tunix_rt.engines.generation.base import Prompt
from tunix_rt.engines.generation.scheduler import DecodeRequest, grouped, next_prefill, size_for, slots_for


def a_task(num_prompt_tokens: int, length: int) -> DecodeRequest:
    return DecodeRequest(Prompt(f"{num_prompt_tokens}", [1] * num_prompt_tokens), length)


@pytest.mark.parametrize(("num_tokens", "size"), [(1, 32), (32, 32), (33, 64), (130, 256), (256, 256)])
def test_sizes_are_powers_of_two(num_tokens: int, size: int) -> None:
    assert size_for(num_tokens) == size


@pytest.mark.parametrize(
    ("num_tokens", "num_slots"),
    [(5, 32), (130, 256), (512, 512), (513, 640), (544, 640), (1024, 1024), (1100, 1280)],
)
def test_large_caches_have_sizes_between_powers_of_two(num_tokens: int, num_slots: int) -> None:
    assert slots_for(num_tokens) == num_slots
    assert a_task(4, num_tokens).num_slots == num_slots


def test_cache_holds_the_padded_prompt() -> None:
    assert a_task(520, 530).prompt_size == a_task(520, 530).num_slots == 1024


def test_requests_are_grouped_longest_first() -> None:
    tasks = [a_task(5, 60), a_task(90, 200), a_task(40, 64), a_task(100, 130)]
    groups = [[task.num_prompt_tokens for task in group] for group in grouped(tasks)]
    assert groups == [[100, 90], [40, 5]]


def test_prefill_has_one_prompt_size() -> None:
    waiting = [a_task(40, 64), a_task(33, 64), a_task(32, 64), a_task(5, 64)]
    assert next_prefill(waiting, 4) == waiting[:2]
    assert next_prefill(waiting, 1) == waiting[:1]
