"""File and flags to the resolved recipe, with every override recorded.

Precedence: defaults, then the file, then `--set` and the other flags. Two of those that ask for different
values of one key are refused, because one of them would lose in silence.
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
    """A value that a command-line flag gives to a key of the recipe."""

    value: JsonValue
    reason: str
    """The flag itself, e.g. `--smoke-steps`."""


class ResolvedRecipe(BaseModel):
    """The recipe that runs, and how it differs from the file."""

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
    """Read a recipe and apply what the command line says.

    Args:
        path: a YAML recipe, or the `recipe.resolved.json` of a run.
        sets: `key=value` each, the value in YAML: `training.num_steps=20`, `lora.targets=[q, v]`.
        flags: dotted key to the value of a flag.

    Raises:
        InvalidInputError: The file or a flag says something that no recipe can say.
    """
    return resolve_recipe(read_values(path), what=path.name, sets=sets, flags=flags)


def resolve_recipe(
    values: Mapping[str, Any],
    *,
    what: str = "the recipe",
    sets: Sequence[str] = (),
    flags: Mapping[str, Flag] | None = None,
) -> ResolvedRecipe:
    """The same, of a recipe that was read already.

    Raises:
        InvalidInputError: The recipe or a flag says something that no recipe can say.
    """
    # `eval:` with nothing under it is how YAML spells a section of which every key is commented out.
    file = _with_optimizer_as_section({key: value for key, value in values.items() if value is not None})
    earlier = _earlier_overrides(file.pop("overrides", []), what)
    changes = _changes(sets, flags or {})
    changed = _applied(changes, file)
    recipe = validate_recipe(changed, what=f"{what} with {_reasons(changes)}" if changes else what)
    used = recipe.model_dump(mode="json")
    new = (_override(key, flag, file, used) for key, flag in changes.items())
    return ResolvedRecipe(recipe=recipe, overrides=(*earlier, *(override for override in new if override)))


def validate_recipe(values: Mapping[str, Any], *, what: str = "the recipe") -> Recipe:
    """The recipe that these values spell, or an error in its own words."""
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        raise recipe_error(error, what=what) from error


def read_values(path: Path) -> dict[str, Any]:
    """What the file of a recipe says, before it is checked."""
    values = parse_yaml(_read_text(path), what=str(path))
    if not isinstance(values, dict):
        found = "empty" if values is None else "not a mapping of keys"
        raise InvalidInputError(
            f"{path} is {found}; a recipe has at least the sections model and training.",
            next_step="Start from a file in training/configs; docs/recipes.md lists every key.",
        )
    return values


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path} is not UTF-8 text (byte {error.start}).", next_step="Save it as UTF-8 and run it again."
        ) from error
    except FileNotFoundError as error:
        neighbours = [found.name for found in path.parent.glob("[!.]*.yaml")]
        hint = did_you_mean(path.name, neighbours) if neighbours else "training/configs holds recipes."
        raise NotFoundError(f"There is no recipe {path}.", next_step=hint) from error
    except OSError as error:
        raise InvalidInputError(
            f"The recipe {path} cannot be read: {error.strerror}.", next_step="Give the path of a YAML file."
        ) from error


def _with_optimizer_as_section(values: dict[str, Any]) -> dict[str, Any]:
    """Spell `optimizer: adafactor` out, so that `--set training.optimizer.…` has a section to go to."""
    training = values.get("training")
    if isinstance(training, dict) and isinstance(training.get("optimizer"), str):
        return {**values, "training": {**training, "optimizer": {"name": training["optimizer"]}}}
    return values


def _earlier_overrides(value: Any, what: str) -> tuple[Override, ...]:
    try:
        return _OVERRIDES.validate_python(value)
    except ValidationError as error:
        raise InvalidInputError(
            f"{what}: `overrides` is written by a run and is not a key of a recipe.",
            next_step="Remove it; docs/recipes.md lists every key.",
        ) from error


def _changes(sets: Iterable[str], flags: Mapping[str, Flag]) -> dict[str, Flag]:
    """All that the command line asks for, one value a key."""
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
    # A section goes before the keys inside it, in whichever order they were typed.
    for key in sorted(changes, key=lambda key: key.count(".")):
        if key not in known:
            raise InvalidInputError(f"{unknown_key(key)}.", next_step="docs/recipes.md lists every key.")
        values = _with_optimizer_as_section(_with_value(values, key.split("."), changes[key].value))
    return values


def _with_value(values: Mapping[str, Any], parts: Sequence[str], value: JsonValue) -> dict[str, Any]:
    """A copy of `values` with one key changed; sections on the way appear when they are absent."""
    first, *rest = parts
    inner = {} if values.get(first) is None else values[first]
    if rest and isinstance(inner, dict):
        value = _with_value(inner, rest, value)
    elif rest:
        value = inner  # No section: the schema will say so.
    return {**values, first: value}


def _override(
    key: str, flag: Flag, file_values: Mapping[str, Any], used_values: Mapping[str, Any]
) -> Override | None:
    default = next(known.default for known in recipe_keys() if known.path == key)
    recipe_value = _at(file_values, key, default)
    used_value = _at(used_values, key, None)
    if recipe_value == used_value:
        return None
    return Override(key=key, recipe_value=recipe_value, used_value=used_value, reason=flag.reason)


def _at(values: Mapping[str, Any], key: str, default: Any) -> Any:
    found: Any = values
    for part in key.split("."):
        if not isinstance(found, dict) or part not in found:
            return default
        found = found[part]
    return found


def _reasons(changes: Mapping[str, Flag]) -> str:
    return ", ".join(
        dict.fromkeys(f"--set {key}" if f.reason == "--set" else f.reason for key, f in changes.items())
    )
