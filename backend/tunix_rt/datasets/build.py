"""Build a dataset from stored traces, or preview the build."""

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Literal
from uuid import UUID

import tunix_rt
from tunix_rt.base.errors import ConflictError, DataError
from tunix_rt.base.home import Home
from tunix_rt.base.records import Frozen
from tunix_rt.datasets.card import dataset_card
from tunix_rt.datasets.contamination import (
    ContaminationChecker,
    EvalSet,
    Match,
    judge_contamination,
    load_evalsets,
)
from tunix_rt.datasets.dedup import Reasons, exact_duplicates, near_duplicates, removal
from tunix_rt.datasets.files import (
    CARD_FILE,
    DatasetBuild,
    RowSpool,
    dataset_exists,
    open_build,
    read_manifest,
)
from tunix_rt.datasets.rows import RowFacts, parse_row, split_of, split_statistics, unit_hash
from tunix_rt.datasets.types import (
    BuildOutcome,
    DatasetLineage,
    DatasetManifest,
    DatasetSpec,
    ParentDataset,
    Removal,
    RemovalReason,
    SplitFile,
    content_hash,
)
from tunix_rt.traces.linter.findings import LINTER_VERSION
from tunix_rt.traces.scoring import score_unscored
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import StoredTrace

Progress = Callable[[int], None]
"""Called with the number of rows that were just read."""

_PROGRESS_EVERY = 1_000


@dataclass
class RowScan:
    """The result of one pass over the selected traces; the lists have one entry per row."""

    spool: RowSpool
    rows: list[RowFacts] = field(default_factory=list)
    split_names: list[str] = field(default_factory=list)
    matches: dict[int, Match] = field(default_factory=dict)


def scan_rows(
    spec: DatasetSpec,
    traces: Iterable[StoredTrace],
    spool: RowSpool,
    checker: ContaminationChecker,
    progress: Progress = lambda _: None,
) -> RowScan:
    """Read every trace once: its facts, its split, and the eval item that it overlaps with."""
    scan = RowScan(spool)
    for index, stored in enumerate(traces):
        facts, question = parse_row(stored)
        scan.rows.append(facts)
        scan.split_names.append(split_of(question.text, spec.splits, seed=spec.seed))
        spool.append(stored.canonical)
        if (match := checker.match(question)) is not None:
            scan.matches[index] = match
        if (index + 1) % _PROGRESS_EVERY == 0:
            progress(_PROGRESS_EVERY)
    progress(len(scan.rows) % _PROGRESS_EVERY)
    return scan


@dataclass(frozen=True)
class Selection:
    """The indexes of the kept rows, in trace id order, and the removals by reason."""

    kept: list[int]
    removals: list[Removal]


def select_rows(
    spec: DatasetSpec,
    rows: Sequence[RowFacts],
    matches: Mapping[int, Match],
    row_json: Callable[[int], bytes],
) -> Selection:
    """Apply the spec: contaminated rows, duplicates, rows per question, limit.

    The result does not depend on the order of the rows.
    """
    kept = sorted(range(len(rows)), key=lambda index: rows[index].id)
    removals: list[Removal] = []

    def remove(reason: RemovalReason, removed: Reasons) -> None:
        removals.append(removal(reason, rows, removed))
        kept[:] = [index for index in kept if index not in removed]

    if spec.remove_contaminated:
        overlaps = {
            index: (f"{match.evalset}/{match.item_id}", match.similarity) for index, match in matches.items()
        }
        remove("contaminated", overlaps)
    if spec.dedup != "none":
        remove("exact-duplicate", exact_duplicates(rows, kept))
    if spec.dedup == "near":
        near = near_duplicates(rows, kept, threshold=spec.near_threshold, row_json=row_json)
        remove("near-duplicate", near)
    for reason, cut in (("max-per-prompt", _first_per_question), ("limit", _within_limit)):
        shorter = cut(spec, rows, kept)
        removals.append(Removal.model_validate({"reason": reason, "num_rows": len(kept) - len(shorter)}))
        kept = shorter
    return Selection(kept, [entry for entry in removals if entry.num_rows])


