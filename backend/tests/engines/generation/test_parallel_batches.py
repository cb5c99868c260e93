"""Parallel batches: every prompt gets its own completion, and no batch waits for another."""

import threading
from collections.abc import Sequence
from threading import Event
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tunix_rt.engines.generation.base import Completion, Prompt
from tunix_rt.engines.generation.generator import decode_in_parallel
from tunix_rt.engines.generation.scheduler import IDLE, Batch, DecodeRequest, PrefillBatch
from tunix_rt.engines.jax.generation.generator import MAX_SMALL_MODEL_BYTES, num_batches

STEPS = 4


class CountingRows:
    """Rows without a model: each generates the numbers after the last token of its prompt."""

    def __init__(self, num_rows: int) -> None:
        self.admitted: list[int] = []
        self.awaited: list[int] = []
        self._newest = np.full(num_rows, IDLE)
        self._missing = np.zeros(num_rows, int)

    def prefill(self, new: PrefillBatch, num_rows: int) -> None:
        assert len(new.rows) <= num_rows
        assert not (self._missing[new.rows] > 0).any()
        self.admitted.append(len(new.rows))
        self._newest[new.rows] = new.tokens
        self._missing[new.rows] = new.lengths - new.positions - 1

    @property
    def num_admitted(self) -> int:
        return sum(self.admitted)

    def advance(self, num_awaited: int) -> NDArray[Any]:
        self.awaited.append(num_awaited)
        ahead = np.arange(1, STEPS + 1)[:, None]
        generated = np.where(ahead <= self._missing, self._newest + ahead, IDLE)
        self._newest += STEPS
        self._missing -= STEPS
        return generated


class GatedRows(CountingRows):
    """Rows that generate nothing before the gate opens."""

    def __init__(self, num_rows: int, gate: Event) -> None:
        super().__init__(num_rows)
        self._gate = gate

    def advance(self, num_awaited: int) -> NDArray[Any]:
        assert self._gate.wait(timeout=30)
        return super().advance(num_awaited)


class FullRows(CountingRows):
    """Rows that run out of memory on prefill."""

    def prefill(self, new: PrefillBatch, num_rows: int) -> None:
        raise RuntimeError("out of memory")


def _requests(count: int) -> list[DecodeRequest]:
    """Prompt n is the number 100 n, and its completion is the 1 to 7 numbers that follow."""
    return [
        DecodeRequest(Prompt(str(number), [number * 100]), length=2 + number % 7, seed=number)
        for number in range(count)
    ]


def _batches(*rows: CountingRows, num_rows: int = 4) -> list[Batch]:
    return [Batch(each, num_rows=num_rows, stop_ids=frozenset()) for each in rows]


def _texts(results: Sequence[Completion]) -> dict[str, tuple[int, ...]]:
    return {one.prompt.key: one.token_ids for one in results}


def _expected(count: int) -> dict[str, tuple[int, ...]]:
    return {
        str(number): tuple(range(number * 100 + 1, number * 100 + 2 + number % 7)) for number in range(count)
    }


@pytest.mark.parametrize("num_batches", [1, 2, 5])
@pytest.mark.parametrize("num_requests", [0, 1, 3, 30])
def test_every_prompt_gets_its_own_completion(num_batches: int, num_requests: int) -> None:
    batches = _batches(*[CountingRows(4) for _ in range(num_batches)])
    lists = list(decode_in_parallel(batches, _requests(num_requests)))
    assert all(lists)
    assert _texts([one for finished in lists for one in finished]) == _expected(num_requests)


def test_few_prompts_are_split_evenly() -> None:
    rows = [CountingRows(8) for _ in range(4)]
    list(decode_in_parallel(_batches(*rows, num_rows=8), _requests(10)))
    assert [each.num_admitted for each in rows] == [3, 3, 2, 2]


def test_batches_run_independently() -> None:
    gate = Event()
    free, gated = CountingRows(4), GatedRows(4, gate)
    results = decode_in_parallel(_batches(free, gated), _requests(30))
    found: list[Completion] = []
    try:
        while len(found) < 26:  # all but the first four of the gated batch
            found += next(results)
    finally:
        gate.set()
    found += [one for finished in results for one in finished]
    assert (free.num_admitted, gated.num_admitted) == (26, 4)
    assert _texts(found) == _expected(30)


def test_failure_in_one_batch_ends_all() -> None:
    results = decode_in_parallel(_batches(CountingRows(4), FullRows(4)), _requests(1000))
    with pytest.raises(RuntimeError, match="out of memory"):
        list(results)
    assert not _batch_threads()


def test_closing_the_iterator_ends_all_batches() -> None:
    rows = [CountingRows(4), CountingRows(4)]
    results = decode_in_parallel(_batches(*rows), _requests(100_000))
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert sum(each.num_admitted for each in rows) < 100_000
    assert not _batch_threads()


def _batch_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("batch_")]


def test_batch_awaits_quarter_then_all() -> None:
    rows = CountingRows(8)
    list(decode_in_parallel(_batches(rows, num_rows=8), _requests(30)))
    assert set(rows.awaited) == {2, 8}  # a quarter at a time, while prompts wait
    assert sorted(rows.awaited) == rows.awaited


@pytest.mark.parametrize(("prefills_sequentially", "expected"), [(False, [2, 2, 2, 2, 2]), (True, [8, 2])])
def test_sequential_prefill_uses_every_free_row(prefills_sequentially: bool, expected: list[int]) -> None:
    rows = CountingRows(8)
    batch = Batch(rows, num_rows=8, stop_ids=frozenset(), prefills_sequentially=prefills_sequentially)
    requests = [DecodeRequest(Prompt(str(number), [number * 100]), length=3) for number in range(10)]
    results = [one for finished in decode_in_parallel([batch], requests) for one in finished]
    assert rows.admitted == expected
    assert rows.awaited == [2, 8]  # a quarter of the rows, then all of them
    assert _texts(results) == {str(n): (n * 100 + 1, n * 100 + 2) for n in range(10)}


def test_long_prompts_prefill_in_parts() -> None:
    rows = CountingRows(8)
    batch = Batch(rows, num_rows=8, stop_ids=frozenset(), prefills_sequentially=True)
    requests = [DecodeRequest(Prompt(str(number), [number] * 4096), length=4097) for number in range(8)]
    list(decode_in_parallel([batch], requests))
    assert rows.admitted == [4, 4]


@pytest.mark.parametrize(
    ("num_rows", "num_cores", "expected"),
    [(32, 2, 2), (32, 1, 1), (32, 16, 8), (24, 5, 4), (8, 2, 2), (4, 2, 1), (33, 2, 1)],
)
def test_num_batches_follows_cores_and_rows(num_rows: int, num_cores: int, expected: int) -> None:
    assert num_batches(num_rows, num_cores) == expected


def test_small_model_fits_one_core() -> None:
    assert 2 * 2**20 < MAX_SMALL_MODEL_BYTES < 500 * 2**20
