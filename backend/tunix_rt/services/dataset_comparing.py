"""Compare two datasets row by row."""

import json
from collections.abc import Iterator
from pathlib import Path

from tunix_rt.core.dataset import DatasetManifest, SplitStatistics
from tunix_rt.core.dataset_diff import (
    DatasetDiff,
    DatasetSide,
    DiffRow,
    RowEntry,
    changed_answers,
    moved_splits,
    rows_only_in,
)
from tunix_rt.core.dataset_rows import digest
from tunix_rt.services.datasets import get_dataset, iter_rows
from tunix_rt.traces.types import normalised_prompt

START_CHARS = 200


def diff_datasets(datasets_dir: Path, base: str, other: str, *, limit: int, offset: int) -> DatasetDiff:
    """What `other` has that `base` has not, and the reverse; a page of each kind of change."""
    manifests = get_dataset(datasets_dir, base), get_dataset(datasets_dir, other)
    left, right = (DatasetSide.of(_entries(datasets_dir, manifest)) for manifest in manifests)
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
        added=tuple(map(_shown, added[page])),
        removed=tuple(map(_shown, removed[page])),
        answers_changed=tuple(answers[page]),
        splits_moved=tuple(moves[page]),
        base_statistics=_statistics(manifests[0]),
        other_statistics=_statistics(manifests[1]),
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


def _shown(row: RowEntry) -> DiffRow:
    return DiffRow(
        trace_id=row.trace_id,
        split=row.split,
        prompt_start=row.prompt_start,
        final_answer=row.final_answer,
    )


def _statistics(manifest: DatasetManifest) -> dict[str, SplitStatistics]:
    return {split.name: split.statistics for split in manifest.splits}
