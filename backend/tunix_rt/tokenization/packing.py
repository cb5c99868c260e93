"""First-fit-decreasing packing, and batches of packed rows.

Two examples of 5 and 4 tokens in a row of 10 (`_` is padding; A and B are trained, Q is prompt):

    tokens       Q  Q  A  A  A  Q  B  B  B  _
    segment_ids  1  1  1  1  1  2  2  2  2  0
    positions    0  1  2  3  4  0  1  2  3  0
    targets      Q  A  A  A  Q  B  B  B  _  _
    loss_mask    0  1  1  1  0  1  1  1  0  0

`targets` are the tokens shifted left by one, and `loss_mask` applies to `targets`: the loss of a row is the
sum of cross_entropy(logits[t], targets[t]) * loss_mask[t], without shifting in the engine. A token may attend
to earlier tokens with the same segment id. Segment 0 is padding, whatever the padding id is.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tunix_rt.base.errors import DataError, InvalidInputError
from tunix_rt.tokenization.encoding import PARTS, EncodedExample


@dataclass(frozen=True, eq=False)
class RowPlan:
    """The rows of every epoch. All epochs have the same number of rows with the same lengths.

    Packing depends on lengths only, so it runs once over ranks (0 is the longest example). An epoch only
    determines the rank of each example among those of equal length, and the order of the rows.
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
    # A tree over the free space of every possible row. Each parent holds the maximum below it, so the first
    # row with enough space is found in log(n) steps.
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
    # Sorted raw bits: numpy guarantees the stream of PCG64, but not the algorithm of `permutation`.
    bits = np.random.PCG64(np.random.SeedSequence([seed, epoch, stream])).random_raw(size)
    return np.argsort(bits, kind="stable")


OverlongPolicy = Literal["error", "drop"]

_T = TypeVar("_T", bound=np.generic)

_ANSWER = PARTS.index("answer")
# With one of these, the prompt of generation would differ from that of training.
_UNTRAINABLE = frozenset({"template-without-generation-prompt", "template-changes-content"})


@dataclass(frozen=True)
class BatchSettings:
    """How examples are arranged in rows."""

    row_length: int
    rows_per_batch: int
    packed: bool = True
    seed: int = 0
    overlong: OverlongPolicy = "error"
    """How to handle an example longer than the row. It is never truncated: the answer is at its end."""

    def __post_init__(self) -> None:
        if self.row_length < 2 or self.rows_per_batch < 1:
            raise InvalidInputError(
                f"A batch of {self.rows_per_batch} rows of {self.row_length} tokens cannot train anything.",
                next_step="Use a row length of at least 2 and at least 1 row.",
            )


