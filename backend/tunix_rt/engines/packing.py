"""Which examples share a row: first-fit decreasing, the same on every machine for the same seed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class RowPlan:
    """The rows of any epoch. Every epoch has the same number of rows, filled to the same lengths.

    Packing looks at lengths only, so it is done once over ranks (0 is the longest example); an epoch only
    decides which example of a length takes which rank, and the order of the rows.
    """

    lengths: NDArray[np.int64]
    ranks_by_row: tuple[tuple[int, ...], ...]
    seed: int

    @property
    def num_rows(self) -> int:
        """Rows of one epoch."""
        return len(self.ranks_by_row)

    def epoch(self, epoch: int) -> list[tuple[int, ...]]:
        """The rows of an epoch, each as positions of examples; every example is in exactly one row."""
        shuffled = _shuffled(len(self.lengths), self.seed, epoch, 0)
        by_rank = shuffled[np.argsort(-self.lengths[shuffled], kind="stable")].tolist()
        row_order = _shuffled(self.num_rows, self.seed, epoch, 1).tolist()
        return [tuple(by_rank[rank] for rank in self.ranks_by_row[row]) for row in row_order]


def plan_rows(lengths: Sequence[int], *, row_length: int, packed: bool, seed: int) -> RowPlan:
    """Plan rows for examples of these lengths, none longer than the row."""
    descending = sorted(lengths, reverse=True)
    rows = (
        first_fit_decreasing(descending, row_length) if packed else [[rank] for rank in range(len(lengths))]
    )
    return RowPlan(np.array(lengths, dtype=np.int64), tuple(map(tuple, rows)), seed)


def first_fit_decreasing(descending: Sequence[int], row_length: int) -> list[list[int]]:
    """Put each length into the first row that has room for it.

    Example:
        lengths [5, 4, 3, 2], rows of 8 -> [[0, 2], [1, 3]]
    """
    rows: list[list[int]] = []
    # A tree over the room left in every row that may be opened: a parent holds the most room below it, so
    # the first row with room is found in log(n) steps.
    num_leaves = 1 << max(len(descending) - 1, 0).bit_length()
    room = [row_length] * (2 * num_leaves)
    for position, length in enumerate(descending):
        node = 1
        while node < num_leaves:
            node *= 2
            node += room[node] < length
        row = node - num_leaves
        if row == len(rows):
            rows.append([])
        rows[row].append(position)
        room[node] -= length
        while node > 1:
            node //= 2
            room[node] = max(room[2 * node], room[2 * node + 1])
    return rows


def _shuffled(size: int, seed: int, epoch: int, stream: int) -> NDArray[np.int64]:
    # Raw bits, sorted: numpy promises the bits of PCG64 for ever, but not what `permutation` makes of them.
    bits = np.random.PCG64(np.random.SeedSequence([seed, epoch, stream])).random_raw(size)
    return np.argsort(bits, kind="stable")
