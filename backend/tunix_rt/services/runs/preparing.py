"""Everything about a request that can be checked before it waits in a queue."""

from dataclasses import dataclass, replace

from tunix_rt.base.assets import shipped_dataset_names
from tunix_rt.base.errors import DoesNotFitError, NotFoundError, did_you_mean
from tunix_rt.base.settings import Settings
from tunix_rt.core.runs.preview import RunPreview
from tunix_rt.core.runs.request import RunRequest
from tunix_rt.datasets.evalsets import named_evalset
from tunix_rt.datasets.files import dataset_keys
from tunix_rt.engines.planning.fixes import advice_of
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import CPU, LOCAL, Target, find_target
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.select import choose_engine, this_machine
from tunix_rt.engines.training.data import dataset_rows
from tunix_rt.recipes.types import Recipe
from tunix_rt.services.runs.recipes import AskedRecipe, asked_recipe


@dataclass(frozen=True)
class _Hardware:
    target: Target | None
    note: str = ""


def prepare(settings: Settings, request: RunRequest, *, allows_paths: bool = False) -> RunPreview:
    """Resolve, check and plan a request; nothing is queued.

    Args:
        settings: where recipes, datasets and eval sets are.
        request: what was asked for.
        allows_paths: whether the model may be a directory of this machine: never for a client's request.

    Raises:
        NotFoundError: The recipe, the dataset, a split of it or the eval set does not exist.
        InvalidInputError: The recipe says something that no recipe can say.
        MissingExtraError: The engine that must run it is not installed.
        DoesNotFitError: The plan says no, with its advice, and nobody insists.
    """
    asked = asked_recipe(settings, request, allows_paths=allows_paths)
    require_data(settings, asked.resolved.recipe, request.eval_set)
    preview = preview_of(settings, asked, request, PlanOptions(is_fast=True))
    if preview.plan is not None and not preview.plan.fits and not request.is_forced:
        raise _refused(preview.plan)
    return preview


def preview_of(
    settings: Settings, asked: AskedRecipe, request: RunRequest, options: PlanOptions
) -> RunPreview:
    """What a request resolves to and what is predicted, whether it fits or not."""
    recipe = asked.resolved.recipe
    engine = choose_engine(request.engine, request.device, this_machine())
    hardware = _hardware(request)
    plan = None
    if hardware.target is not None:
        with_engine = replace(options, engine=engine.name)
        plan = plan_recipe(settings, recipe, hardware.target, with_engine, PlanProgress())
    return RunPreview(
        recipe_name=asked.name,
        model=recipe.model.name,
        dataset=recipe.data.dataset or "",
        mode=recipe.training.mode,
        engine=engine.name,
        engine_reason=engine.reason,
        recipe=asked.resolved.to_json(),
        plan=plan,
        notes=(hardware.note,) if hardware.note else (),
    )


def require_data(settings: Settings, recipe: Recipe, eval_set: str | None) -> None:
    """Make sure that what the recipe trains on and what it is evaluated on are there.

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
    unknown = "Not planned: say for which hardware, with target."
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
        "queues it all the same.",
    )
