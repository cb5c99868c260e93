"""One pass over the traces that a dataset may be made of."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tunix_rt.core.dataset_rows import RowFacts, parse_row
from tunix_rt.core.dataset_spec import DatasetSpec
from tunix_rt.core.splitting import split_of
from tunix_rt.files.dataset_build import RowSpool
from tunix_rt.services.contamination import ContaminationChecker, Match
from tunix_rt.traces.types import StoredTrace

Progress = Callable[[int], None]
"""Told how many more rows were read."""

_PROGRESS_EVERY = 1_000


@dataclass
class RowScan:
    """What one pass over the chosen traces found; the lists have one entry a row."""

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
    """Read every trace once: its facts, its split, and the eval item that it repeats."""
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
