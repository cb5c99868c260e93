"""What all row converters share: their error, and careful reading of a row's fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from tunix_rt.core.trace import Trace, trace_from_text_steps

Row = Mapping[str, Any]


class RowError(ValueError):
    """Why one row cannot become a trace, in words for the person who owns the file."""


@dataclass(frozen=True)
class Solution:
    """A worked solution read from text, and the rule that told the answer from the steps."""

    steps: list[str]
    final_answer: str
    rule: str
    notes: dict[str, Any] = field(default_factory=dict)


def text_of(row: Row, key: str) -> str:
    """The text under `key`; a missing, empty or non-text value is a row error."""
    if key not in row:
        raise RowError(f"has no {key!r}; it has {_listed(row)}")
    value = row[key]
    if not isinstance(value, str):
        raise RowError(f"{key!r} must be text, not {kind_of(value)}")
    if not value.strip():
        raise RowError(f"{key!r} is empty")
    return value


def optional_text_of(row: Row, key: str) -> str:
    """The text under `key`, or the empty text when it is absent, null or blank."""
    value = row.get(key)
    if value is None or (isinstance(value, str) and not value.strip()):
        return ""
    return text_of(row, key)


def metadata_of(row: Row, key: str) -> dict[str, Any]:
    """The object under `key` (as JSON text in tables), or an empty one when it is absent or null."""
    value = row.get(key)
    if isinstance(value, str):
        value = parsed_json(value, key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RowError(f"{key!r} must be an object, not {kind_of(value)}")
    return dict(value)


def parsed_json(text: str, key: str) -> Any:
    """JSON held as text inside a row, as CSV and Parquet columns do."""
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise RowError(f"{key!r} is not readable JSON: {error}") from error


def rest_of(row: Row, used: Sequence[str]) -> dict[str, Any]:
    """The columns that no field of the trace was made from: they are kept in `meta`."""
    return {key: value for key, value in row.items() if key not in used and value not in (None, "")}


def solved(prompt: str, solution: Solution, meta: Mapping[str, Any]) -> Trace:
    """A trace that remembers in `meta.answer_rule` how its answer was found."""
    found = {"answer_rule": solution.rule, **solution.notes}
    return trace_from_text_steps(prompt, solution.steps, solution.final_answer, {**meta, **found})


def kind_of(value: object) -> str:
    """The JSON name of a value's type, e.g. `null` or `a list`."""
    names = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)


def _listed(row: Row, *, max_keys: int = 8) -> str:
    keys = ", ".join(repr(key) for key in list(row)[:max_keys])
    return keys + ", …" if len(row) > max_keys else keys or "no keys"
