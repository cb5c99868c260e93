"""Traces: create, batch, get, list, compare, score one or all, lint, delete."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Query, Response, status
from pydantic import BaseModel, ConfigDict, FailFast

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, Traces
from tunix_rt.core.linting.findings import LintReport
from tunix_rt.core.linting.linter import lint_trace
from tunix_rt.core.store_types import TraceFilter, TraceOrder
from tunix_rt.core.trace import Trace
from tunix_rt.services import traces as trace_service
from tunix_rt.services.filtering import build_filter

MAX_BATCH = 1_000

router = APIRouter(
    prefix="/api/traces", tags=["traces"], responses=error_responses(), route_class=CheckedRoute
)


class ScoreRequest(BaseModel):
    """How to score; there is one way."""

    model_config = ConfigDict(extra="forbid")
    criteria: Literal["baseline"] = "baseline"


def trace_filter(
    source: Annotated[str | None, Query(max_length=256)] = None,
    meta: Annotated[list[str], Query(description="`key=value` that must be in meta; may be repeated")] = [],  # noqa: B006
    tag: Annotated[list[str], Query(description="must be in meta.tags; may be repeated")] = [],  # noqa: B006
    min_score: Annotated[float | None, Query(ge=0, le=100)] = None,
    max_score: Annotated[float | None, Query(ge=0, le=100)] = None,
    code: Annotated[list[str], Query(description="has this linter finding")] = [],  # noqa: B006
    without_code: Annotated[list[str], Query(description="lacks this linter finding")] = [],  # noqa: B006
    query: Annotated[str | None, Query(max_length=1000, description="words that must all occur")] = None,
) -> TraceFilter:
    """The filter that the query string describes."""
    return build_filter(
        source=source,
        meta=meta,
        tags=tag,
        min_score=min_score,
        max_score=max_score,
        codes=code,
        without_codes=without_code,
        query=query,
    )


@router.post(
    "",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400) | {200: {"model": trace_service.TraceReceipt}},
)
def create_trace(trace: Trace, traces: Traces, response: Response) -> trace_service.TraceReceipt:
    """Store a trace. 201 when it is new, 200 when the very same trace is there already."""
    receipt = trace_service.add_trace(traces, trace)
    response.status_code = status.HTTP_201_CREATED if receipt.created else status.HTTP_200_OK
    return receipt


@router.post("/batch", status_code=status.HTTP_201_CREATED, responses=error_responses(400))
def create_batch(
    batch: Annotated[list[Trace], FailFast(), Body(min_length=1, max_length=MAX_BATCH)], traces: Traces
) -> trace_service.BatchReceipt:
    """Store up to 1,000 traces, all or none."""
    return trace_service.add_batch(traces, batch)


@router.get("")
def list_traces(
    traces: Traces,
    criteria: Annotated[TraceFilter, Depends(trace_filter)],
    order: TraceOrder = "newest",
    limit: Limit = 20,
    offset: Offset = 0,
) -> trace_service.TraceList:
    """A page of traces with the total; by score, those that were never linted come last."""
    return trace_service.list_traces(traces, criteria, order=order, limit=limit, offset=offset)


@router.get("/compare", responses=error_responses(404))
def compare_traces(base: UUID, other: UUID, traces: Traces) -> trace_service.StoredComparison:
    """Two traces with their steps lined up. 404 if either is unknown."""
    return trace_service.compare_stored(traces, base, other)


@router.post("/lint", responses=error_responses(400))
def lint(trace: Annotated[Trace, Body()]) -> LintReport:
    """What the linter says of a trace that is not stored; nothing is kept."""
    return lint_trace(trace)


@router.get("/lint/codes")
def list_codes() -> trace_service.CodeList:
    """Everything that the linter can find, with how bad it is and what it means."""
    return trace_service.list_codes()


@router.post("/score")
def score_traces(
    traces: Traces, criteria: Annotated[TraceFilter, Depends(trace_filter)]
) -> trace_service.ScoredTraces:
    """Judge every trace that the filter could choose and this linter has not judged; the scores are kept."""
    return trace_service.score_traces(traces, criteria)


@router.get("/{trace_id}", responses=error_responses(404))
def get_trace(trace_id: UUID, traces: Traces) -> trace_service.TraceDetail:
    """A stored trace. 404 if unknown."""
    return trace_service.get_trace(traces, trace_id)


@router.post("/{trace_id}/score", status_code=status.HTTP_201_CREATED, responses=error_responses(400, 404))
def score_trace(
    trace_id: UUID, traces: Traces, request: ScoreRequest | None = None
) -> trace_service.TraceScore:
    """Judge a stored trace by what its steps say, and keep the judgement. 404 if unknown."""
    return trace_service.score_trace(traces, trace_id)


@router.get("/{trace_id}/report", responses=error_responses(404))
def get_report(trace_id: UUID, traces: Traces) -> LintReport:
    """What the linter last said of a stored trace. 404 if unknown or never linted."""
    return trace_service.get_report(traces, trace_id)


@router.delete("/{trace_id}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404))
def delete_trace(trace_id: UUID, traces: Traces) -> None:
    """Remove a trace; datasets built from it keep their copy. 404 if unknown."""
    traces.delete(trace_id)
