"""Plans: on which hardware, with which recipe and settings, and whether it fits."""

from typing import Annotated

from fastapi import APIRouter, Path

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, OpenHome
from tunix_rt.core.runs.plan_request import PlanRequest
from tunix_rt.core.runs.preview import RunPreview
from tunix_rt.services.runs.plans import TargetList, list_targets, plan_run
from tunix_rt.services.runs.recipe_details import RecipeDetail, RecipeSettingList, list_settings, show_recipe

router = APIRouter(prefix="/api/tunix", tags=["plans"], responses=error_responses(), route_class=CheckedRoute)


@router.get("/targets")
def get_targets() -> TargetList:
    """The hardware that a plan can be for, this machine's own first."""
    return list_targets()


@router.get("/recipe-settings")
def get_recipe_settings() -> RecipeSettingList:
    """Every key of a recipe: what it may be, its default and what it means."""
    return list_settings()


@router.get("/recipes/{name}", responses=error_responses(404))
def get_recipe(name: Annotated[str, Path(max_length=200)], home: OpenHome) -> RecipeDetail:
    """A recipe as it was written, and every value that it has. 404 if unknown."""
    return show_recipe(home.settings, name)


@router.post("/plans", responses=error_responses(400, 404, 501), response_model_exclude_none=True)
def make_plan(request: PlanRequest, home: OpenHome) -> RunPreview:
    """Plan a run: memory by component, time, and the cheapest changes that make it fit; nothing is queued.

    404 if the recipe, the dataset or the eval set is unknown, 501 if its engine is not installed.
    """
    return plan_run(home.settings, request)
