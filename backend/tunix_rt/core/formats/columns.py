"""Rows of any shape, with a map that says which column is what."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.core.formats.rows import Row, RowError, Solution, kind_of, parsed_json, rest_of, solved, text_of
from tunix_rt.core.formats.solutions import split_solution
from tunix_rt.core.formats.steps import split_steps
from tunix_rt.core.trace import Trace, TraceStep

ColumnMap = Mapping[str, str]
"""Field of the trace (one of `FIELDS`, or `meta.NAME`) -> column of the row."""

FIELDS = ("prompt", "steps", "final_answer", "completion")
KNOWN_FIELDS = (*FIELDS, "meta.NAME")
TRACE_COLUMNS: ColumnMap = {"prompt": "prompt", "steps": "steps", "final_answer": "final_answer"}
META_PREFIX = "meta."
_JSON_LIST = re.compile(r"""\s*\[\s*["{]""")


def parse_column_map(pairs: Iterable[str]) -> dict[str, str]:
    """The column map that `FIELD=COLUMN` pairs spell out.

    Example:
        ["prompt=question", "completion=solution"] -> {"prompt": "question", "completion": "solution"}

    Raises:
        InvalidInputError: A pair has no `=`, names an unknown field, or the map cannot make a trace.
    """
    column_map: dict[str, str] = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        if not equals or not column or not _is_field(name) or name in column_map:
            raise InvalidInputError(
                f"Cannot use the column map entry {pair!r}.",
                next_step=f"Write FIELD=COLUMN, each field once. {did_you_mean(name, KNOWN_FIELDS)}",
            )
        column_map[name] = column
    if column_map:
        _require_whole_trace(column_map)
    return column_map


def require_columns(column_map: ColumnMap, columns: Iterable[str]) -> None:
    """Refuse a map that names a column which the table does not have."""
    present = list(columns)
    for column in column_map.values():
        if column not in present:
            raise InvalidInputError(
                f"There is no column {column!r}; the columns are {', '.join(present)}.",
                next_step=did_you_mean(column, present),
            )


def trace_from_columns(row: Row, column_map: ColumnMap) -> Trace:
    """A trace from the mapped columns; columns that are not mapped are kept in `meta`."""
    prompt = text_of(row, column_map["prompt"])
    meta = {**rest_of(row, list(column_map.values())), **_mapped_meta(row, column_map)}
    if "completion" in column_map:
        return solved(prompt, split_solution(text_of(row, column_map["completion"])), meta)
    answer = _scalar_text(row, column_map["final_answer"])
    steps = _steps_under(row, column_map["steps"])
    if all(isinstance(step, str) for step in steps):
        return solved(prompt, Solution([str(step) for step in steps], answer, "column"), meta)
    typed = tuple(TraceStep.model_validate(step) for step in steps)
    return Trace(prompt=prompt, steps=typed, final_answer=answer, meta={**meta, "answer_rule": "column"})


def _is_field(name: str) -> bool:
    return name in FIELDS or (name.startswith(META_PREFIX) and len(name) > len(META_PREFIX))


def _require_whole_trace(column_map: ColumnMap) -> None:
    given = {name for name in column_map if name in FIELDS}
    if given not in ({"prompt", "completion"}, {"prompt", "steps", "final_answer"}):
        raise InvalidInputError(
            f"The column map gives only {', '.join(sorted(given)) or 'meta'}: that does not make a trace.",
            next_step="Map prompt and completion, or prompt, steps and final_answer.",
        )


def _mapped_meta(row: Row, column_map: ColumnMap) -> dict[str, Any]:
    columns = {
        name.removeprefix(META_PREFIX): column
        for name, column in column_map.items()
        if name.startswith(META_PREFIX)
    }
    return {name: row[column] for name, column in columns.items() if row.get(column) not in (None, "")}


def _scalar_text(row: Row, column: str) -> str:
    value = row.get(column)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return str(value)
    return text_of(row, column)


def _steps_under(row: Row, column: str) -> list[Any]:
    """The steps as a list, as a JSON list in text, or as text to be split."""
    value = row.get(column)
    if isinstance(value, str):
        value = parsed_json(value, column) if _JSON_LIST.match(value) else split_steps(value)
    if not isinstance(value, list):
        raise RowError(f"{column!r} must be a list of steps or text, not {kind_of(value)}")
    if not value:
        raise RowError(f"{column!r} is empty")
    return value
