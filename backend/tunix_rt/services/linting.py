"""Judge stored traces with the linter, and keep what it said."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import islice
from uuid import UUID

from tunix_rt.base.host import in_this_process, worker_processes
from tunix_rt.core.linting.findings import LINTER_VERSION, LintReport
from tunix_rt.core.linting.linter import lint_trace
from tunix_rt.core.store_types import StoredTrace, TraceFilter
from tunix_rt.core.trace import Trace
from tunix_rt.db.traces import TraceRepository

Progress = Callable[[int], None]
"""Told how many more traces are done."""

BATCH = 500
PARALLEL_FROM = 4_000
"""Starting worker processes costs about as much as judging this many traces."""


def score_trace(traces: TraceRepository, trace_id: UUID) -> LintReport:
    """Judge one stored trace and keep the report. NotFoundError if there is no such trace."""
    report = lint_trace(traces.get(trace_id).trace())
    traces.save_reports([(trace_id, report)])
    return report


def score_unscored(
    traces: TraceRepository, criteria: TraceFilter, *, progress: Progress = lambda _: None
) -> int:
    """Judge every trace that `criteria` could choose and this linter has not judged; how many there were."""
    is_large = traces.count_unscored(criteria, LINTER_VERSION) >= PARALLEL_FROM
    num_judged = 0
    with worker_processes() if is_large else nullcontext(in_this_process) as mapper:
        for reports in mapper(_judge, _batched(traces.iter_unscored(criteria, LINTER_VERSION))):
            traces.save_reports(reports)
            num_judged += len(reports)
            progress(len(reports))
    return num_judged


def _judge(batch: list[tuple[UUID, str]]) -> list[tuple[UUID, LintReport]]:
    return [(trace_id, lint_trace(Trace.model_validate_json(canonical))) for trace_id, canonical in batch]


def _batched(stored: Iterator[StoredTrace]) -> Iterator[list[tuple[UUID, str]]]:
    while batch := [(item.id, item.canonical) for item in islice(stored, BATCH)]:
        yield batch
