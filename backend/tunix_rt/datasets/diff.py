"""The differences between two datasets."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from tunix_rt.base.records import Frozen
from tunix_rt.datasets.rows import digest
from tunix_rt.datasets.service import get_dataset, iter_rows
from tunix_rt.datasets.types import DatasetManifest, SplitStatistics
from tunix_rt.traces.types import normalised_prompt


class DiffRow(Frozen):
    """A row that only one side has."""

    trace_id: UUID
    split: str
    prompt_start: str
    final_answer: str


class AnswerChange(Frozen):
    """A question of both sides with different answers."""

    prompt_start: str
    base_answers: tuple[str, ...]
    other_answers: tuple[str, ...]


class SplitMove(Frozen):
    """A question that is in different splits on the two sides."""

    prompt_start: str
    base_split: str
    other_split: str


class DatasetDiff(Frozen):
    """Counts of every change, a page of each, and the statistics of both sides."""

    base: str
    other: str
    identical: bool
    num_unchanged: int
    """Rows that are byte-equal on both sides."""
    num_added: int
    """Rows that only `other` has."""
    num_removed: int
    """Rows that only `base` has."""
    num_answers_changed: int
    """Questions of both sides with different final answers."""
    num_splits_moved: int
    """Questions in another split: a model trained on `base` may have seen held-out questions of `other`."""
    added: tuple[DiffRow, ...]
    removed: tuple[DiffRow, ...]
    answers_changed: tuple[AnswerChange, ...]
    splits_moved: tuple[SplitMove, ...]
    base_statistics: Mapping[str, SplitStatistics]
    other_statistics: Mapping[str, SplitStatistics]


class RowEntry(NamedTuple):
    """The fields of a row that a comparison keeps in memory for both sides."""

    trace_id: UUID
    split: str
    prompt_start: str
    final_answer: str
    question_key: bytes


class DatasetSide:
    """One side of a comparison."""

    def __init__(self, entries: Iterable[RowEntry]) -> None:
        self.rows: dict[UUID, RowEntry] = {}
        self.questions: dict[bytes, RowEntry] = {}
        """One row per question."""
        self.answers: defaultdict[bytes, set[str]] = defaultdict(set)
        for entry in entries:
            self.rows[entry.trace_id] = entry
            self.questions[entry.question_key] = entry
            self.answers[entry.question_key].add(entry.final_answer)


def rows_only_in(side: DatasetSide, other: DatasetSide) -> list[RowEntry]:
    """The rows that only `side` has, in trace id order."""
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
    return sorted(changes, key=attrgetter("prompt_start", "base_answers", "other_answers"))


def moved_splits(base: DatasetSide, other: DatasetSide) -> list[SplitMove]:
    """The questions of both sides that are in another split, by question."""
    moves = [
        SplitMove(prompt_start=before.prompt_start, base_split=before.split, other_split=after.split)
        for key, before in base.questions.items()
        if (after := other.questions.get(key)) is not None and before.split != after.split
    ]
    return sorted(moves, key=attrgetter("prompt_start", "base_split", "other_split"))


START_CHARS = 200


def diff_datasets(datasets_dir: Path, base: str, other: str, *, limit: int, offset: int) -> DatasetDiff:
    """Compare two datasets, with a page of each kind of change."""
    manifests = get_dataset(datasets_dir, base), get_dataset(datasets_dir, other)
    left, right = (DatasetSide(_entries(datasets_dir, manifest)) for manifest in manifests)
    added, removed = rows_only_in(right, left), rows_only_in(left, right)
    answers, moves = changed_answers(left, right), moved_splits(left, right)
    page = slice(offset, offset + limit)
    return DatasetDiff(
        base=base,
        other=other,
        identical=manifests[0].content_hash == manifests[1].content_hash,
        num_unchanged=len(right.rows) - len(added),
        num_added=len(added),
        num_removed=len(removed),
        num_answers_changed=len(answers),
        num_splits_moved=len(moves),
        added=tuple(DiffRow.model_validate(row, from_attributes=True) for row in added[page]),
        removed=tuple(DiffRow.model_validate(row, from_attributes=True) for row in removed[page]),
        answers_changed=tuple(answers[page]),
        splits_moved=tuple(moves[page]),
        base_statistics={split.name: split.statistics for split in manifests[0].splits},
        other_statistics={split.name: split.statistics for split in manifests[1].splits},
    )


def _entries(datasets_dir: Path, manifest: DatasetManifest) -> Iterator[RowEntry]:
    for split in manifest.splits:
        for stored in iter_rows(datasets_dir, manifest.dataset_key, split.name):
            trace = json.loads(stored.canonical)
            yield RowEntry(
                trace_id=stored.id,
                split=split.name,
                prompt_start=trace["prompt"][:START_CHARS],
                final_answer=trace["final_answer"],
                question_key=digest(normalised_prompt(trace["prompt"])),
            )
