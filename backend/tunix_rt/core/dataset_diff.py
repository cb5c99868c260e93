"""What changed between two datasets: rows that came and went, answers that changed, splits that moved."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tunix_rt.core.dataset import SplitStatistics


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DiffRow(_Frozen):
    """A row that only one side has."""

    trace_id: UUID
    split: str
    prompt_start: str
    final_answer: str


class AnswerChange(_Frozen):
    """A question that both sides ask and answer differently."""

    prompt_start: str
    base_answers: tuple[str, ...]
    other_answers: tuple[str, ...]


class SplitMove(_Frozen):
    """A question that is in one split on the base side and in another on the other side."""

    prompt_start: str
    base_split: str
    other_split: str


class DatasetDiff(_Frozen):
    """Counts of every change, a page of each, and the statistics of both sides."""

    base: str
    other: str
    identical: bool
    num_unchanged: int
    """Rows that both sides hold, byte by byte."""
    num_added: int
    """Rows that only `other` holds."""
    num_removed: int
    """Rows that only `base` holds."""
    num_answers_changed: int
    """Questions that both sides ask, with other final answers."""
    num_splits_moved: int
    """Questions that changed sides: a model trained on `base` may have seen what `other` holds out."""
    added: tuple[DiffRow, ...]
    removed: tuple[DiffRow, ...]
    answers_changed: tuple[AnswerChange, ...]
    splits_moved: tuple[SplitMove, ...]
    base_statistics: Mapping[str, SplitStatistics]
    other_statistics: Mapping[str, SplitStatistics]


class RowEntry(NamedTuple):
    """What a comparison remembers of a row; small, because both sides are held whole."""

    trace_id: UUID
    split: str
    prompt_start: str
    final_answer: str
    question_key: bytes


@dataclass
class DatasetSide:
    """One side of a comparison."""

    rows: dict[UUID, RowEntry] = field(default_factory=dict)
    questions: dict[bytes, RowEntry] = field(default_factory=dict)
    """One row of each question."""
    answers: defaultdict[bytes, set[str]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, entries: Iterable[RowEntry]) -> "DatasetSide":
        """The side that holds these rows."""
        side = cls()
        for entry in entries:
            side.rows[entry.trace_id] = entry
            side.questions[entry.question_key] = entry
            side.answers[entry.question_key].add(entry.final_answer)
        return side


def rows_only_in(side: DatasetSide, other: DatasetSide) -> list[RowEntry]:
    """The rows that one side has and the other has not, in trace id order."""
    return [side.rows[key] for key in sorted(side.rows.keys() - other.rows.keys())]


def changed_answers(base: DatasetSide, other: DatasetSide) -> list[AnswerChange]:
    """The questions of both sides whose sets of final answers differ, by question."""
    changes = [
        AnswerChange(
            prompt_start=base.questions[key].prompt_start,
            base_answers=tuple(sorted(base.answers[key])),
            other_answers=tuple(sorted(other.answers[key])),
        )
        for key in base.answers.keys() & other.answers.keys()
        if base.answers[key] != other.answers[key]
    ]
    return sorted(
        changes, key=lambda change: (change.prompt_start, change.base_answers, change.other_answers)
    )


def moved_splits(base: DatasetSide, other: DatasetSide) -> list[SplitMove]:
    """The questions of both sides that are in another split, by question."""
    pairs = [
        (base.questions[key], other.questions[key]) for key in base.questions.keys() & other.questions.keys()
    ]
    moves = [
        SplitMove(prompt_start=before.prompt_start, base_split=before.split, other_split=after.split)
        for before, after in pairs
        if before.split != after.split
    ]
    return sorted(moves, key=lambda move: (move.prompt_start, move.base_split, move.other_split))
