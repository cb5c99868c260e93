"""Frozen record base class, storable text types, pagination, dotted keys, readable validation errors."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

Count = Annotated[int, Field(ge=0)]


class Frozen(BaseModel):
    """Closed and frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Record(Frozen):
    """Closed and frozen; unknown values are left out, never written as null."""

    model_config = ConfigDict(allow_inf_nan=False)

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON values."""
        return self.model_dump(mode="json", exclude_none=True)


LONE_SURROGATE = "contains a lone surrogate, which UTF-8 cannot encode; remove it"


TEXT_PATTERN = r"^[^\x00]*[^\s\x00][^\x00]*$"
"""Text that is not blank and has no NUL, which PostgreSQL cannot store."""
_PLAIN_REASONS = {
    "string_pattern_mismatch": "is empty, only white space, or contains a NUL character",
    "string_unicode": LONE_SURROGATE,
    "tuple_type": "must be a list",
    "model_type": "must be an object",
}


def _storable_text(text: str) -> str:
    """Refuse text that PostgreSQL or UTF-8 cannot store."""
    if "\x00" in text:
        raise ValueError("contains a NUL character; remove it")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(LONE_SURROGATE) from error
    return text


def unstorable_reason(value: object) -> str | None:
    """Why a JSON value cannot be stored in every database and file; None if it can.

    Example:
        {"name": ["a NUL"]} -> "contains a NUL character; remove it"; 1.5 -> None
    """
    remaining = [value]
    while remaining:
        item = remaining.pop()
        if isinstance(item, Mapping):
            remaining += [*item, *item.values()]
        elif isinstance(item, list | tuple):
            remaining += item
        elif isinstance(item, float) and not math.isfinite(item):
            return "contains a number that is not finite; JSON has none"
        elif isinstance(item, str):
            try:
                _storable_text(item)
            except ValueError as error:
                return str(error)
    return None


StorableText = Annotated[str, AfterValidator(_storable_text)]
Text = Annotated[str, Field(min_length=1, pattern=TEXT_PATTERN)]


def explain_validation_error(error: ValidationError, *, whole: str = "trace") -> str:
    """One line that names each bad field and why, e.g. `prompt: Field required`."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return explain_problems(problems, whole=whole)


def explain_problems(
    problems: Sequence[Mapping[str, Any]], *, whole: str = "trace", max_problems: int = 3
) -> str:
    """`explain_validation_error` for pydantic's list of problems; `whole` names the validated object."""
    reasons = [
        f"{'.'.join(map(str, problem['loc'])) or whole}: {_reason(problem)}"
        for problem in problems[:max_problems]
    ]
    num_hidden = len(problems) - max_problems
    return "; ".join(reasons) + (f"; and {num_hidden} more" if num_hidden > 0 else "")


def _reason(problem: Mapping[str, Any]) -> str:
    # A regular expression explains nothing to users; only ours is known to mean "text".
    if problem["type"] == "string_pattern_mismatch" and TEXT_PATTERN not in str(problem["msg"]):
        return str(problem["msg"])
    return _PLAIN_REASONS.get(problem["type"], str(problem["msg"]).removeprefix("Value error, "))


MAX_FILTER_CHARS = 256
Word = Annotated[StorableText, Field(max_length=MAX_FILTER_CHARS)]


def flat(value: object, prefix: str = "") -> dict[str, object]:
    """Flatten nested mappings into dotted keys.

    Example:
        {"a": {"b": 1}, "c": [2]} -> {"a.b": 1, "c": [2]}
    """
    if not isinstance(value, dict):
        return {prefix.rstrip("."): value}
    pairs = [flat(inner, f"{prefix}{key}.") for key, inner in value.items()]
    return {key: inner for pair in pairs for key, inner in pair.items()}


def differences(stated: object, again: object) -> Iterator[tuple[str, object, object]]:
    """Yield key, first and second value where two nested values differ; None where a key is missing.

    Floats may differ in the last digits, because processors add in different orders.
    """
    left, right = flat(stated), flat(again)
    for key in sorted(left.keys() | right.keys()):
        if not _is_same(left.get(key), right.get(key)):
            yield key, left.get(key), right.get(key)


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other


Seconds = Annotated[float, Field(ge=0)]


class Pagination(BaseModel):
    """The position of a page in its list."""

    model_config = ConfigDict(frozen=True)
    limit: int
    offset: int
    total: int
    total_is_exact: bool
    """False when there are more than `total`: counting stops at a bound."""
    next_offset: int | None = None
    """Offset of the next page; absent on the last page."""


def pagination(limit: int, offset: int, num_shown: int, total: int) -> Pagination:
    """The pagination of a list whose total is exact."""
    end = offset + num_shown
    next_offset = end if num_shown and end < total else None
    return Pagination(limit=limit, offset=offset, next_offset=next_offset, total=total, total_is_exact=True)
