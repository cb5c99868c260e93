"""Cache and prompt sizes of decode requests, and how requests are grouped."""

import pytest

from tunix_rt.engines.generation.base import Prompt
from tunix_rt.engines.generation.scheduler import DecodeRequest, grouped, next_prefill, size_for, slots_for


def make_request(num_prompt_tokens: int, length: int) -> DecodeRequest:
    return DecodeRequest(Prompt(f"{num_prompt_tokens}", [1] * num_prompt_tokens), length)


@pytest.mark.parametrize(("num_tokens", "size"), [(1, 32), (32, 32), (33, 64), (130, 256), (256, 256)])
def test_sizes_are_powers_of_two(num_tokens: int, size: int) -> None:
    assert size_for(num_tokens) == size


@pytest.mark.parametrize(
    ("num_tokens", "num_slots"),
    [(5, 32), (130, 256), (512, 512), (513, 640), (544, 640), (1024, 1024), (1100, 1280)],
)
def test_large_caches_use_intermediate_sizes(num_tokens: int, num_slots: int) -> None:
    assert slots_for(num_tokens) == num_slots
    assert make_request(4, num_tokens).num_slots == num_slots


def test_cache_holds_padded_prompt() -> None:
    assert make_request(520, 530).prompt_size == make_request(520, 530).num_slots == 1024


def test_requests_are_grouped_longest_first() -> None:
    requests = [make_request(5, 60), make_request(90, 200), make_request(40, 64), make_request(100, 130)]
    groups = [[request.num_prompt_tokens for request in group] for group in grouped(requests)]
    assert groups == [[100, 90], [40, 5]]


def test_prefill_has_one_prompt_size() -> None:
    waiting = [make_request(40, 64), make_request(33, 64), make_request(32, 64), make_request(5, 64)]
    assert next_prefill(waiting, 4) == waiting[:2]
    assert next_prefill(waiting, 1) == waiting[:1]
