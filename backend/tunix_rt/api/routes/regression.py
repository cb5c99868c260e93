"""Baselines, and whether an evaluation is worse than one."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, status

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome
from tunix_rt.db.baselines import BaselineRepository
from tunix_rt.services import regression as regression_service
from tunix_rt.services.regression import BASELINE_PATTERN

router = APIRouter(
    prefix="/api/regression", tags=["regression"], responses=error_responses(), route_class=CheckedRoute
)

BaselineName = Annotated[str, Path(pattern=BASELINE_PATTERN)]


@router.post(
    "/baselines",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404, 409),
    response_model_exclude_none=True,
)
def set_baseline(
    request: regression_service.NewBaseline, home: OpenHome
) -> regression_service.StoredBaseline:
    """Name an evaluation and the rule that later ones must pass; a name that is taken is given anew.

    404 if run or evaluation is unknown, 409 if it is of another eval set or dataset than the request says.
    """
    return regression_service.set_baseline(home, request)


@router.get("/baselines", response_model_exclude_none=True)
def list_baselines(home: OpenHome) -> regression_service.BaselineList:
    """Every baseline, by name."""
    return regression_service.list_baselines(home)


@router.get("/baselines/{name}", responses=error_responses(404), response_model_exclude_none=True)
def get_baseline(name: BaselineName, home: OpenHome) -> regression_service.StoredBaseline:
    """A baseline. 404 if unknown."""
    return regression_service.get_baseline(home, name)


@router.delete("/baselines/{name}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404))
def delete_baseline(name: BaselineName, home: OpenHome) -> None:
    """Forget a baseline; its evaluation stays. 404 if unknown."""
    BaselineRepository(home.database).delete(name)


@router.post("/check", responses=error_responses(400, 404, 409), response_model_exclude_none=True)
def check(
    request: regression_service.RegressionRequest, home: OpenHome
) -> regression_service.RegressionCheck:
    """Hold an evaluation against a baseline: pass or fail, and why. The verdict goes into its history.

    404 if run, evaluation or baseline is unknown, 409 if the two were evaluated in different ways.
    """
    return regression_service.check_regression(home, request)


@router.get("/checks", response_model_exclude_none=True)
def list_checks(
    home: OpenHome,
    baseline: Annotated[
        str | None, Query(pattern=BASELINE_PATTERN, description="only the verdicts against this one")
    ] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> regression_service.GateCheckList:
    """The verdicts that gates gave, here and by `tunix-rt gate`, newest first, removed baselines too."""
    return regression_service.list_checks(home, baseline, limit=limit, offset=offset)
