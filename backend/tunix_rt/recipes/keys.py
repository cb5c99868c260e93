"""The recipe keys as data for docs, error messages and suggestions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tunix_rt.base.errors import InvalidInputError, first_problems
from tunix_rt.recipes.types import MAX_COUNT, Recipe

_LIMITS = {
    "exclusiveMinimum": "above {}",
    "minimum": "at least {}",
    "exclusiveMaximum": "below {}",
    "maximum": "at most {}",
}
_TYPE_NAMES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
}


@dataclass(frozen=True)
class RecipeKey:
    """One key with its allowed values, default and meaning."""

    path: str
    """Dotted, e.g. `training.learning_rate`."""
    allowed: str
    """In words, e.g. `a number above 0`."""
    is_required: bool
    default: Any
    meaning: str
    only_with: str | None = None
    """Name of the optimizer that the key belongs to; None for all others."""
    is_section: bool = False

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


@cache
def recipe_keys() -> tuple[RecipeKey, ...]:
    """All sections and keys, in the order of the schema, a section before its keys."""
    schema = Recipe.model_json_schema()
    return tuple(_keys_of(schema, schema["$defs"], prefix="", only_with=None))


def leaf_keys() -> tuple[RecipeKey, ...]:
    """The keys that hold a value."""
    return tuple(key for key in recipe_keys() if not key.is_section)


def _keys_of(
    model: Mapping[str, Any], definitions: Mapping[str, Any], *, prefix: str, only_with: str | None
) -> Iterator[RecipeKey]:
    for name, field in model["properties"].items():
        if "const" in field:
            continue  # The name of a variant: one key for all variants, yielded with their section.
        path = f"{prefix}{name}"
        options = [field, *field.get("anyOf", ()), *field.get("oneOf", ())]
        # The models that the field may hold: none for a plain value, two for the optimizer.
        models = [definitions[option["$ref"].rpartition("/")[2]] for option in options if "$ref" in option]
        yield RecipeKey(
            path=path,
            allowed="a section of keys" if models else _in_words(field),
            is_required=name in model.get("required", ()),
            default=field.get("default"),
            meaning=field.get("description") or models[0]["description"],
            only_with=only_with,
            is_section=bool(models),
        )
        variants = [nested["properties"].get("name", {}).get("const") for nested in models]
        if any(variants):
            yield RecipeKey(
                path=f"{path}.name",
                allowed=_in_words({"enum": variants}),
                is_required=False,
                default=field["default"]["name"],
                meaning="Name of the optimizer.",
            )
        for nested, variant in zip(models, variants, strict=True):
            yield from _keys_of(nested, definitions, prefix=f"{path}.", only_with=variant)


def _in_words(field: Mapping[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_in_words(option) for option in field["anyOf"])
    if "const" in field:
        return str(field["const"])
    if "enum" in field:
        return "one of " + ", ".join(map(str, field["enum"]))
    if field["type"] == "array":
        return f"a list, each {_in_words(field['items'])}"
    if "pattern" in field:
        return f"text that matches {field['pattern']}"
    # The technical maximum is not worth printing: no recipe comes near it.
    shown = {limit: value for limit, value in field.items() if value != MAX_COUNT}
    limits = [words.format(f"{shown[limit]:,}") for limit, words in _LIMITS.items() if limit in shown]
    return " ".join([_TYPE_NAMES[field["type"]], " and ".join(limits)]).strip()


_MAX_VALUE_LETTERS = 60


def recipe_error(error: ValidationError, *, what: str) -> InvalidInputError:
    """The error for users: every problem with its dotted key and the allowed values."""
    errors = error.errors(include_url=False)
    # A list whose items are wrong is also too short: only the items are reported.
    parents = {details["loc"][:-1] for details in errors}
    reported = [
        details for details in errors if details["type"] != "too_short" or details["loc"] not in parents
    ]
    problems = list(dict.fromkeys(map(_problem, reported)))
    return InvalidInputError(
        f"{what} is not a recipe that can run: {first_problems(problems)}.",
        next_step="Correct it there or with --set KEY=VALUE; docs/recipes.md lists every key.",
    )


def unknown_key(path: str) -> str:
    """The message that a key does not exist, with the closest existing one.

    Example:
        "training.num_stepz" -> "training.num_stepz is not a key (did you mean training.num_steps?)"
    """
    optimizers = [key.only_with for key in recipe_keys() if key.path == path and key.only_with]
    if optimizers:
        return f"{path} is a key of the optimizer {' and '.join(optimizers)} only"
    section, _, name = path.rpartition(".")
    everywhere = {key.name: key.path for key in reversed(recipe_keys())}
    neighbours = {key.name: key.path for key in recipe_keys() if key.path.rpartition(".")[0] == section}
    # The same name in another section, else the most similar name, first in the same section.
    closest = everywhere.get(name)
    for candidates in (neighbours, everywhere):
        if closest is None and (close := get_close_matches(name, candidates, n=1)):
            closest = candidates[close[0]]
    if closest is not None:
        return f"{path} is not a key (did you mean {closest}?)"
    return f"{path} is not a key (known{' in ' + section if section else ''}: {', '.join(neighbours)})"


def _problem(details: ErrorDetails) -> str:
    path = _dotted(details["loc"], is_unknown=details["type"] == "extra_forbidden")
    if details["type"] == "extra_forbidden":
        return unknown_key(path)
    if details["type"] == "missing":
        return f"{path} is missing"
    if details["type"] == "value_error":
        reason = details["msg"].removeprefix("Value error, ")
        return f"{path}: {reason}" if path else reason
    if details["type"] == "union_tag_invalid":
        return f"{path}.name must be one of {details['ctx']['expected_tags']}, not {details['ctx']['tag']!r}"
    allowed = next(key.allowed for key in recipe_keys() if key.path == path)
    value = details["input"]
    if path == "lora.targets" and isinstance(value, str) and value.endswith("_proj"):
        return f"{path}: {value!r} is written {value.removesuffix('_proj')!r} here"
    if details["type"] == "less_than_equal" and details["ctx"]["le"] == MAX_COUNT:
        return f"{path} must be at most {MAX_COUNT:,}, not {value}"
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    if len(text) > _MAX_VALUE_LETTERS:
        text = f"{text[:_MAX_VALUE_LETTERS]}…"
    return f"{path} must be {allowed}, not {text}"


def _dotted(location: tuple[int | str, ...], *, is_unknown: bool) -> str:
    """The key of an error, without what pydantic adds: names of union members, places in lists.

    Example:
        ("training", "optimizer", "adamw", "beta1") -> "training.optimizer.beta1"
    """
    known = {key.path for key in recipe_keys()}
    path = ""
    for place, part in enumerate(location):
        longer = f"{path}.{part}".lstrip(".")
        if longer in known or (is_unknown and place == len(location) - 1):
            path = longer
    return path
