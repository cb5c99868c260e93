"""Load a recipe and apply flags, recording every override.

Precedence: defaults, then the file, then `--set` and the other flags. Two flags with different values for the
same key are rejected, because one of them would be ignored silently.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from tunix_rt.base.errors import InvalidInputError, NotFoundError, did_you_mean
from tunix_rt.base.files.yaml_text import parse_yaml
from tunix_rt.recipes.keys import recipe_error, recipe_keys, unknown_key
from tunix_rt.recipes.types import Override, Recipe

_OVERRIDES = TypeAdapter(tuple[Override, ...])


class Flag(NamedTuple):
    """A value that a command-line flag sets."""

    value: JsonValue
    reason: str
    """The flag itself, e.g. `--smoke-steps`."""


class ResolvedRecipe(BaseModel):
    """The recipe of a run, and its differences from the file."""

    model_config = ConfigDict(frozen=True)
    recipe: Recipe
    overrides: tuple[Override, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The content of `recipe.resolved.json`: every key of the recipe, and `overrides`.

        `load_recipe` reads it back.
        """
        overrides = [override.model_dump(mode="json") for override in self.overrides]
        return {**self.recipe.model_dump(mode="json"), "overrides": overrides}


def load_recipe(
    path: Path, *, sets: Sequence[str] = (), flags: Mapping[str, Flag] | None = None
) -> ResolvedRecipe:
    """Read a recipe and apply the command-line options.

    Args:
        path: a YAML recipe, or the `recipe.resolved.json` of a run.
        sets: `key=value` pairs with the value in YAML: `training.num_steps=20`, `lora.targets=[q, v]`.
        flags: dotted keys and the values of flags.

    Raises:
        InvalidInputError: The file or a flag is not valid.
    """
    return resolve_recipe(read_values(path), what=path.name, sets=sets, flags=flags)


def resolve_recipe(
    values: Mapping[str, Any],
    *,
    what: str = "the recipe",
    sets: Sequence[str] = (),
    flags: Mapping[str, Flag] | None = None,
) -> ResolvedRecipe:
    """Apply the command-line options to the values of a recipe.

    Raises:
        InvalidInputError: The recipe or a flag is not valid.
    """
    # In YAML, a section whose keys are all commented out (`eval:`) is null.
    file = _with_optimizer_as_section({key: value for key, value in values.items() if value is not None})
    try:
        overrides = list(_OVERRIDES.validate_python(file.pop("overrides", [])))
    except ValidationError as error:
        raise InvalidInputError(
            f"{what}: `overrides` is written by a run and is not a key of a recipe.",
            next_step="Remove it; docs/recipes.md lists every key.",
        ) from error
    changes = _changes(sets, flags or {})
    reasons = [f"--set {key}" if f.reason == "--set" else f.reason for key, f in changes.items()]
    source = f"{what} with {', '.join(dict.fromkeys(reasons))}" if changes else what
    recipe = validate_recipe(_applied(changes, file), what=source)
    used = recipe.model_dump(mode="json")
    defaults = {key.path: key.default for key in reversed(recipe_keys())}
    for key, flag in changes.items():
        recipe_value, used_value = _at(file, key, defaults[key]), _at(used, key, None)
        if recipe_value != used_value:
            overrides.append(
                Override(key=key, recipe_value=recipe_value, used_value=used_value, reason=flag.reason)
            )
    return ResolvedRecipe(recipe=recipe, overrides=tuple(overrides))


def validate_recipe(values: Mapping[str, Any], *, what: str = "the recipe") -> Recipe:
    """The recipe with these values; an invalid one is an `InvalidInputError` that names the keys."""
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        raise recipe_error(error, what=what) from error


def read_values(path: Path) -> dict[str, Any]:
    """The values of a recipe file, before validation."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path} is not UTF-8 text (byte {error.start}).", next_step="Save it as UTF-8 and try again."
        ) from error
    except FileNotFoundError as error:
        neighbours = [other.name for other in path.parent.glob("[!.]*.yaml")]
        hint = did_you_mean(path.name, neighbours) if neighbours else "Recipes are in training/configs."
        raise NotFoundError(f"There is no recipe {path}.", next_step=hint) from error
    except OSError as error:
        raise InvalidInputError(
            f"The recipe {path} cannot be read: {error.strerror}.", next_step="Pass the path of a YAML file."
        ) from error
    values = parse_yaml(text, what=str(path))
    if not isinstance(values, dict):
        problem = "empty" if values is None else "not a mapping of keys"
        raise InvalidInputError(
            f"{path} is {problem}; a recipe needs at least the sections model and training.",
            next_step="Start from a file in training/configs; docs/recipes.md lists every key.",
        )
    return values


def _with_optimizer_as_section(values: dict[str, Any]) -> dict[str, Any]:
    """Expand `optimizer: adafactor` to a section, so that `--set training.optimizer.…` can change it."""
    training = values.get("training")
    if isinstance(training, dict) and isinstance(training.get("optimizer"), str):
        return {**values, "training": {**training, "optimizer": {"name": training["optimizer"]}}}
    return values


def _changes(sets: Iterable[str], flags: Mapping[str, Flag]) -> dict[str, Flag]:
    """The values from the command line, one per key."""
    changes: dict[str, Flag] = {}
    for key, flag in [*map(_parsed_set, sets), *flags.items()]:
        if key in changes and changes[key].value != flag.value:
            raise InvalidInputError(
                f"{key} is given twice: {changes[key].value!r} by {changes[key].reason}, "
                f"{flag.value!r} by {flag.reason}.",
                next_step="Keep one of them.",
            )
        changes.setdefault(key, flag)
    return changes


def _parsed_set(text: str) -> tuple[str, Flag]:
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise InvalidInputError(
            f"--set {text} has no value.", next_step="Write it as --set training.num_steps=20."
        )
    return key, Flag(parse_yaml(value, what=f"--set {key}"), "--set")


def _applied(changes: Mapping[str, Flag], values: dict[str, Any]) -> dict[str, Any]:
    known = {key.path for key in recipe_keys()}
    # A section is applied before the keys inside it, in whatever order they were given.
    for key in sorted(changes, key=lambda key: key.count(".")):
        if key not in known:
            raise InvalidInputError(f"{unknown_key(key)}.", next_step="docs/recipes.md lists every key.")
        values = _with_optimizer_as_section(_with_value(values, key.split("."), changes[key].value))
    return values


def _with_value(values: Mapping[str, Any], parts: Sequence[str], value: JsonValue) -> dict[str, Any]:
    """A copy of `values` with one key changed; missing sections are added."""
    first, *rest = parts
    inner = {} if values.get(first) is None else values[first]
    if rest and isinstance(inner, dict):
        value = _with_value(inner, rest, value)
    elif rest:
        value = inner  # Not a section: validation reports it.
    return {**values, first: value}


def _at(values: Mapping[str, Any], key: str, default: Any) -> Any:
    value: Any = values
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return default
        value = value[part]
    return value