@dataclass(frozen=True, eq=False)
class Batch:
    """Arrays of shape [rows, row_length]; see the diagram at the top of this module."""

    tokens: NDArray[np.int32]
    targets: NDArray[np.int32]
    loss_mask: NDArray[np.uint8]
    segment_ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    examples: tuple[tuple[int, ...], ...]
    """Positions of the examples in each row, in the order of their segments."""

    @property
    def num_trained_tokens(self) -> int:
        """The divisor of a token-weighted mean."""
        return int(self.loss_mask.sum())

    @property
    def sha256(self) -> str:
        """Hash of all arrays, to verify that two engines got the same batch."""
        arrays = (self.tokens, self.targets, self.loss_mask, self.segment_ids, self.positions)
        digest = hashlib.sha256()
        for array in arrays:
            digest.update(f"{array.dtype} {array.shape}".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()


class Batches:
    """All batches of all epochs; batch i is always the same, on every machine."""

    def __init__(self, examples: Iterable[EncodedExample], settings: BatchSettings, *, pad_id: int) -> None:
        """Validate and store the examples.

        Raises:
            DataError: There are no examples, an answer has no loss, or an example is too long and overlong is
                `error`.
        """
        self._settings = settings
        self._pad_id = pad_id
        self._token_ids: list[NDArray[np.int32]] = []
        self._loss_masks: list[NDArray[np.uint8]] = []
        for example in require_trained_answers(examples):
            self._token_ids.append(example.token_ids)
            self._loss_masks.append(example.loss_mask)
        lengths = [len(ids) for ids in self._token_ids]
        self._kept = [position for position, length in enumerate(lengths) if length <= settings.row_length]
        """Positions of the examples that fit into a row."""
        if not self._kept or (self.num_dropped and settings.overlong == "error"):
            raise DataError(
                f"{self.num_dropped} of {len(lengths)} examples are longer than the row length "
                f"{settings.row_length}; the longest has {max(lengths)} tokens.",
                next_step=f"Set the row length to {max(lengths)} or more"
                + (", or leave the long ones out with overlong: drop." if self._kept else "."),
            )
        self._rows_of_epoch = lru_cache(maxsize=2)(self._plan.epoch)

    @property
    def num_examples(self) -> int:
        """Examples of one epoch."""
        return len(self._kept)

    @property
    def num_dropped(self) -> int:
        """Examples left out because they are longer than the row."""
        return len(self._token_ids) - len(self._kept)

    @property
    def num_batches_per_epoch(self) -> int:
        """Batches of one epoch; the last one is filled up with padding rows."""
        return -(-self._plan.num_rows // self._settings.rows_per_batch)

    @property
    def fill_ratio(self) -> float:
        """Share of the tokens in an epoch's batches that are not padding."""
        num_rows = self.num_batches_per_epoch * self._settings.rows_per_batch
        return int(self._plan.lengths.sum()) / (num_rows * self._settings.row_length)

    @property
    def num_trained_tokens_per_epoch(self) -> int:
        """Tokens with loss in one epoch."""
        return sum(int(self._loss_masks[position].sum()) for position in self._kept)

    def batch(self, index: int) -> Batch:
        """Batch `index`, counted over all epochs from 0."""
        epoch, index_in_epoch = divmod(index, self.num_batches_per_epoch)
        first = index_in_epoch * self._settings.rows_per_batch
        rows = self._rows_of_epoch(epoch)[first : first + self._settings.rows_per_batch]
        return self._filled([tuple(self._kept[position] for position in row) for row in rows])

    @cached_property
    def _plan(self) -> RowPlan:
        return plan_rows(
            [len(self._token_ids[position]) for position in self._kept],
            row_length=self._settings.row_length,
            packed=self._settings.packed,
            seed=self._settings.seed,
        )

    def _filled(self, rows: Sequence[tuple[int, ...]]) -> Batch:
        shape = (self._settings.rows_per_batch, self._settings.row_length)
        tokens = np.full(shape, self._pad_id, dtype=np.int32)
        is_trained = np.zeros(shape, dtype=np.uint8)
        segment_ids, positions = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.int32)
        for row, examples in enumerate(rows):
            start = 0
            for segment, example in enumerate(examples, start=1):
                span = slice(start, start + len(self._token_ids[example]))
                tokens[row, span] = self._token_ids[example]
                is_trained[row, span] = self._loss_masks[example]
                segment_ids[row, span] = segment
                positions[row, span] = np.arange(len(self._token_ids[example]))
                start = span.stop
        return Batch(
            tokens=tokens,
            targets=_shifted_left(tokens, self._pad_id),
            loss_mask=_shifted_left(is_trained, 0),
            segment_ids=segment_ids,
            positions=positions,
            examples=tuple(rows),
        )


def require_trained_answers(examples: Iterable[EncodedExample]) -> Iterator[EncodedExample]:
    """Yield the examples, and reject any whose answer cannot be trained.

    `Batches` is the only way to create batches, and it always runs this check.

    Raises:
        DataError: There are no examples, an answer has no loss, or the prompt of generation would differ from
            that of training.
    """
    position = -1
    for position, example in enumerate(examples):
        if problems := sorted(example.problems & _UNTRAINABLE):
            raise _untrainable(position, f"has the problem '{problems[0]}'")
        is_answer = example.parts == _ANSWER
        if not is_answer.any() or not example.loss_mask[is_answer].all():
            raise _untrainable(position, "has an answer that carries no loss")
        if example.loss_mask[0]:
            raise _untrainable(position, "has no prompt token before its first trained one")
        yield example
    if position < 0:
        raise DataError("There are no examples to train on.", next_step="Check the dataset and its split.")


def _untrainable(position: int, reason: str) -> DataError:
    return DataError(
        f"Example {position} {reason}, so it must not be trained on.",
        next_step="Run tunix-rt data xray to see every token; then change the template or the markup.",
    )


def _shifted_left(array: NDArray[_T], last: int) -> NDArray[_T]:
    shifted = np.full_like(array, last)
    shifted[:, :-1] = array[:, 1:]
    return shifted
