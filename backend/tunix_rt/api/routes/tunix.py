"""Training in a few words: what is installed, rows to train on, a recipe, a dry run."""

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, OpenHome
from tunix_rt.base.http.transfers import download, spooled
from tunix_rt.base.records import Record
from tunix_rt.core.runs.preview import RunPreview
from tunix_rt.core.runs.request import RunRequest
from tunix_rt.core.runs.run import RunDetail
from tunix_rt.services.runs.preparing import prepare
from tunix_rt.services.runs.recipes import RecipeList, list_recipes
from tunix_rt.services.runs.sft import (
    SftExport,
    SftManifest,
    SftRecipe,
    TrainingStatus,
    sft_lines,
    sft_recipe,
    training_status,
)
from tunix_rt.services.runs.submitting import submit

router = APIRouter(
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


@router.get("/status")
def get_status() -> TrainingStatus:
    """Whether this server can train, and with what."""
    return training_status()


@router.get("/recipes")
def get_recipes(home: OpenHome) -> RecipeList:
    """The recipes that have a name, by name."""
    return list_recipes(home.settings)


@router.post(
    "/sft/export",
    responses=error_responses(400, 404) | {200: {"content": {"application/x-ndjson": {}}}},
    response_class=StreamingResponse,
)
def export_rows(wanted: SftExport, home: OpenHome) -> StreamingResponse:
    """Rows as they are trained on, one JSON object a line. 404 if the dataset or a trace is unknown."""
    return download(spooled(sft_lines(home, wanted)), "tunix_sft.jsonl", "application/x-ndjson")


@router.post("/sft/manifest", status_code=201, responses=error_responses(400, 404))
def make_recipe(wanted: SftManifest, home: OpenHome) -> SftRecipe:
    """A recipe for a dataset and a model. 404 if the dataset is unknown."""
    return sft_recipe(home.settings, wanted)


@router.post("/run", responses=error_responses(400, 404, 409, 501), response_model_exclude_none=True)
def try_run(asked: TryRun, home: OpenHome) -> TriedRun:
    """Check and plan a run; with `dry_run: false` queue it too, as `POST /api/tunix/runs` does.

    404 if the recipe, the dataset or the eval set is unknown, 409 with the plan's advice if it does not fit
    and is not forced, 501 if its engine is not installed.
    """
    request = RunRequest.model_validate(asked.model_dump(exclude={"dry_run"}))
    if asked.dry_run:
        return TriedRun(preview=prepare(home.settings, request))
    return TriedRun(run=submit(home, request))
