"""Evaluations of runs, and the leaderboard."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, status

from tunix_rt.api.queries import ChosenEvaluations, ChosenScores
from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome
from tunix_rt.core.evaluation.leaderboard import Leaderboard
from tunix_rt.core.evaluation.run_evaluation import RunEvaluation
from tunix_rt.engines.training.types import RUN_ID_PATTERN
from tunix_rt.services import run_evaluations as run_evaluation_service
from tunix_rt.services.leaderboards import show_leaderboard

router = APIRouter(
    prefix="/api/tunix", tags=["run evaluations"], responses=error_responses(), route_class=CheckedRoute
)

RunId = Annotated[str, Path(pattern=RUN_ID_PATTERN)]


@router.post(
    "/runs/{run_id}/evaluate",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404, 409, 501),
    response_model_exclude_none=True,
)
def evaluate_run(
    run_id: RunId, home: OpenHome, request: run_evaluation_service.EvaluateRun | None = None
) -> RunEvaluation:
    """Judge the answers that a run's model has written, with the present extractor and checkers.

    Nothing is generated: `tunix-rt eval` does that. 404 if the run is unknown, 409 if it did not succeed or
    its model has no stored answers, 422 for an unknown judge, 501 if a checker's extra is not installed.
    """
    asked = request or run_evaluation_service.EvaluateRun()
    return run_evaluation_service.evaluate_run(home, run_id, asked)


@router.get("/runs/{run_id}/evaluation", responses=error_responses(404), response_model_exclude_none=True)
def get_run_evaluation(run_id: RunId, home: OpenHome) -> RunEvaluation:
    """The newest evaluation of a run. 404 if there is none."""
    return run_evaluation_service.newest_evaluation(home, run_id)


@router.get("/evaluations", response_model_exclude_none=True)
def list_scores(
    home: OpenHome,
    criteria: ChosenScores,
    limit: Limit = 50,
    offset: Offset = 0,
) -> run_evaluation_service.ModelScoreList:
    """A page of the scores of every model, best first, with the total.

    Only scores with one fingerprint are comparable: `/api/tunix/leaderboard` ranks those, with ties.
    """
    return run_evaluation_service.list_scores(home, criteria, limit=limit, offset=offset)


@router.get("/leaderboard", response_model_exclude_none=True)
def get_leaderboard(
    home: OpenHome,
    criteria: ChosenEvaluations,
    shows_all: Annotated[bool, Query(description="every evaluation, not only the newest of a model")] = False,
) -> Leaderboard:
    """Models ranked among those that were evaluated in the same way, with ties and base models."""
    return show_leaderboard(home, criteria, shows_all=shows_all)
