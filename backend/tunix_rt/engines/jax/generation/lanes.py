"""The rows of a batch in lanes that the cores of a CPU write side by side.

XLA computes a small product on one core. A small model therefore leaves the other cores idle, however many
rows it writes; in lanes, each core has rows of its own. The products of a large model are split over the
cores by XLA itself, and lanes would only read its weights from memory once for each of them.

    row     0  1  2  3  4  5      Rows are dealt out in turn, so that prompts that come together
    lane    0  1  0  1  0  1      are read by all cores.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tunix_rt.engines.generation_batch import DeviceRows, Newcomers
from tunix_rt.files.host import usable_cores

# Two lanes of two rows are no faster than one of four.
_FEWEST_ROWS = 4
# What the cache of one core can hold, more or less.
_MOST_WEIGHT_BYTES = 8 * 2**20


def num_lanes(num_rows: int, weight_bytes: int, num_cores: int | None = None) -> int:
    """Lanes for the rows of a batch, all of the same size.

    Example:
        32 rows of a model of 2 MB -> 2 with 2 cores, 8 with 8 or more
    """
    if weight_bytes > _MOST_WEIGHT_BYTES:
        return 1
    most = min(num_cores or usable_cores(), num_rows // _FEWEST_ROWS)
    return next((number for number in range(most, 1, -1) if num_rows % number == 0), 1)


class Lanes:
    """`DeviceRows` made of several, each of the same number of rows."""

    def __init__(self, lanes: Sequence[DeviceRows]) -> None:
        self._lanes = lanes
        # A thread each: its calls keep their order, and wait for no other lane. They end with this object.
        self._threads = [ThreadPoolExecutor(1) for _ in lanes]
        self._admissions: list[Future[None]] = []

    def admit(self, new: Newcomers, num_rows: int) -> None:
        """Let prompts begin in rows that are free, in each lane as many at a time as is its share.

        Nobody waits for them here: what goes wrong shows when the rows advance.
        """
        most = max(1, num_rows // len(self._lanes))
        for number, (lane, thread) in enumerate(zip(self._lanes, self._threads, strict=True)):
            [mine] = np.nonzero(new.rows % len(self._lanes) == number)
            for start in range(0, len(mine), most):
                part = Newcomers(*(array[mine[start : start + most]] for array in new))
                part = part._replace(rows=part.rows // len(self._lanes))
                self._admissions.append(thread.submit(lane.admit, part, most))

    def advance(self) -> NDArray[Any]:
        """Some more tokens of every row, [steps, B]."""
        turns = [thread.submit(lane.advance) for lane, thread in zip(self._lanes, self._threads, strict=True)]
        list(_results(self._admissions))
        written = np.stack(list(_results(turns)), axis=-1)
        return written.reshape(len(written), -1)


def _results(calls: list[Future[Any]]) -> Iterator[Any]:
    """What the calls gave. Each leaves the list first: its error would hold on to itself and to the rows."""
    while calls:
        yield calls.pop(0).result()