def _first_per_question(spec: DatasetSpec, rows: Sequence[RowFacts], kept: list[int]) -> list[int]:
    if spec.max_per_prompt is None:
        return kept
    seen: Counter[bytes] = Counter()
    selected = []
    for index in kept:
        seen[rows[index].question_key] += 1
        if seen[rows[index].question_key] <= spec.max_per_prompt:
            selected.append(index)
    return selected


def _within_limit(spec: DatasetSpec, rows: Sequence[RowFacts], kept: list[int]) -> list[int]:
    if spec.limit is None or len(kept) <= spec.limit:
        return kept
    if spec.selection_strategy == "random":
        # Hashes instead of a shuffle, so that the sample changes as little as possible when traces are added.
        ranked = sorted(kept, key=lambda index: unit_hash(str(rows[index].id), seed=spec.seed))
    else:
        ranked = sorted(kept, key=lambda index: (rows[index].created_at, rows[index].id), reverse=True)
    return sorted(ranked[: spec.limit], key=lambda index: rows[index].id)


def build_from_store(
    home: Home,
    spec: DatasetSpec,
    *,
    only: Collection[UUID] | None = None,
    progress: Progress = lambda _: None,
) -> BuildOutcome:
    """Build a dataset from stored traces, after scoring those whose score a filter needs.

    Args:
        home: the store of the traces.
        spec: the traces to select, and how to build the dataset.
        only: ids of the traces to consider. None: all traces.
        progress: called with the number of rows that were just read.
    """
    if spec.filters.needs_lint:
        score_unscored(TraceRepository(home.database), spec.filters)
    with closing(TraceRepository(home.database).iter_selected(spec.filters)) as selected:
        return build_dataset(
            spec,
            selected if only is None else (stored for stored in selected if stored.id in only),
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
    """Build the dataset of `spec` from `traces`, which its filters have selected.

    Raises:
        DataError: no rows, an empty first split, or rows that overlap with an eval set.
        ConflictError: the key exists with different content.
        StorageError: the disk is full or not writable; nothing is left behind.
    """
    lineage = DatasetLineage(linter_version=LINTER_VERSION if spec.filters.needs_lint else None)
    if spec.parent_dataset_key is not None:
        parent = read_manifest(datasets_dir, spec.parent_dataset_key)
        named = ParentDataset(dataset_key=parent.dataset_key, content_hash=parent.content_hash)
        lineage = lineage.model_copy(update={"parent": named})
    with open_build(datasets_dir, spec.dataset_key) as build:
        scan = scan_rows(spec, traces, build.spool(), ContaminationChecker(evalsets), progress)
        selection = select_rows(spec, scan.rows, scan.matches, scan.spool.__getitem__)
        matches = scan.matches
        if not spec.remove_contaminated:
            matches = {index: matches[index] for index in selection.kept if index in matches}
        contamination = judge_contamination(spec, evalsets, scan.rows, matches)
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


def _write_splits(
    spec: DatasetSpec, build: DatasetBuild, scan: RowScan, selection: Selection
) -> tuple[SplitFile, ...]:
    writers = {name: build.split(name) for name in spec.splits}
    members: dict[str, list[RowFacts]] = {name: [] for name in spec.splits}
    for index in selection.kept:
        name = scan.split_names[index]
        writers[name].write(scan.spool[index])
        members[name].append(scan.rows[index])
    if not any(members.values()):
        raise DataError(
            "No stored trace matches, so there is nothing to build.",
            next_step="Loosen the filters, or import traces first: tunix-rt traces import FILE",
        )
    first = next(iter(spec.splits))
    if not members[first]:
        raise DataError(
            f"The split {first!r} is empty: there are too few questions for these fractions.",
            next_step=f"Add traces, choose another seed, or put all rows into one split: {{{first!r}: 1.0}}.",
        )
    return tuple(
        SplitFile(
            name=name,
            sha256=writer.finish(),
            num_bytes=writer.num_bytes,
            statistics=split_statistics(members[name]),
        )
        for name, writer in writers.items()
    )


def _warnings(splits: Sequence[SplitFile]) -> tuple[str, ...]:
    warnings = []
    for split in splits:
        name, statistics = split.name, split.statistics
        if statistics.num_rows == 0:
            warnings.append(f"The split {name!r} is empty: there are too few questions for its fraction.")
        if number := statistics.num_prompts_with_several_answers:
            warnings.append(f"In {name!r}, {number} questions have rows that disagree on the final answer.")
    return tuple(warnings)


def _publish(build: DatasetBuild, manifest: DatasetManifest, datasets_dir: Path) -> BuildOutcome:
    manifest = manifest.model_copy(update={"card_sha256": build.write(CARD_FILE, dataset_card(manifest))})
    key = manifest.dataset_key
    status: Literal["created", "unchanged"] = "created"
    if not build.publish(manifest):
        existing = read_manifest(datasets_dir, key) if dataset_exists(datasets_dir, key) else None
        if existing is None or existing.content_hash != manifest.content_hash:
            raise ConflictError(
                f"The dataset {key!r} exists with different content, and datasets are immutable.",
                next_step="Build it as another version (e.g. --version v2), "
                f"or delete the old one first: tunix-rt data delete {key}",
            )
        status, manifest = "unchanged", existing
    return BuildOutcome(dataset_key=key, status=status, trace_count=manifest.num_rows, manifest=manifest)


MAX_TRACES = 5_000
"""A preview must be interactive: it inspects at most this many traces, and reports if there are more."""


class DatasetPreview(Frozen):
    """The rows that a build would include, and those it would remove. Nothing is written."""

    dataset_key: str
    is_taken: bool
    """Whether a dataset with this key exists."""
    num_matching: int
    """Traces that match the filters."""
    matching_is_exact: bool
    """False when there are more than `num_matching`: counting stops at a bound."""
    num_unscored: int
    """Traces without the score that a filter needs; only the build scores them."""
    num_considered: int
    """Traces that were inspected for the counts below; `is_partial` tells whether there are more."""
    is_partial: bool
    num_rows: int
    removed: tuple[Removal, ...]
    splits: dict[str, int]
    """Rows per split."""
    num_overlapping_rows: int
    """Rows that overlap with an eval set. The build is rejected unless they are removed or allowed."""


def preview_dataset(home: Home, spec: DatasetSpec, *, max_traces: int = MAX_TRACES) -> DatasetPreview:
    """Select rows as a build of `spec` would, from the first `max_traces` traces."""
    traces = TraceRepository(home.database)
    num_unscored = traces.count_unscored(spec.filters, LINTER_VERSION) if spec.filters.needs_lint else 0
    if 0 < num_unscored <= max_traces:
        score_unscored(traces, spec.filters)
        num_unscored = 0
    page = traces.list(spec.filters, limit=1, offset=0)
    checker = ContaminationChecker(load_evalsets(home.settings.evalsets_dir))
    with (
        closing(RowSpool(Path(tempfile.gettempdir()))) as spool,
        closing(traces.iter_selected(spec.filters)) as selected,
    ):
        scan = scan_rows(spec, islice(selected, max_traces), spool, checker)
        selection = select_rows(spec, scan.rows, scan.matches, spool.__getitem__)
    in_split = Counter(scan.split_names[index] for index in selection.kept)
    overlapping = scan.matches if spec.remove_contaminated else scan.matches.keys() & set(selection.kept)
    return DatasetPreview(
        dataset_key=spec.dataset_key,
        is_taken=dataset_exists(home.settings.datasets_dir, spec.dataset_key),
        num_matching=page.total,
        matching_is_exact=page.total_is_exact,
        num_unscored=num_unscored,
        num_considered=len(scan.rows),
        is_partial=len(scan.rows) < page.total,
        num_rows=len(selection.kept),
        removed=tuple(selection.removals),
        splits={name: in_split[name] for name in spec.splits},
        num_overlapping_rows=len(overlapping),
    )
