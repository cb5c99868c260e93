"""A sweep is created: everything that can be wrong with it is found now, not in the seventh trial."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import Home
from tunix_rt.config.sweep_spec import as_override, probes, require_recipe_keys
from tunix_rt.core.sweeps.spec import SweepSpec
from tunix_rt.core.sweeps.sweep import Sweep, SweepDetail
from tunix_rt.datasets.evalsets import named_evalset
from tunix_rt.db.sweeps import SweepRepository
from tunix_rt.engines.training.data import dataset_rows
from tunix_rt.recipes.load import resolve_recipe
from tunix_rt.recipes.types import Recipe
from tunix_rt.runs.submit import asked_recipe
from tunix_rt.runs.types import RunRequest
from tunix_rt.services.sweeps.extra import require_optuna


def create(home: Home, spec: SweepSpec, *, allows_paths: bool = False) -> SweepDetail:
    """Check a sweep and store it; it waits until it is started.

    Args:
        home: where it is kept.
        spec: what is asked for.
        allows_paths: whether the model may be a directory of this machine: never for a client's request.

    Raises:
        MissingExtraError: Optuna is not installed.
        NotFoundError: The recipe, the dataset or the eval set does not exist.
        InvalidInputError: A key does not exist, or the recipe does not take an end of its range.
    """
    require_optuna()
    require_recipe_keys(spec)
    base = asked_recipe(home.settings, _base_request(spec), allows_paths=allows_paths).resolved
    dataset_rows(home.settings, base.recipe)
    if spec.eval_set is not None:
        named_evalset(home.settings, spec.eval_set)
    values = base.to_json()
    _require_metric(spec, base.recipe)
    for probe in probes(spec):
        _require_metric(spec, _probed(home, values, probe, allows_paths=allows_paths))
    now = datetime.now(UTC)
    sweep_id = f"{now:%Y%m%d-%H%M%S}-{spec.name}-{secrets.token_hex(2)}"
    SweepRepository(home.database).add(
        Sweep(sweep_id=sweep_id, name=spec.name, status="queued", spec=spec, recipe=values, created_at=now)
    )
    return SweepRepository(home.database).get(sweep_id)


def trial_recipe(recipe: Mapping[str, JsonValue], params: Mapping[str, JsonValue]) -> Recipe:
    """The recipe of a trial.

    Raises:
        InvalidInputError: The recipe does not take these values.
    """
    sets = [as_override(key, value) for key, value in params.items()]
    return resolve_recipe(recipe, what="the sweep's recipe", sets=sets).recipe


def _base_request(spec: SweepSpec) -> RunRequest:
    return RunRequest(recipe=spec.recipe, overrides=spec.overrides, dataset=spec.dataset, name=spec.name)


def _probed(
    home: Home, recipe: dict[str, JsonValue], probe: Mapping[str, JsonValue], *, allows_paths: bool
) -> Recipe:
    sets = tuple(as_override(key, value) for key, value in probe.items())
    request = RunRequest(recipe=recipe, overrides=sets)
    return asked_recipe(home.settings, request, allows_paths=allows_paths).resolved.recipe


def _require_metric(spec: SweepSpec, recipe: Recipe) -> None:
    if spec.metric == "validation_loss" and recipe.eval.every_steps is None:
        raise InvalidInputError(
            "The metric is validation_loss, but the recipe never validates.",
            next_step="Set eval.every_steps in the recipe or with overrides, or choose the metric loss.",
        )
