"""Add, get, list and compare stored traces; lint stored traces and files."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import InvalidInputError, NotFoundError, did_you_mean
from tunix_rt.base.files.jsonl import BadRow, BlankLine, FileRow
from tunix_rt.base.files.readers import open_rows, regular_file
from tunix_rt.base.host import in_this_process, worker_processes
from tunix_rt.base.records import Pagination
from tunix_rt.traces.formats.registry import ROW_FORMATS, RowOptions, detect_format, read_row
from tunix_rt.traces.formats.solutions import RowError
from tunix_rt.traces.linter.findings import CODES, LINTER_VERSION, Finding, LintReport
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import (
    StoredTrace,
    Trace,
    TraceFilter,
    TraceOrder,
    TraceStep,
    TraceSummary,
    prepared,
)

MAX_PAIRS_TO_MATCH = 40_000
"""Above this many pairs in one gap, steps are paired by position, because matching would take seconds."""
SIMILAR_FROM = 0.3

_WORD = re.compile(r"\w+")


class AlignedStep(BaseModel):
    """One line of the comparison. A side is None if that trace has no such step."""

    model_config = ConfigDict(frozen=True)
    kind: Literal["same", "changed", "added", "removed"]
    base: TraceStep | None
    other: TraceStep | None
    similarity: float
    """Word overlap of the two steps, 0 to 1."""


class TraceComparison(BaseModel):
    """The result of comparing two traces."""

    model_config = ConfigDict(frozen=True)
    same_prompt: bool
    same_answer: bool
    num_same_steps: int
    first_difference: int | None
    """Index in `steps` of the first difference; None when all steps are equal."""
    steps: tuple[AlignedStep, ...]


def compare_traces(base: Trace, other: Trace) -> TraceComparison:
    """Align the steps of two traces and find the first difference."""
    steps = align_steps(base.steps, other.steps)
    differences = [line for line, step in enumerate(steps) if step.kind != "same"]
    return TraceComparison(
        same_prompt=base.prompt.strip() == other.prompt.strip(),
        same_answer=base.final_answer.strip() == other.final_answer.strip(),
        num_same_steps=len(steps) - len(differences),
        first_difference=differences[0] if differences else None,
        steps=tuple(steps),
    )


def align_steps(base: Sequence[TraceStep], other: Sequence[TraceStep]) -> list[AlignedStep]:
    """Pair equal steps first, then the most similar steps between them, without crossing.

    Example:
        [A, B, C] against [A, B', D, C] -> A=A, B~B', +D, C=C
    """
    matcher = SequenceMatcher(None, [_text(step) for step in base], [_text(step) for step in other], False)
    lines: list[AlignedStep] = []
    for tag, base_from, base_to, other_from, other_to in matcher.get_opcodes():
        left, right = base[base_from:base_to], other[other_from:other_to]
        if tag == "equal":
            lines += [_line(a, b) for a, b in zip(left, right, strict=True)]
        else:
            lines += _align_gap(left, right)
    return lines


def _align_gap(left: Sequence[TraceStep], right: Sequence[TraceStep]) -> list[AlignedStep]:
    if len(left) * len(right) > MAX_PAIRS_TO_MATCH:
        shared = min(len(left), len(right))
        paired = [_line(a, b) for a, b in zip(left, right, strict=False)]
        return paired + [_line(a, None) for a in left[shared:]] + [_line(None, b) for b in right[shared:]]
    best = _best_totals(left, right)
    lines: list[AlignedStep] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if best[i][j] == best[i + 1][j]:
            lines.append(_line(left[i], None))
            i += 1
        elif best[i][j] == best[i][j + 1]:
            lines.append(_line(None, right[j]))
            j += 1
        else:
            lines.append(_line(left[i], right[j]))
            i, j = i + 1, j + 1
    return lines + [_line(a, None) for a in left[i:]] + [_line(None, b) for b in right[j:]]


def _best_totals(left: Sequence[TraceStep], right: Sequence[TraceStep]) -> list[list[float]]:
    """The greatest total similarity of left[i:] against right[j:], for every i and j."""
    left_words, right_words = [_words(step) for step in left], [_words(step) for step in right]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in reversed(range(len(left))):
        for j in reversed(range(len(right))):
            similarity = _similarity(left_words[i], right_words[j])
            pair = similarity + best[i + 1][j + 1] if similarity >= SIMILAR_FROM else 0.0
            best[i][j] = max(pair, best[i + 1][j], best[i][j + 1])
    return best


def _line(base: TraceStep | None, other: TraceStep | None) -> AlignedStep:
    if base is None or other is None:
        kind: Literal["added", "removed"] = "added" if base is None else "removed"
        return AlignedStep(kind=kind, base=base, other=other, similarity=0.0)
    if _text(base) == _text(other):
        return AlignedStep(kind="same", base=base, other=other, similarity=1.0)
    similarity = round(_similarity(_words(base), _words(other)), 3)
    return AlignedStep(kind="changed", base=base, other=other, similarity=similarity)


def _text(step: TraceStep) -> str:
    return " ".join(step.content.split())


def _words(step: TraceStep) -> frozenset[str]:
    return frozenset(_WORD.findall(step.content.casefold()))


def _similarity(left: frozenset[str], right: frozenset[str]) -> float:
    union = len(left | right)
    return len(left & right) / union if union else 0.0


PROGRESS_EVERY_ROWS = 200


class LineReport(BaseModel):
    """The lint report of one line of a file."""

    model_config = ConfigDict(frozen=True)
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


def _lint_row(row: FileRow, row_format: str | None) -> LineReport:
    if isinstance(row, BadRow):
        return LineReport(line=row.number, score=None, error=row.reason)
    assert not isinstance(row, BlankLine)
    from tunix_rt.traces.linter.linter import lint_trace

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
    # Imported here and below: lists and single traces start faster without the linter.
    from tunix_rt.traces.linter.linter import lint_trace

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
    from tunix_rt.traces.linter.linter import lint_trace

    return [(trace_id, lint_trace(Trace.model_validate_json(canonical))) for trace_id, canonical in batch]


def _batched(stored: Iterator[StoredTrace]) -> Iterator[list[tuple[UUID, str]]]:
    while batch := [(item.id, item.canonical) for item in islice(stored, BATCH)]:
        yield batch


class TraceReceipt(BaseModel):
    """The response to storing a trace."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    created_at: datetime
    trace_version: str
    created: bool
    """False when the same trace was already stored."""


class BatchReceipt(BaseModel):
    """The response to storing a batch, in the order of the request."""

    model_config = ConfigDict(frozen=True)
    created_count: int
    traces: tuple[TraceReceipt, ...]


class TraceDetail(BaseModel):
    """A stored trace with its score and linter findings."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    created_at: datetime
    trace_version: str
    score: float | None
    lint_codes: tuple[str, ...]
    payload: Trace


class TraceList(BaseModel):
    """A page of traces."""

    model_config = ConfigDict(frozen=True)
    data: tuple[TraceSummary, ...]
    pagination: Pagination
    num_unscored: int
    """Traces left out because the filter asks for scores and they were never linted."""


class TraceScore(BaseModel):
    """The linter score of a stored trace."""

    model_config = ConfigDict(frozen=True)
    trace_id: UUID
    score: float
    criteria: Literal["baseline"]
    scored_at: datetime
    details: LintReport


class LintCode(BaseModel):
    """One kind of finding."""

    model_config = ConfigDict(frozen=True)
    code: str
    severity: Literal["error", "warning"]
    meaning: str


class CodeList(BaseModel):
    """Every kind of finding."""

    model_config = ConfigDict(frozen=True)
    data: tuple[LintCode, ...]


class ScoredTraces(BaseModel):
    """The number of traces that were scored."""

    model_config = ConfigDict(frozen=True)
    num_scored: int


class StoredComparison(BaseModel):
    """Two stored traces with their aligned steps."""

    model_config = ConfigDict(frozen=True)
    base: TraceDetail
    other: TraceDetail
    comparison: TraceComparison


def add_trace(traces: TraceRepository, trace: Trace) -> TraceReceipt:
    """Store a trace."""
    return add_batch(traces, [trace]).traces[0]


def add_batch(traces: TraceRepository, batch: Sequence[Trace]) -> BatchReceipt:
    """Store a batch, all or none."""
    entries = [prepared(trace) for trace in batch]
    ids = [UUID(hex=entry.id_hex) for entry in entries]
    new = traces.add_prepared(entries)
    created_at = traces.created_at(ids)
    now = datetime.now(UTC)
    firsts = {key: position for position, key in reversed(list(enumerate(ids)))}
    receipts = tuple(
        TraceReceipt(
            id=key,
            # Missing if another client has just deleted it.
            created_at=created_at.get(key, now),
            trace_version=trace.trace_version,
            created=key in new and firsts[key] == position,
        )
        for position, (trace, key) in enumerate(zip(batch, ids, strict=True))
    )
    return BatchReceipt(created_count=len(new), traces=receipts)


def get_trace(traces: TraceRepository, key: UUID) -> TraceDetail:
    """A stored trace."""
    stored = traces.get(key)
    payload = stored.trace()
    return TraceDetail(
        id=stored.id,
        created_at=stored.created_at,
        trace_version=payload.trace_version,
        score=stored.score,
        lint_codes=traces.lint_codes(key),
        payload=payload,
    )


def list_traces(
    traces: TraceRepository,
    criteria: TraceFilter,
    *,
    limit: int,
    offset: int,
    order: TraceOrder = "newest",
) -> TraceList:
    """A page of the traces that `criteria` selects."""
    page = traces.list(criteria, limit=limit, offset=offset, order=order)
    end = offset + len(page.data)
    is_last = len(page.data) < limit or (page.total_is_exact and end >= page.total)
    return TraceList(
        data=page.data,
        pagination=Pagination(
            limit=limit,
            offset=offset,
            next_offset=None if is_last else end,
            total=page.total,
            total_is_exact=page.total_is_exact,
        ),
        num_unscored=page.num_unscored,
    )


def score_stored_trace(traces: TraceRepository, key: UUID) -> TraceScore:
    """Lint a stored trace and store the score."""
    report = score_trace(traces, key)
    return TraceScore(
        trace_id=key, score=report.score, criteria="baseline", scored_at=datetime.now(UTC), details=report
    )


def score_traces(traces: TraceRepository, criteria: TraceFilter) -> ScoredTraces:
    """Lint and score the traces that `criteria` could select and this linter version has not scored."""
    return ScoredTraces(num_scored=score_unscored(traces, criteria))


def list_codes() -> CodeList:
    """All linter findings."""
    codes = (
        LintCode(code=code, severity=info.severity, meaning=info.meaning) for code, info in CODES.items()
    )
    return CodeList(data=tuple(codes))


def get_report(traces: TraceRepository, key: UUID) -> LintReport:
    """The last lint report of a stored trace; NotFoundError if it was never linted."""
    report = traces.get_report(traces.get(key).id)
    if report is None:
        raise NotFoundError(
            f"Trace {key} was never linted.", next_step=f"Lint it: POST /api/traces/{key}/score"
        )
    return report


def compare_stored(traces: TraceRepository, base: UUID, other: UUID) -> StoredComparison:
    """Compare two stored traces."""
    left, right = get_trace(traces, base), get_trace(traces, other)
    return StoredComparison(base=left, other=right, comparison=compare_traces(left.payload, right.payload))
