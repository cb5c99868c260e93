"""/api/traces and its revisions.

Handlers that only look something up are `async`, because a thread per request would cost more than they do.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Query, Response, status
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, FailFast

from tunix_rt.base.home import Home
from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, get_home
from tunix_rt.base.http.transfers import download, spooled
from tunix_rt.traces import review as revision_service
from tunix_rt.traces import scoring
from tunix_rt.traces import service as trace_service
from tunix_rt.traces.linter.findings import LintReport
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.review import RevisionList, RevisionReceipt, TraceReview, review_lines
from tunix_rt.traces.service import build_filter
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import Trace, TraceFilter, TraceOrder


async def get_traces(home: Annotated[Home, Depends(get_home)]) -> TraceRepository:
    """The trace repository."""
    return TraceRepository(home.database)


Traces = Annotated[TraceRepository, Depends(get_traces)]

router = APIRouter(
    prefix="/api/traces", tags=["traces"], responses=error_responses(), route_class=CheckedRoute
)

_LINES = "application/x-ndjson"
_FILE: dict[int | str, dict[str, Any]] = {200: {"content": {_LINES: {}}}}
MAX_BATCH = 1_000


class ScoreRequest(BaseModel):
    """The scoring criteria. Only `baseline` is supported."""

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
    """The filter from the query string."""
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
    """Store a trace. 201 when it is new, 200 when the same trace is already stored."""
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
    """A page of traces with the total. In score order, traces that were never linted come last."""
    return trace_service.list_traces(traces, criteria, order=order, limit=limit, offset=offset)


@router.get("/compare", responses=error_responses(404))
def compare_traces(base: UUID, other: UUID, traces: Traces) -> trace_service.StoredComparison:
    """Two traces with aligned steps. 404 if either is unknown."""
    return trace_service.compare_stored(traces, base, other)


@router.post("/lint", responses=error_responses(400))
def lint(trace: Annotated[Trace, Body()]) -> LintReport:
    """Lint a trace without storing it."""
    return lint_trace(trace)


@router.get("/lint/codes")
def list_codes() -> trace_service.CodeList:
    """All linter findings with their severity and meaning."""
    return trace_service.list_codes()


@router.post("/score")
def score_traces(
    traces: Traces, criteria: Annotated[TraceFilter, Depends(trace_filter)]
) -> scoring.ScoredTraces:
    """Lint and score every trace that the filter could select and this linter version has not scored."""
    return scoring.ScoredTraces(num_scored=scoring.score_unscored(traces, criteria))


@router.get("/{trace_id}", responses=error_responses(404))
def get_trace(trace_id: UUID, traces: Traces) -> trace_service.TraceDetail:
    """A stored trace. 404 if unknown."""
    return trace_service.get_trace(traces, trace_id)


@router.post("/{trace_id}/score", status_code=status.HTTP_201_CREATED, responses=error_responses(400, 404))
def score_trace(trace_id: UUID, traces: Traces, request: ScoreRequest | None = None) -> scoring.TraceScore:
    """Lint a stored trace and store the score. 404 if unknown."""
    return scoring.score_stored_trace(traces, trace_id)


@router.get("/{trace_id}/report", responses=error_responses(404))
def get_report(trace_id: UUID, traces: Traces) -> LintReport:
    """The last lint report of a stored trace. 404 if unknown or never linted."""
    return trace_service.get_report(traces, trace_id)


@router.delete("/{trace_id}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404))
def delete_trace(trace_id: UUID, traces: Traces) -> None:
    """Delete a trace. Datasets built from it keep their copy. 404 if unknown."""
    traces.delete(trace_id)


@router.get("/revisions/preferences.jsonl", responses=_FILE, response_class=StreamingResponse)
def export_preferences(traces: Traces) -> StreamingResponse:
    """Every corrected trace as a preference pair: `prompt`, `chosen`, `rejected`."""
    return download(spooled(review_lines(traces, "preferences")), "preferences.jsonl", _LINES)


@router.get("/revisions/step-labels.jsonl", responses=_FILE, response_class=StreamingResponse)
def export_step_labels(traces: Traces) -> StreamingResponse:
    """Every review as labelled steps: `prompt`, `completions`, `labels`."""
    return download(spooled(review_lines(traces, "step-labels")), "step-labels.jsonl", _LINES)


@router.post(
    "/{trace_id}/revisions",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404) | {200: {"model": RevisionReceipt}},
)
def add_revision(trace_id: UUID, review: TraceReview, traces: Traces, response: Response) -> RevisionReceipt:
    """Store the corrected trace as a new version. The reviewed trace is not changed.

    201 when it is new, 200 when the same review was stored before, 404 if the trace is unknown, 422 if a
    verdict names an unknown step or no step would remain.
    """
    receipt = revision_service.add_revision(traces, trace_id, review)
    response.status_code = status.HTTP_201_CREATED if receipt.created else status.HTTP_200_OK
    return receipt


@router.get("/{trace_id}/revisions", responses=error_responses(404))
def list_revisions(trace_id: UUID, traces: Traces) -> RevisionList:
    """Every version of a trace, newest first, given the id of any version. 404 if unknown."""
    return revision_service.list_revisions(traces, trace_id)
