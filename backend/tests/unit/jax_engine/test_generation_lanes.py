"""Rows of a batch in lanes: how many there are, and that every row keeps its own text."""

from threading import Event
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tunix_rt.engines.generation import Prompt
from tunix_rt.engines.generation_batch import IDLE, Batch, Newcomers
from tunix_rt.engines.generation_tasks import Task
from tunix_rt.engines.jax.generation.lanes import Lanes, num_lanes

SMALL, LARGE = 2 * 2**20, 500 * 2**20
STEPS = 4


class CountingRows:
    """Rows without a model: each writes the numbers that follow the last token of its prompt."""

    def __init__(self, num_rows: int) -> None:
        self.admitted: list[int] = []
        self._newest = np.full(num_rows, IDLE)
        self._missing = np.zeros(num_rows, int)

    def admit(self, new: Newcomers, num_rows: int) -> None:
        assert len(new.rows) <= num_rows
        self.admitted.append(len(new.rows))
        self._newest[new.rows] = new.tokens
        self._missing[new.rows] = new.lengths - new.positions - 1

    def advance(self) -> NDArray[Any]:
        ahead = np.arange(1, STEPS + 1)[:, None]
        written = np.where(ahead <= self._missing, self._newest + ahead, IDLE)
        self._newest += STEPS
        self._missing -= STEPS
        return written


class GatedRows(CountingRows):
    """Rows that read no prompt before the gate opens."""

    def __init__(self, num_rows: int, gate: Event) -> None:
        super().__init__(num_rows)
        self._gate = gate

    def admit(self, new: Newcomers, num_rows: int) -> None:
        assert self._gate.wait(timeout=30)
        super().admit(new, num_rows)


class FullRows(CountingRows):
    """Rows that have no memory for a prompt."""

    def admit(self, new: Newcomers, num_rows: int) -> None:
        raise RuntimeError("out of memory")


@pytest.mark.parametrize(
    ("num_rows", "weight_bytes", "num_cores", "expected"),
    [
        (32, SMALL, 2, 2),
        (32, SMALL, 1, 1),
        (32, SMALL, 16, 8),
        (24, SMALL, 5, 4),
        (8, SMALL, 2, 2),
        (4, SMALL, 2, 1),
        (33, SMALL, 2, 1),
        (32, LARGE, 2, 1),
    ],
)
def test_each_core_of_a_small_model_has_a_lane_of_enough_rows(
    num_rows: int, weight_bytes: int, num_cores: int, expected: int
) -> None:
    assert num_lanes(num_rows, weight_bytes, num_cores) == expected


def test_every_prompt_is_written_on_in_its_own_row() -> None:
    tasks = [
        Task(Prompt(str(number), [number * 100]), length=2 + number % 7, seed=number) for number in range(30)
    ]
    batch = Batch(Lanes([CountingRows(4), CountingRows(4)]), num_rows=8, stop_ids=frozenset())
    written = {one.prompt.key: one.token_ids for finished in batch.write(tasks) for one in finished}
    assert written == {
        str(number): tuple(range(number * 100 + 1, number * 100 + 2 + number % 7)) for number in range(30)
    }


def test_prompts_that_come_together_are_shared_out() -> None:
    lanes = [CountingRows(8), CountingRows(8)]
    batch = Batch(Lanes(lanes), num_rows=16, stop_ids=frozenset())
    batch.take([Task(Prompt(str(number), [number]), length=9) for number in range(8)])
    batch.advance()
    assert [lane.admitted for lane in lanes] == [[2, 2], [2, 2]]


def test_taking_prompts_waits_for_no_lane() -> None:
    gate = Event()
    batch = Batch(Lanes([GatedRows(4, gate), GatedRows(4, gate)]), num_rows=8, stop_ids=frozenset())
    batch.take([Task(Prompt(str(number), [number * 100]), length=5) for number in range(8)])
    gate.set()
    written = [piece.written for piece in batch.advance()]
    assert [one.token_ids[0] for one in written if one] == [number * 100 + 1 for number in range(8)]


def test_a_prompt_that_could_not_be_read_shows_when_the_rows_advance() -> None:
    batch = Batch(Lanes([CountingRows(4), FullRows(4)]), num_rows=8, stop_ids=frozenset())
    batch.take([Task(Prompt(str(number), [number]), length=9) for number in range(8)])
    with pytest.raises(RuntimeError, match="out of memory"):
        batch.advance()
