"""What is wrong with a recipe, in the words of the recipe."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tunix_rt.base.errors import InvalidInputError, first_problems
from tunix_rt.config.recipe_keys import RecipeKey, recipe_keys

_MAX_VALUE_LETTERS = 60


def recipe_error(error: ValidationError, *, what: str) -> InvalidInputError:
    """The error that a person sees: every problem with its dotted key and what is allowed there."""
    problems = list(dict.fromkeys(_problem(details) for details in error.errors(include_url=False)))
    return InvalidInputError(
        f"{what} is not a recipe that can run: {first_problems(problems)}.",
        next_step="Correct it there or with --set KEY=VALUE; docs/recipes.md lists every key.",
    )


def unknown_key(path: str) -> str:
    """Say that a key does not exist, and which one may have been meant.

    Example:
        "training.num_stepz" -> "training.num_stepz is not a key (did you mean training.num_steps?)"
    """
    optimizers = [key.only_with for key in recipe_keys() if key.path == path and key.only_with]
    if optimizers:
        return f"{path} is a key of the optimizer {' and '.join(optimizers)} only"
    meant = _meant(path, recipe_keys())
    if meant is not None:
        return f"{path} is not a key (did you mean {meant}?)"
    section = path.rpartition(".")[0]
    names = [key.name for key in recipe_keys() if key.path.rpartition(".")[0] == section]
    return f"{path} is not a key (known{' in ' + section if section else ''}: {', '.join(names)})"


def _meant(path: str, keys: Iterable[RecipeKey]) -> str | None:
    """The nearest key: among its neighbours first, then anywhere in the recipe."""
    section, _, name = path.rpartition(".")
    keys = tuple(keys)
    everywhere = {key.name: key.path for key in reversed(keys)}
    neighbours = {key.name: key.path for key in keys if key.path.rpartition(".")[0] == section}
    if name in everywhere:
        return everywhere[name]
    for candidates in (neighbours, everywhere):
        close = get_close_matches(name, candidates, n=1)
        if close:
            return candidates[close[0]]
    return None


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
    return f"{path} must be {allowed}, not {_shown(details['input'])}"


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


def _shown(value: Any) -> str:
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _MAX_VALUE_LETTERS else f"{text[:_MAX_VALUE_LETTERS]}…"
