"""Build a dataset: scan the chosen traces, select, check, split, write, publish."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from uuid import UUID

import tunix_rt
from tunix_rt.base.errors import ConflictError, DataError
from tunix_rt.base.home import Home
from tunix_rt.core.dataset import (
    BuildOutcome,
    DatasetLineage,
    DatasetManifest,
    ParentDataset,
    SplitFile,
    content_hash,
)
from tunix_rt.core.dataset_card import dataset_card
from tunix_rt.core.dataset_rows import RowFacts
from tunix_rt.core.dataset_spec import DatasetSpec
from tunix_rt.core.dataset_statistics import split_statistics
from tunix_rt.files.dataset_build import DatasetBuild, open_build
from tunix_rt.files.dataset_dirs import dataset_exists, read_manifest
from tunix_rt.services.contamination import (
    ContaminationChecker,
    EvalSet,
    Match,
    judge_contamination,
    load_evalsets,
)
from tunix_rt.services.row_scanning import Progress, RowScan, scan_rows
from tunix_rt.services.row_selection import Selection, select_rows
from tunix_rt.traces.linter.findings import LINTER_VERSION
from tunix_rt.traces.service import score_unscored
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import StoredTrace


def build_from_store(
    home: Home,
    spec: DatasetSpec,
    *,
    only: Collection[UUID] | None = None,
    progress: Progress = lambda _: None,
) -> BuildOutcome:
    """Build a dataset from the stored traces, judging first those that a filter needs judged.

    Args:
        home: where the traces are.
        spec: which of them make the dataset, and how.
        only: ids beyond which no trace is considered. None: no such bound.
        progress: told how many more rows were read.
    """
    if spec.filters.needs_lint:
        score_unscored(TraceRepository(home.database), spec.filters)
    with closing(TraceRepository(home.database).iter_selected(spec.filters)) as chosen:
        return build_dataset(
            spec,
            chosen if only is None else (stored for stored in chosen if stored.id in only),
            datasets_dir=home.settings.datasets_dir,
            evalsets=load_evalsets(home.settings.evalsets_dir),
            progress=progress,
        )


def build_dataset(
    spec: DatasetSpec,
    traces: Iterable[StoredTrace],
    *,
    datasets_dir: Path,
    evalsets: Sequence[EvalSet],
    progress: Progress = lambda _: None,
) -> BuildOutcome:
    """Make the dataset that `spec` describes out of `traces`, which its filters have chosen.

    Raises:
        DataError: no rows, an empty first split, or rows that an eval set also asks.
        ConflictError: the key exists with other content.
        StorageError: the disk is full or not writable; nothing is left behind.
    """
    lineage = _lineage(spec, datasets_dir)
    with open_build(datasets_dir, spec.dataset_key) as build:
        scan = scan_rows(spec, traces, build.spool(), ContaminationChecker(evalsets), progress)
        selection = select_rows(spec, scan.rows, scan.matches, scan.spool.__getitem__)
        in_question = scan.matches if spec.remove_contaminated else _only(scan.matches, selection.kept)
        contamination = judge_contamination(spec, evalsets, scan.rows, in_question)
        splits = _write_splits(spec, build, scan, selection)
        manifest = DatasetManifest(
            dataset_key=spec.dataset_key,
            content_hash=content_hash((split.name, split.sha256) for split in splits),
            created_at=datetime.now(UTC),
            tool_version=tunix_rt.__version__,
            spec=spec,
            num_considered=len(scan.rows),
            num_rows=len(selection.kept),
            removed=tuple(selection.removals),
            splits=splits,
            contamination=contamination,
            lineage=lineage,
            card_sha256="",
            warnings=_warnings(splits),
        )
        return _publish(build, manifest, datasets_dir)


def _lineage(spec: DatasetSpec, datasets_dir: Path) -> DatasetLineage:
    linter_version = LINTER_VERSION if spec.filters.needs_lint else None
    if spec.parent_dataset_key is None:
        return DatasetLineage(linter_version=linter_version)
    parent = read_manifest(datasets_dir, spec.parent_dataset_key)
    return DatasetLineage(
        parent=ParentDataset(dataset_key=parent.dataset_key, content_hash=parent.content_hash),
        linter_version=linter_version,
    )


def _only(matches: dict[int, Match], kept: Iterable[int]) -> dict[int, Match]:
    return {index: matches[index] for index in kept if index in matches}


def _write_splits(
    spec: DatasetSpec, build: DatasetBuild, scan: RowScan, selection: Selection
) -> tuple[SplitFile, ...]:
    writers = {name: build.split(name) for name in spec.splits}
    members: dict[str, list[RowFacts]] = {name: [] for name in spec.splits}
    for index in selection.kept:
        name = scan.split_names[index]
        writers[name].write(scan.spool[index])
        members[name].append(scan.rows[index])
    _require_rows(spec, members)
    return tuple(
        SplitFile(
            name=name,
            sha256=writer.finish(),
            num_bytes=writer.num_bytes,
            statistics=split_statistics(members[name]),
        )
        for name, writer in writers.items()
    )


def _require_rows(spec: DatasetSpec, members: dict[str, list[RowFacts]]) -> None:
    if not any(members.values()):
        raise DataError(
            "No stored trace matches, so there is nothing to build.",
            next_step="Loosen the filters, or import traces first: tunix-rt traces import FILE",
        )
    first = next(iter(spec.splits))
    if not members[first]:
        raise DataError(
            f"No question fell into the split {first!r}: there are too few for these fractions.",
            next_step=f"Add traces, choose another seed, or put all rows into one split: {{{first!r}: 1.0}}.",
        )


def _warnings(splits: Sequence[SplitFile]) -> tuple[str, ...]:
    found = []
    for split in splits:
        statistics = split.statistics
        if statistics.num_rows == 0:
            found.append(f"The split {split.name!r} is empty: there are too few questions for its fraction.")
        if statistics.num_prompts_with_several_answers:
            found.append(
                f"In {split.name!r}, {statistics.num_prompts_with_several_answers} questions have rows "
                "that disagree on the final answer."
            )
    return tuple(found)


def _publish(build: DatasetBuild, manifest: DatasetManifest, datasets_dir: Path) -> BuildOutcome:
    card_sha256 = build.write_card(dataset_card(manifest))
    manifest = manifest.model_copy(update={"card_sha256": card_sha256})
    if build.publish(manifest):
        return _outcome("created", manifest)
    key = manifest.dataset_key
    if dataset_exists(datasets_dir, key):
        existing = read_manifest(datasets_dir, key)
        if existing.content_hash == manifest.content_hash:
            return _outcome("unchanged", existing)
    raise ConflictError(
        f"The dataset {key!r} exists with other content; a dataset never changes.",
        next_step="Build it under another version (e.g. --version v2), "
        f"or delete the old one first: tunix-rt data delete {key}",
    )


def _outcome(status: Literal["created", "unchanged"], manifest: DatasetManifest) -> BuildOutcome:
    return BuildOutcome(
        dataset_key=manifest.dataset_key, status=status, trace_count=manifest.num_rows, manifest=manifest
    )
