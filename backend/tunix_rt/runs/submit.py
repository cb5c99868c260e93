"""Named recipes; check everything about a request, then queue it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue

from tunix_rt.base.assets import (
    shipped_dataset_names,
    shipped_model_names,
    shipped_recipe_names,
    shipped_recipe_path,
    shipped_tokenizer_names,
)
from tunix_rt.base.errors import DoesNotFitError, InvalidInputError, NotFoundError, did_you_mean
from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.base.home import Home
from tunix_rt.base.hub import is_hub_id
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.evalsets import named_evalset
from tunix_rt.datasets.files import dataset_keys
from tunix_rt.engines.planning.fixes import advice_of
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import CPU, LOCAL, Target, find_target
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.select import choose_engine, this_machine
from tunix_rt.engines.training.data import dataset_rows, new_run_dir, smoke_flags
from tunix_rt.engines.weights.sources import KAGGLE_PREFIX
from tunix_rt.models.find import with_registered_model
from tunix_rt.recipes.load import Flag, ResolvedRecipe, load_recipe, read_values, resolve_recipe
from tunix_rt.recipes.types import Recipe
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


def requested_recipe(settings: Settings, request: RunRequest, *, allows_paths: bool) -> RequestedRecipe:
    """Resolve the recipe of a request with its overrides.

    Args:
        settings: Where the recipes of the home are.
        request: The request.
        allows_paths: Whether the model may be a directory on this machine.

    Raises:
        NotFoundError: No recipe has this name.
        InvalidInputError: The recipe is invalid, or names a path.
    """
    flags = {} if request.dataset is None else {"data.dataset": Flag(request.dataset, "--dataset")}
    requested = _resolved(settings, request, flags)
    if request.num_smoke_steps is not None:
        smoke = smoke_flags(requested.resolved.recipe, request.num_smoke_steps, reason="--smoke-steps")
        requested = _resolved(settings, request, flags | smoke)
    if not allows_paths:
        _refuse_paths(requested.resolved.recipe, _model_names_of_file(settings, request))
    resolved = with_registered_model(settings, requested.resolved)
    return RequestedRecipe(requested.name, _with_absolute_model(resolved) if allows_paths else resolved)


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


def _with_absolute_model(resolved: ResolvedRecipe) -> ResolvedRecipe:
    """Make a model path absolute: a worker runs in another directory."""
    section = resolved.recipe.model
    if section.name in shipped_model_names() or not Path(section.name).is_dir():
        return resolved
    model = section.model_copy(update={"name": str(Path(section.name).absolute())})
    recipe = resolved.recipe.model_copy(update={"model": model})
    return resolved.model_copy(update={"recipe": recipe})


def _model_names_of_file(settings: Settings, request: RunRequest) -> list[str]:
    """The model and tokenizer of a recipe file on the server: these may be paths."""
    if isinstance(request.recipe, dict):
        return []
    section = read_values(named_recipe_path(settings, request.recipe)).get("model")
    return [name for name in section.values() if isinstance(name, str)] if isinstance(section, dict) else []


def _refuse_paths(recipe: Recipe, trusted: list[str]) -> None:
    model = recipe.model
    if model.name not in trusted:
        _require_name("model.name", model.name, shipped_model_names())
    if model.tokenizer is not None and model.tokenizer not in trusted:
        _require_name("model.tokenizer", model.tokenizer, shipped_tokenizer_names())


def _require_name(key: str, name: str, built_in: list[str]) -> None:
    is_registered = "@" in name or ":" in name
    if name in built_in or is_hub_id(name) or (is_registered and "/" not in name):
        return
    if name.startswith(KAGGLE_PREFIX) and ".." not in name:
        return
    raise InvalidInputError(
        f"{key} {name!r} is not built in, not a hub id and not a registered model.",
        next_step=f"{did_you_mean(name, built_in)} A directory can be trained from with tunix-rt train or, "
        "on the server itself, tunix-rt runs submit.",
    )


@dataclass(frozen=True)
class _Hardware:
    target: Target | None
    note: str = ""


def prepare(settings: Settings, request: RunRequest, *, allows_paths: bool = False) -> RunPreview:
    """Resolve, check and plan a request; nothing is queued.

    Args:
        settings: Where recipes, datasets and eval sets are.
        request: The request.
        allows_paths: Whether the model may be a directory on this machine: never for a client's request.

    Raises:
        NotFoundError: The recipe, the dataset, a split of it or the eval set does not exist.
        InvalidInputError: The recipe is invalid.
        MissingExtraError: The engine that must run it is not installed.
        DoesNotFitError: The plan says that it does not fit, and the request is not forced.
    """
    requested = requested_recipe(settings, request, allows_paths=allows_paths)
    require_data(settings, requested.resolved.recipe, request.eval_set)
    preview = preview_of(settings, requested, request, PlanOptions(is_fast=True))
    if preview.plan is not None and not preview.plan.fits and not request.is_forced:
        raise _refused(preview.plan)
    return preview


def preview_of(
    settings: Settings, requested: RequestedRecipe, request: RunRequest, options: PlanOptions
) -> RunPreview:
    """What a request resolves to, and its plan, whether it fits or not."""
    recipe = requested.resolved.recipe
    engine = choose_engine(request.engine, request.device, this_machine())
    hardware = _hardware(request)
    plan = None
    if hardware.target is not None:
        with_engine = replace(options, engine=engine.name)
        plan = plan_recipe(settings, recipe, hardware.target, with_engine, PlanProgress())
    return RunPreview(
        recipe_name=requested.name,
        model=recipe.model.name,
        dataset=recipe.data.dataset or "",
        mode=recipe.training.mode,
        engine=engine.name,
        engine_reason=engine.reason,
        recipe=requested.resolved.to_json(),
        plan=plan,
        notes=(hardware.note,) if hardware.note else (),
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


def _hardware(request: RunRequest) -> _Hardware:
    if request.target is not None:
        return _Hardware(find_target(request.target))
    unknown = "Not planned: set target to the hardware to plan for."
    if request.device == "tpu" or request.executor == "ray":
        return _Hardware(None, unknown)
    if request.device == "cpu":
        return _Hardware(find_target(CPU))
    local = find_target(LOCAL)
    if request.device == "gpu" and local.platform != "gpu":
        return _Hardware(None, unknown)
    return _Hardware(local)


def _refused(plan: Plan) -> DoesNotFitError:
    return DoesNotFitError(
        plan.reason,
        next_step=f"{advice_of(plan)}`tunix-rt plan` shows the figures by component; --force (is_forced) "
        "queues it anyway.",
    )


MAX_NAME_CHARS = 64


def submit(
    home: Home,
    request: RunRequest,
    *,
    sweep_id: str | None = None,
    run_id: str | None = None,
    allows_paths: bool = False,
) -> RunDetail:
    """Check and plan a request, and put it into the queue.

    Args:
        home: Where the queue is.
        request: The request.
        sweep_id: Of the sweep, if the run is a trial.
        run_id: A fixed id, for a caller that must find the run again. Default: a new one.
        allows_paths: Whether the model may be a directory on this machine: never for a client's request.

    Raises:
        ConflictError: There is a run with this id.
        TunixRTError: It cannot run: see `prepare`.
    """
    preview = prepare(home.settings, request, allows_paths=allows_paths)
    if run_id is None:
        name = (request.name or preview.recipe_name)[:MAX_NAME_CHARS]
        run_id = new_run_dir(home.settings, Path(name), None).run_id
    RunRepository(home.database).require_free(run_id)
    job_dir = JobDir(home.settings.jobs_dir / run_id)
    write_recipe(job_dir, preview.recipe)
    # The row comes last: a run in the queue always has its recipe.
    return RunRepository(home.database).add(_new_run(run_id, request, preview, sweep_id))


def write_recipe(job_dir: JobDir, recipe: Mapping[str, JsonValue]) -> None:
    """Write the resolved recipe for the engine; JSON is YAML too."""
    write_json_atomically(job_dir.recipe, recipe, what="writing the recipe of a run")


def _new_run(run_id: str, request: RunRequest, preview: RunPreview, sweep_id: str | None) -> NewRun:
    return NewRun(
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
