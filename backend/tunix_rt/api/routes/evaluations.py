"""Evaluations: list, compare, get, items, export, re-score, delete."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, status
from fastapi.responses import StreamingResponse

from tunix_rt.api.queries import ChosenEvaluations, ChosenPredictions
from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import Limit, Offset, OpenHome
from tunix_rt.base.http.transfers import download, spooled
from tunix_rt.base.records import StorableText
from tunix_rt.core.evaluation.comparison import Comparison
from tunix_rt.core.evaluation.record import Evaluation
from tunix_rt.core.evaluation.store_types import EvaluationOrder
from tunix_rt.services import evaluations as evaluation_service
from tunix_rt.services.comparing import compare_evaluations
from tunix_rt.services.evaluation_exporting import iter_samples
from tunix_rt.services.evaluation_rescoring import rescore

router = APIRouter(prefix="/api/evaluations", tags=["evaluations"], responses=error_responses())


def _found(evaluation_id: UUID, home: OpenHome) -> Evaluation:
    return evaluation_service.get_evaluation(home, evaluation_id)


def _base(base: UUID, home: OpenHome) -> Evaluation:
    return evaluation_service.get_evaluation(home, base)


def _other(other: UUID, home: OpenHome) -> Evaluation:
    return evaluation_service.get_evaluation(home, other)


Found = Annotated[Evaluation, Depends(_found)]
ItemId = Annotated[StorableText, Path(max_length=128)]


@router.get("", response_model_exclude_none=True)
def list_evaluations(
    home: OpenHome,
    criteria: ChosenEvaluations,
    order: EvaluationOrder = "newest",
    limit: Limit = 20,
    offset: Offset = 0,
) -> evaluation_service.EvaluationList:
    """A page of evaluations with the total, newest or best first."""
    return evaluation_service.list_evaluations(home, criteria, limit=limit, offset=offset, order=order)


@router.get("/compare", responses=error_responses(404, 409), response_model_exclude_none=True)
def compare(
    base: Annotated[Evaluation, Depends(_base)],
    other: Annotated[Evaluation, Depends(_other)],
    home: OpenHome,
    allow_different_protocols: Annotated[
        bool, Query(description="pair the items that are the same, however they were asked")
    ] = False,
) -> Comparison:
    """How `other` differs from `base`, item by item, with the items that flipped.

    404 if either is unknown, 409 if they were evaluated in different ways.
    """
    return compare_evaluations(home, base, other, allow_different_protocols=allow_different_protocols)


@router.get("/{evaluation_id}", responses=error_responses(404), response_model_exclude_none=True)
def get_evaluation(evaluation: Found) -> Evaluation:
    """An evaluation: model, protocol and scores. 404 if unknown."""
    return evaluation


@router.get("/{evaluation_id}/items", responses=error_responses(404), response_model_exclude_none=True)
def list_items(
    evaluation_id: UUID,
    home: OpenHome,
    criteria: ChosenPredictions,
    limit: Limit = 20,
    offset: Offset = 0,
) -> evaluation_service.PredictionList:
    """A page of what was written for the items, in the order of the eval set. 404 if unknown."""
    return evaluation_service.list_predictions(home, evaluation_id, criteria, limit=limit, offset=offset)


@router.get(
    "/{evaluation_id}/items/{item_id:path}", responses=error_responses(404), response_model_exclude_none=True
)
def get_item(evaluation_id: UUID, item_id: ItemId, home: OpenHome) -> evaluation_service.EvaluatedItem:
    """One item: every sample with its checked steps and verdict. 404 if evaluation or item is unknown."""
    return evaluation_service.get_item(home, evaluation_id, item_id)


@router.get(
    "/{evaluation_id}/samples.jsonl",
    responses=error_responses(404) | {200: {"content": {"application/x-ndjson": {}}}},
    response_class=StreamingResponse,
)
def export_samples(evaluation: Found, home: OpenHome) -> StreamingResponse:
    """The items as lm-evaluation-harness writes its samples, one JSON object a line. 404 if unknown."""
    file = spooled(iter_samples(home, evaluation))
    return download(file, f"samples_{evaluation.evaluation_id}.jsonl", "application/x-ndjson")


@router.post(
    "/{evaluation_id}/rescore",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(404, 409, 501),
    response_model_exclude_none=True,
)
def rescore_evaluation(evaluation: Found, home: OpenHome) -> Evaluation:
    """Judge the stored texts with the present extractor and checkers, as a new evaluation.

    404 if unknown, 409 if the items that were asked are gone, 501 if a checker's extra is not installed.
    """
    return rescore(home, evaluation)


@router.delete(
    "/{evaluation_id}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404, 409)
)
def delete_evaluation(evaluation_id: UUID, home: OpenHome) -> None:
    """Remove an evaluation; a run keeps its own copy. 404 if unknown, 409 while it is a baseline."""
    evaluation_service.delete_evaluation(home, evaluation_id)
