"""Named recipes; check everything about a request, then queue it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from tunix_rt.base.assets import (
    shipped_dataset_names,
    shipped_recipe_names,
    shipped_recipe_path,
)
from tunix_rt.base.errors import DoesNotFitError, InvalidInputError, NotFoundError, did_you_mean
from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.base.home import Home
from tunix_rt.base.records import unstorable_reason
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.evalsets import named_evalset
from tunix_rt.datasets.files import dataset_keys
from tunix_rt.engines.planning.fixes import advice_of
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import CPU, LOCAL, Target, find_target
from tunix_rt.engines.select import choose_engine, this_machine
from tunix_rt.engines.training.data import dataset_rows, new_run_dir, smoke_flags
from tunix_rt.engines.weights.sources import with_absolute_paths
from tunix_rt.models.client_names import require_client_section
from tunix_rt.models.find import with_registered_model
from tunix_rt.recipes.load import Flag, ResolvedRecipe, load_recipe, read_values, resolve_recipe
from tunix_rt.recipes.types import ModelSection, Recipe
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import NewRun, RunDetail, RunPreview, RunRequest

_ENDING = ".yaml"
UNNAMED = "run"
"""The name of an inline recipe without one."""


@dataclass(frozen=True)
class RequestedRecipe:
    """The recipe of a request."""

    name: str
    resolved: ResolvedRecipe


class NamedRecipe(BaseModel):
    """A recipe that has a name."""

    model_config = ConfigDict(frozen=True)
    name: str
    is_shipped: bool
    """Part of the package; otherwise in the home directory."""


class RecipeList(BaseModel):
    """The named recipes, sorted by name."""

    model_config = ConfigDict(frozen=True)
    data: tuple[NamedRecipe, ...]


def list_recipes(settings: Settings) -> RecipeList:
    """The shipped recipes and those of the home."""
    paths = sorted(recipe_paths(settings).items())
    own = settings.recipes_dir
    return RecipeList(
        data=tuple(NamedRecipe(name=name, is_shipped=path.parent != own) for name, path in paths)
    )


def recipe_paths(settings: Settings) -> dict[str, Path]:
    """The named recipes and their files. A recipe of the home hides a shipped one of the same name."""
    own = {path.stem: path for path in sorted(settings.recipes_dir.glob(f"*{_ENDING}"))}
    return {name: shipped_recipe_path(name) for name in shipped_recipe_names()} | own


def requested_recipe(
    settings: Settings, request: RunRequest, *, allows_paths: bool, is_stored: bool = False
) -> RequestedRecipe:
    """Resolve the recipe of a request with its overrides.

    Args:
        settings: Where the recipes of the home are.
        request: The request.
        allows_paths: Whether the model may be a directory on this machine.
        is_stored: Whether the request was checked when it was stored: its directories are absolute.

    Raises:
        NotFoundError: No recipe has this name.
        InvalidInputError: The recipe is invalid, or names a path.
    """
    _require_storable(request.model_dump())
    flags = {} if request.dataset is None else {"data.dataset": Flag(request.dataset, "--dataset")}
    requested = _resolved(settings, request, flags)
    if request.num_smoke_steps is not None:
        smoke = smoke_flags(requested.resolved.recipe, request.num_smoke_steps, reason="--smoke-steps")
        requested = _resolved(settings, request, flags | smoke)
    resolved = requested.resolved
    _require_storable(resolved.to_json())  # an override in YAML may hide an escaped character
    if not allows_paths:
        trusted = _stored_section(settings, request)
        require_client_section(settings, resolved.recipe.model, trusted=trusted)
    elif not is_stored:
        resolved = with_absolute_paths(resolved)  # a worker runs in another directory
    return RequestedRecipe(requested.name, with_registered_model(settings, resolved))


def _require_storable(value: object) -> None:
    if (reason := unstorable_reason(value)) is not None:
        raise InvalidInputError(f"The request {reason}.", next_step="Correct the recipe, overrides or names.")


def _resolved(settings: Settings, request: RunRequest, flags: dict[str, Flag]) -> RequestedRecipe:
    if isinstance(request.recipe, dict):
        resolved = resolve_recipe(request.recipe, sets=request.overrides, flags=flags)
        return RequestedRecipe(request.name or UNNAMED, resolved)
    path = named_recipe_path(settings, request.recipe)
    return RequestedRecipe(path.stem, load_recipe(path, sets=request.overrides, flags=flags))


def named_recipe_path(settings: Settings, recipe: str) -> Path:
    """The file of the recipe with this name, or NotFoundError."""
    # Looked up, never made into a path: a name cannot point elsewhere.
    paths, name = recipe_paths(settings), recipe.removesuffix(_ENDING)
    if name not in paths:
        raise NotFoundError(f"There is no recipe {name!r}.", next_step=did_you_mean(name, paths))
    return paths[name]


def _stored_section(settings: Settings, request: RunRequest) -> ModelSection | None:
    """The model section of a recipe that is stored on the server: it may name paths."""
    if not isinstance(request.recipe, str):
        return None
    section = read_values(named_recipe_path(settings, request.recipe)).get("model")
    try:
        return ModelSection.model_validate(section)
    except ValidationError:  # an override completes it
        return None


def prepare(
    settings: Settings, request: RunRequest, *, allows_paths: bool = False, is_stored: bool = False
) -> RunPreview:
    """Resolve, check and plan a request; nothing is queued.

    Args:
        settings: Where recipes, datasets and eval sets are.
        request: The request.
        allows_paths: Whether the model may be a directory on this machine: never for a client's request.
        is_stored: Whether the request was checked when it was stored: its directories are absolute.

    Raises:
        NotFoundError: The recipe, the dataset, a split of it or the eval set does not exist.
        InvalidInputError: The recipe is invalid.
        MissingExtraError: The engine that must run it is not installed.
        DoesNotFitError: The plan says that it does not fit, and the request is not forced.
    """
    requested = requested_recipe(settings, request, allows_paths=allows_paths, is_stored=is_stored)
    require_data(settings, requested.resolved.recipe, request.eval_set)
    preview = preview_of(settings, requested, request, PlanOptions(is_fast=True))
    if preview.plan is not None and not preview.plan.fits and not request.is_forced:
        raise DoesNotFitError(
            preview.plan.reason,
            next_step=f"{advice_of(preview.plan)}`tunix-rt plan` shows the figures by component; --force "
            "(is_forced) queues it anyway.",
        )
    return preview


def preview_of(
    settings: Settings, requested: RequestedRecipe, request: RunRequest, options: PlanOptions
) -> RunPreview:
    """What a request resolves to, and its plan, whether it fits or not."""
    recipe = requested.resolved.recipe
    engine = choose_engine(request.engine, request.device, this_machine())
    target, plan = _target(request), None
    if target is not None:
        with_engine = replace(options, engine=engine.name)
        plan = plan_recipe(settings, recipe, target, with_engine, PlanProgress())
    return RunPreview(
        recipe_name=requested.name,
        model=recipe.model.name,
        dataset=recipe.data.dataset or "",
        mode=recipe.training.mode,
        engine=engine.name,
        engine_reason=engine.reason,
        recipe=requested.resolved.to_json(),
        plan=plan,
        notes=() if target is not None else ("Not planned: set target to the hardware to plan for.",),
    )


def require_data(settings: Settings, recipe: Recipe, eval_set: str | None) -> None:
    """Require the dataset of the recipe and the eval set.

    Raises:
        NotFoundError: The dataset, a split of it or the eval set does not exist.
        InvalidInputError: The recipe names no dataset.
    """
    try:
        dataset_rows(settings, recipe)
    except NotFoundError as error:
        known = [*dataset_keys(settings.datasets_dir), *shipped_dataset_names()]
        if recipe.data.dataset is not None and recipe.data.dataset not in known:
            error.next_step = f"{did_you_mean(recipe.data.dataset, known)} {error.next_step}"
        raise
    if eval_set is not None:
        named_evalset(settings, eval_set)


def _target(request: RunRequest) -> Target | None:
    """The hardware to plan for; None if it is unknown."""
    if request.target is not None:
        return find_target(request.target)
    if request.device == "tpu" or request.executor == "ray":
        return None
    local = find_target(CPU if request.device == "cpu" else LOCAL)
    return None if request.device == "gpu" and local.platform != "gpu" else local


MAX_NAME_CHARS = 64


def submit(
    home: Home,
    request: RunRequest,
    *,
    sweep_id: str | None = None,
    run_id: str | None = None,
    allows_paths: bool = False,
    is_stored: bool = False,
) -> RunDetail:
    """Check and plan a request, and put it into the queue.

    Args:
        home: Where the queue is.
        request: The request.
        sweep_id: Of the sweep, if the run is a trial.
        run_id: A fixed id, for a caller that must find the run again. Default: a new one.
        allows_paths: Whether the model may be a directory on this machine: never for a client's request.
        is_stored: Whether the request was checked when it was stored: its directories are absolute.

    Raises:
        ConflictError: There is a run with this id.
        TunixRTError: It cannot run: see `prepare`.
    """
    preview = prepare(home.settings, request, allows_paths=allows_paths, is_stored=is_stored)
    if run_id is None:
        name = (request.name or preview.recipe_name)[:MAX_NAME_CHARS]
        run_id = new_run_dir(home.settings, Path(name), None).run_id
    RunRepository(home.database).require_free(run_id)
    job_dir = JobDir(home.settings.jobs_dir / run_id)
    write_recipe(job_dir, preview.recipe)
    # The row comes last: a run in the queue always has its recipe.
    new = NewRun(
        run_id=run_id,
        request=request,
        recipe_name=preview.recipe_name,
        model=preview.model,
        dataset=preview.dataset,
        mode=preview.mode,
        engine=preview.engine,
        sweep_id=sweep_id,
        recipe=preview.recipe,
        plan=None if preview.plan is None else preview.plan.model_dump(mode="json", exclude_none=True),
    )
    return RunRepository(home.database).add(new)


def write_recipe(job_dir: JobDir, recipe: Mapping[str, JsonValue]) -> None:
    """Write the resolved recipe for the engine; JSON is YAML too."""
    write_json_atomically(job_dir.recipe, recipe, what="writing the recipe of a run")
