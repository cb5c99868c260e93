"""Judge stored traces with the linter, and keep what it said."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from uuid import UUID

from tunix_rt.core.linting import LINTER_VERSION, LintReport, lint_trace
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
    num_waiting = traces.count_unscored(criteria, LINTER_VERSION)
    batches = _batched(traces.iter_unscored(criteria, LINTER_VERSION))
    judged = _judge_in_parallel(batches) if num_waiting >= PARALLEL_FROM else map(_judge, batches)
    num_judged = 0
    for reports in judged:
        traces.save_reports(reports)
        num_judged += len(reports)
        progress(len(reports))
    return num_judged


def _judge(batch: list[tuple[UUID, str]]) -> list[tuple[UUID, LintReport]]:
    return [(trace_id, lint_trace(Trace.model_validate_json(canonical))) for trace_id, canonical in batch]


def _judge_in_parallel(
    batches: Iterable[list[tuple[UUID, str]]],
) -> Iterator[list[tuple[UUID, LintReport]]]:
    num_workers = max(1, (os.cpu_count() or 2) - 1)
    # "spawn": the parent holds database connections and threads, which a forked child must not share.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(num_workers, mp_context=context) as pool:
        waiting = iter(batches)
        running = [pool.submit(_judge, batch) for batch in islice(waiting, 2 * num_workers)]
        while running:
            yield running.pop(0).result()
            running.extend(pool.submit(_judge, batch) for batch in islice(waiting, 1))


def _batched(stored: Iterator[StoredTrace]) -> Iterator[list[tuple[UUID, str]]]:
    while batch := [(item.id, item.canonical) for item in islice(stored, BATCH)]:
        yield batch
