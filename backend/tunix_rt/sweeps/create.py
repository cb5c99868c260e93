"""Load and validate a sweep before its first trial."""

import json
import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from tunix_rt.base.errors import (
    InvalidInputError,
    MissingExtraError,
    NotFoundError,
    did_you_mean,
    first_problems,
)
from tunix_rt.base.files.yaml_text import parse_yaml
from tunix_rt.base.home import Home
from tunix_rt.datasets.evalsets import named_evalset
from tunix_rt.engines.training.data import dataset_rows
from tunix_rt.recipes.keys import recipe_keys, unknown_key
from tunix_rt.recipes.load import read_values
from tunix_rt.recipes.types import Recipe
from tunix_rt.runs.submit import requested_recipe
from tunix_rt.runs.types import RunRequest
from tunix_rt.sweeps.store import SweepRepository
from tunix_rt.sweeps.types import Sweep, SweepDetail, SweepSpec

_EXAMPLE = "docs/sweeps.md shows a sweep"
_DISCRIMINATORS = ("choice", "uniform", "loguniform", "randint", "lograndint")


def load_sweep(path: Path) -> SweepSpec:
    """Read a sweep file, and the recipe file that it names relative to itself.

    Raises:
        InvalidInputError: The file is not a valid sweep.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise NotFoundError(
            f"There is no file {path}.",
            next_step="Give the path of a sweep file; training/sweeps has an example.",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(
            f"{path} cannot be read: {error}.", next_step="Give the path of a UTF-8 YAML file."
        ) from error
    values = parse_yaml(text, what=str(path), example=_EXAMPLE)
    if not isinstance(values, dict):
        raise InvalidInputError(
            f"{path} is not a mapping; a sweep has at least name, recipe, search_space and budget.",
            next_step=f"{_EXAMPLE}.",
        )
    recipe = values.get("recipe")
    if isinstance(recipe, str) and recipe.endswith((".yaml", ".yml")):
        values["recipe"] = read_values(path.parent / recipe)
    return parse_sweep(values, what=path.name)


def parse_sweep(values: Mapping[str, Any], *, what: str) -> SweepSpec:
    """Validate a sweep; the error names the keys as the file does."""
    try:
        spec = SweepSpec.model_validate(values)
    except ValidationError as error:
        problems = list(dict.fromkeys(map(_problem, error.errors(include_url=False))))
        raise InvalidInputError(
            f"{what} is not a valid sweep: {first_problems(problems)}.",
            next_step=f"Correct these keys; {_EXAMPLE} with every key.",
        ) from error
    require_recipe_keys(spec)
    return spec


def require_recipe_keys(spec: SweepSpec) -> None:
    """Refuse keys that recipes do not have, and keys that are both searched and fixed.

    Raises:
        InvalidInputError: With a suggestion for an unknown key.
    """
    known = {key.path for key in recipe_keys()}
    fixed = {text.partition("=")[0].strip() for text in spec.overrides}
    for key in spec.search_space:
        if key not in known:
            raise InvalidInputError(
                f"search_space: {unknown_key(key)}.", next_step="docs/recipes.md lists every key of a recipe."
            )
        if key in fixed or (key == "data.dataset" and spec.dataset is not None):
            raise InvalidInputError(
                f"{key} is both searched and fixed.",
                next_step="Remove it from search_space, or from dataset and overrides.",
            )


def as_override(key: str, value: JsonValue) -> str:
    """A value in the form of `--set`.

    Example:
        "lora.targets", ["q", "v"] -> 'lora.targets=["q", "v"]'
    """
    return f"{key}={json.dumps(value, ensure_ascii=False)}"


def probes(spec: SweepSpec) -> Iterator[tuple[str, JsonValue]]:
    """Values that the recipe must accept: both ends of each range and every choice, one key at a time."""
    return ((key, value) for key, space in spec.search_space.items() for value in space.ends())


def _problem(details: ErrorDetails) -> str:
    place = [str(part) for part in details["loc"] if part not in _DISCRIMINATORS]
    key = ": ".join([".".join(place[:-1]), place[-1]]) if "search_space" in place else ".".join(place)
    if details["type"] == "extra_forbidden" and len(place) == 1:
        return f"{key} is not a key. {did_you_mean(key, SweepSpec.model_fields).rstrip('.')}"
    reason = details["msg"].removeprefix("Value error, ")
    return f"{key}: {reason}" if key else reason


def has_optuna() -> bool:
    """Whether Optuna is installed."""
    return find_spec("optuna") is not None


def require_optuna() -> None:
    """Raise MissingExtraError if Optuna is not installed."""
    if not has_optuna():
        raise MissingExtraError("A sweep", extra="tune")


def create(home: Home, spec: SweepSpec, *, allows_paths: bool = False) -> SweepDetail:
    """Validate and store a sweep; it waits until it is started.

    Args:
        home: Where it is stored.
        spec: The sweep.
        allows_paths: Whether the model may be a directory on this machine: never for a client's request.

    Raises:
        MissingExtraError: Optuna is not installed.
        NotFoundError: The recipe, the dataset or the eval set does not exist.
        InvalidInputError: A key is unknown, or the recipe refuses an end of its range.
    """
    require_optuna()
    require_recipe_keys(spec)
    asked = RunRequest(recipe=spec.recipe, overrides=spec.overrides, dataset=spec.dataset, name=spec.name)
    base = requested_recipe(home.settings, asked, allows_paths=allows_paths).resolved
    dataset_rows(home.settings, base.recipe)
    if spec.eval_set is not None:
        named_evalset(home.settings, spec.eval_set)
    values = base.to_json()
    _require_metric(spec, base.recipe)
    for key, value in probes(spec):
        change = as_override(key, value)
        if key.partition(".")[0] == "model":
            request = asked.model_copy(update={"overrides": (*spec.overrides, change)})
            probed = requested_recipe(home.settings, request, allows_paths=allows_paths).resolved
        else:  # the model is that of the resolved recipe, which may be the directory of a registered one
            request = RunRequest(recipe=values, overrides=(change,))
            probed = requested_recipe(home.settings, request, allows_paths=True, is_stored=True).resolved
        _require_metric(spec, probed.recipe)
    now = datetime.now(UTC)
    sweep_id = f"{now:%Y%m%d-%H%M%S}-{spec.name}-{secrets.token_hex(2)}"
    SweepRepository(home.database).add(
        Sweep(sweep_id=sweep_id, name=spec.name, status="queued", spec=spec, recipe=values, created_at=now)
    )
    return SweepRepository(home.database).get(sweep_id)


def _require_metric(spec: SweepSpec, recipe: Recipe) -> None:
    if spec.metric == "validation_loss" and recipe.eval.every_steps is None:
        raise InvalidInputError(
            "The metric is validation_loss, but the recipe has no validation.",
            next_step="Set eval.every_steps in the recipe or in overrides, or use the metric loss.",
        )
