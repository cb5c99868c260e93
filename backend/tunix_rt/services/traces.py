"""Use cases around stored traces."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.records import Pagination
from tunix_rt.core.compare import TraceComparison, compare_traces
from tunix_rt.core.linting.findings import CODES, LintReport
from tunix_rt.core.prepared import prepared
from tunix_rt.core.store_types import TraceFilter, TraceOrder, TraceSummary
from tunix_rt.core.trace import Trace
from tunix_rt.db.traces import TraceRepository
from tunix_rt.services.linting import score_trace as judge_and_keep
from tunix_rt.services.linting import score_unscored


class TraceReceipt(BaseModel):
    """What a caller gets for a trace that it sent."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    created_at: datetime
    trace_version: str
    created: bool
    """False when the very same trace was stored before: it is kept once."""


class BatchReceipt(BaseModel):
    """What a caller gets for a batch, in the order it was sent."""

    model_config = ConfigDict(frozen=True)
    created_count: int
    traces: tuple[TraceReceipt, ...]


class TraceDetail(BaseModel):
    """A stored trace with what is known of it."""

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
    """The linter's judgement of a stored trace."""

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
    """How many traces the linter has judged just now."""

    model_config = ConfigDict(frozen=True)
    num_scored: int


class StoredComparison(BaseModel):
    """Two stored traces and how their steps line up."""

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
            # Without a time: another client deleted it a moment ago.
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
    """A page of the traces that `criteria` chooses."""
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


def score_trace(traces: TraceRepository, key: UUID) -> TraceScore:
    """Judge a stored trace and keep the judgement."""
    report = judge_and_keep(traces, key)
    return TraceScore(
        trace_id=key, score=report.score, criteria="baseline", scored_at=datetime.now(UTC), details=report
    )


def score_traces(traces: TraceRepository, criteria: TraceFilter) -> ScoredTraces:
    """Judge what `criteria` could choose and was never judged by this linter."""
    return ScoredTraces(num_scored=score_unscored(traces, criteria))


def list_codes() -> CodeList:
    """Everything that the linter can find."""
    known = (
        LintCode(code=code, severity=info.severity, meaning=info.meaning) for code, info in CODES.items()
    )
    return CodeList(data=tuple(known))


def get_report(traces: TraceRepository, key: UUID) -> LintReport:
    """What the linter last said of a stored trace; NotFoundError if it was never asked."""
    report = traces.get_report(traces.get(key).id)
    if report is None:
        raise NotFoundError(
            f"Trace {key} was never linted.", next_step=f"Lint it: POST /api/traces/{key}/score"
        )
    return report


def compare_stored(traces: TraceRepository, base: UUID, other: UUID) -> StoredComparison:
    """Line up two stored traces."""
    left, right = get_trace(traces, base), get_trace(traces, other)
    return StoredComparison(base=left, other=right, comparison=compare_traces(left.payload, right.payload))
