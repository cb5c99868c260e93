"""/api/tunix status, recipes, plans, dry run."""

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import StreamingResponse

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, OpenHome
from tunix_rt.base.http.transfers import download, spooled
from tunix_rt.base.records import Record
from tunix_rt.runs.preview import (
    RecipeDetail,
    RecipeSettingList,
    SftExport,
    SftManifest,
    SftRecipe,
    TargetList,
    TrainingStatus,
    list_settings,
    list_targets,
    plan_run,
    sft_lines,
    sft_recipe,
    show_recipe,
    training_status,
)
from tunix_rt.runs.submit import RecipeList, list_recipes, prepare, submit
from tunix_rt.runs.types import PlanRequest, RunDetail, RunPreview, RunRequest

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


tunix_router = APIRouter(
    prefix="/api/tunix", tags=["training"], responses=error_responses(), route_class=CheckedRoute
)


class TryRun(RunRequest):
    """A run that may only be tried out."""

    dry_run: bool = True
    """Check and plan it; queue nothing."""


class TriedRun(Record):
    """What a run would be or, if it was not only tried, is."""

    preview: RunPreview | None = None
    run: RunDetail | None = None


@tunix_router.get("/status")
def get_status() -> TrainingStatus:
    """Whether this server can train, and with what."""
    return training_status()


@tunix_router.get("/recipes")
def get_recipes(home: OpenHome) -> RecipeList:
    """The recipes that have a name, by name."""
    return list_recipes(home.settings)


@tunix_router.post(
    "/sft/export",
    responses=error_responses(400, 404) | {200: {"content": {"application/x-ndjson": {}}}},
    response_class=StreamingResponse,
)
def export_rows(wanted: SftExport, home: OpenHome) -> StreamingResponse:
    """Rows as they are trained on, one JSON object a line. 404 if the dataset or a trace is unknown."""
    return download(spooled(sft_lines(home, wanted)), "tunix_sft.jsonl", "application/x-ndjson")


@tunix_router.post("/sft/manifest", status_code=201, responses=error_responses(400, 404))
def make_recipe(wanted: SftManifest, home: OpenHome) -> SftRecipe:
    """A recipe for a dataset and a model. 404 if the dataset is unknown."""
    return sft_recipe(home.settings, wanted)


@tunix_router.post("/run", responses=error_responses(400, 404, 409, 501), response_model_exclude_none=True)
def try_run(asked: TryRun, home: OpenHome) -> TriedRun:
    """Check and plan a run; with `dry_run: false` queue it too, as `POST /api/tunix/runs` does.

    404 if the recipe, the dataset or the eval set is unknown, 409 with the plan's advice if it does not fit
    and is not forced, 501 if its engine is not installed.
    """
    request = RunRequest.model_validate(asked.model_dump(exclude={"dry_run"}))
    if asked.dry_run:
        return TriedRun(preview=prepare(home.settings, request))
    return TriedRun(run=submit(home, request))
