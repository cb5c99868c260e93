"""Revisions: review a trace, list its versions, download what reviews teach."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Response, status
from fastapi.responses import StreamingResponse

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Traces
from tunix_rt.base.http.transfers import download, spooled
from tunix_rt.core.revision import TraceReview
from tunix_rt.services import revisions as revision_service

router = APIRouter(
    prefix="/api/traces", tags=["traces"], responses=error_responses(), route_class=CheckedRoute
)

_LINES = "application/x-ndjson"
_FILE: dict[int | str, dict[str, Any]] = {200: {"content": {_LINES: {}}}}


@router.get("/revisions/preferences.jsonl", responses=_FILE, response_class=StreamingResponse)
def export_preferences(traces: Traces) -> StreamingResponse:
    """Every repair as a preference pair: `prompt`, `chosen`, `rejected`."""
    return download(
        spooled(revision_service.review_lines(traces, "preferences")), "preferences.jsonl", _LINES
    )


@router.get("/revisions/step-labels.jsonl", responses=_FILE, response_class=StreamingResponse)
def export_step_labels(traces: Traces) -> StreamingResponse:
    """Every review as labelled steps: `prompt`, `completions`, `labels`."""
    return download(
        spooled(revision_service.review_lines(traces, "step-labels")), "step-labels.jsonl", _LINES
    )


@router.post(
    "/{trace_id}/revisions",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404) | {200: {"model": revision_service.RevisionReceipt}},
)
def add_revision(
    trace_id: UUID, review: TraceReview, traces: Traces, response: Response
) -> revision_service.RevisionReceipt:
    """Store what a review makes of a trace as a new version; the reviewed one stays as it is.

    201 when it is new, 200 when the very same review was made before, 404 if the trace is unknown, 422 if a
    verdict is about no step or none would be left.
    """
    receipt = revision_service.add_revision(traces, trace_id, review)
    response.status_code = status.HTTP_201_CREATED if receipt.created else status.HTTP_200_OK
    return receipt


@router.get("/{trace_id}/revisions", responses=error_responses(404))
def list_revisions(trace_id: UUID, traces: Traces) -> revision_service.RevisionList:
    """Every version of a trace, newest first, whichever of them is named. 404 if unknown."""
    return revision_service.list_revisions(traces, trace_id)
