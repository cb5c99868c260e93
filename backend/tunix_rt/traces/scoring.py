"""Lint a file or stored traces, and store the scores."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Literal
from uuid import UUID

from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.base.files.jsonl import BadRow, BlankLine, ReadRow
from tunix_rt.base.files.readers import open_rows, regular_file
from tunix_rt.base.host import in_this_process, worker_processes
from tunix_rt.traces.formats.registry import ROW_FORMATS, RowOptions, detect_format, read_row
from tunix_rt.traces.formats.solutions import RowError
from tunix_rt.traces.linter.findings import LINTER_VERSION, Finding, LintReport
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import Frozen, StoredTrace, Trace, TraceFilter

PROGRESS_EVERY_ROWS = 200


class LineReport(Frozen):
    """The lint report of one line of a file."""

    line: int
    score: float | None
    """None when the line is not a valid trace; `error` gives the reason."""
    findings: tuple[Finding, ...] = ()
    error: str | None = None


def lint_file(
    file: str | Path,
    *,
    row_format: str | None = None,
    on_fraction: Callable[[float], None] = lambda fraction: None,
) -> Iterator[LineReport]:
    """One report per non-blank line, in order.

    Args:
        file: JSONL, CSV or Parquet; `-` is standard input.
        row_format: one of `ROW_FORMATS`. Default: detected from the keys of each row.
        on_fraction: called periodically with the fraction of the file that was read.
    """
    if row_format is not None and row_format not in ROW_FORMATS:
        raise InvalidInputError(
            f"There is no format {row_format!r}.", next_step=did_you_mean(row_format, ROW_FORMATS)
        )
    with regular_file(file) as path, open_rows(path) as stream:
        for row in stream.rows:
            if not isinstance(row, BlankLine):
                yield _lint_row(row, row_format)
            if row.number % PROGRESS_EVERY_ROWS == 0:
                on_fraction(stream.fraction_read())


def _lint_row(row: ReadRow | BadRow, row_format: str | None) -> LineReport:
    if isinstance(row, BadRow):
        return LineReport(line=row.number, score=None, error=row.reason)
    try:
        row_options = RowOptions(row_format or detect_format(row.values), keep_annotations=True)
        report = lint_trace(read_row(row.values, row_options))
    except RowError as error:
        return LineReport(line=row.number, score=None, error=str(error))
    return LineReport(line=row.number, score=report.score, findings=report.findings)


Progress = Callable[[int], None]
"""Called with the number of traces that were just linted."""

BATCH = 500
PARALLEL_FROM = 4_000
"""Starting worker processes costs about as much as linting this many traces."""


def score_trace(traces: TraceRepository, trace_id: UUID) -> LintReport:
    """Lint one stored trace and store the report. NotFoundError if there is no such trace."""
    report = lint_trace(traces.get(trace_id).trace())
    traces.save_reports([(trace_id, report)])
    return report


def score_unscored(
    traces: TraceRepository, criteria: TraceFilter, *, progress: Progress = lambda _: None
) -> int:
    """Lint the traces that `criteria` could select and that have no current score; returns their number."""
    is_large = traces.count_unscored(criteria, LINTER_VERSION) >= PARALLEL_FROM
    num_linted = 0
    with worker_processes() if is_large else nullcontext(in_this_process) as mapper:
        for reports in mapper(_lint_batch, _batched(traces.iter_unscored(criteria, LINTER_VERSION))):
            traces.save_reports(reports)
            num_linted += len(reports)
            progress(len(reports))
    return num_linted


def _lint_batch(batch: list[tuple[UUID, str]]) -> list[tuple[UUID, LintReport]]:
    return [(trace_id, lint_trace(Trace.model_validate_json(canonical))) for trace_id, canonical in batch]


def _batched(stored: Iterator[StoredTrace]) -> Iterator[list[tuple[UUID, str]]]:
    while batch := [(item.id, item.canonical) for item in islice(stored, BATCH)]:
        yield batch


class TraceScore(Frozen):
    """The linter score of a stored trace."""

    trace_id: UUID
    score: float
    criteria: Literal["baseline"]
    scored_at: datetime
    details: LintReport


class ScoredTraces(Frozen):
    """The number of traces that were scored."""

    num_scored: int


def score_stored_trace(traces: TraceRepository, key: UUID) -> TraceScore:
    """Lint a stored trace and store the score."""
    report = score_trace(traces, key)
    return TraceScore(
        trace_id=key, score=report.score, criteria="baseline", scored_at=datetime.now(UTC), details=report
    )
