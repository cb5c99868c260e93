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
    """The hardware that a run can be planned for, this machine first."""
    return list_targets()


@router.get("/recipe-settings")
def get_recipe_settings() -> RecipeSettingList:
    """Every key of a recipe: allowed values, default and meaning."""
    return list_settings()


@router.get("/recipes/{name}", responses=error_responses(404))
def get_recipe(name: Annotated[str, Path(max_length=200)], home: OpenHome) -> RecipeDetail:
    """A recipe as it was written, and with all defaults. 404 if unknown."""
    return show_recipe(home.settings, name)


@router.post("/plans", responses=error_responses(400, 404, 501), response_model_exclude_none=True)
def make_plan(request: PlanRequest, home: OpenHome) -> RunPreview:
    """Plan a run: memory by component, time, and the cheapest changes that make it fit. Queues nothing.

    404 if the recipe, the dataset or the eval set is unknown, 501 if its engine is not installed.
    """
    return plan_run(home.settings, request)


tunix_router = APIRouter(
    prefix="/api/tunix", tags=["training"], responses=error_responses(), route_class=CheckedRoute
)


class TryRun(RunRequest):
    """A run request that is a dry run by default."""

    dry_run: bool = True
    """Only check and plan it."""


class TriedRun(Record):
    """The preview of a dry run, or the queued run."""

    preview: RunPreview | None = None
    run: RunDetail | None = None


@tunix_router.get("/status")
def get_status() -> TrainingStatus:
    """Whether this server can train, and with which engines."""
    return training_status()


@tunix_router.get("/recipes")
def get_recipes(home: OpenHome) -> RecipeList:
    """The named recipes, sorted by name."""
    return list_recipes(home.settings)


@tunix_router.post(
    "/sft/export",
    responses=error_responses(400, 404) | {200: {"content": {"application/x-ndjson": {}}}},
    response_class=StreamingResponse,
)
def export_rows(request: SftExport, home: OpenHome) -> StreamingResponse:
    """Training rows, one JSON object per line. 404 if the dataset or a trace is unknown."""
    return download(spooled(sft_lines(home, request)), "tunix_sft.jsonl", "application/x-ndjson")


@tunix_router.post("/sft/manifest", status_code=201, responses=error_responses(400, 404))
def make_recipe(request: SftManifest, home: OpenHome) -> SftRecipe:
    """A recipe for a dataset and a model. 404 if the dataset is unknown."""
    return sft_recipe(home.settings, request)


@tunix_router.post("/run", responses=error_responses(400, 404, 409, 501), response_model_exclude_none=True)
def try_run(body: TryRun, home: OpenHome) -> TriedRun:
    """Check and plan a run; with `dry_run: false`, also queue it like `POST /api/tunix/runs`.

    404 if the recipe, the dataset or the eval set is unknown, 409 with the plan's advice if it does not fit
    and is not forced, 501 if its engine is not installed.
    """
    request = RunRequest.model_validate(body.model_dump(exclude={"dry_run"}))
    if body.dry_run:
        return TriedRun(preview=prepare(home.settings, request))
    return TriedRun(run=submit(home, request))
