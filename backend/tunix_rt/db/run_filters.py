"""Filters of runs as SQL."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import Column, ColumnElement, Text, bindparam, func, or_

from tunix_rt.base.db.schema import runs
from tunix_rt.core.runs.store_types import RunFilter

_EQUAL = ("dataset", "mode", "engine", "sweep_id")
_SEARCHED = ("id", "recipe_name", "model", "dataset")
_ESCAPE = "/"


class FilterShape(NamedTuple):
    """What a filter asks for, without the values: those of one shape are one statement."""

    names: tuple[str, ...]
    num_statuses: int

    @property
    def is_search(self) -> bool:
        """Whether words are looked for, which no index helps to find."""
        return "text" in self.names or "model" in self.names


def shape_of(criteria: RunFilter) -> FilterShape:
    """What stands in the filter."""
    names = (*_EQUAL, "model", "text")
    given = tuple(name for name in names if getattr(criteria, name) is not None)
    return FilterShape(given, len(criteria.status))


def values_of(criteria: RunFilter) -> dict[str, str]:
    """The parameters of the conditions of its shape."""
    values = {name: getattr(criteria, name) for name in shape_of(criteria).names}
    for name in {"model", "text"} & values.keys():
        values[name] = _pattern(values[name])
    return values | {f"status_{n}": status for n, status in enumerate(criteria.status)}


def run_conditions(shape: FilterShape, *, dialect: str) -> Iterator[ColumnElement[bool]]:
    """What must hold of a run, in the words of this database."""
    for name in set(_EQUAL) & set(shape.names):
        yield runs.c[name] == bindparam(name)
    if shape.num_statuses:
        yield runs.c.status.in_([bindparam(f"status_{n}") for n in range(shape.num_statuses)])
    if "model" in shape.names:
        yield _holds(runs.c.model, "model", dialect)
    if "text" in shape.names:
        yield or_(*(_holds(runs.c[name], "text", dialect) for name in _SEARCHED))


def _holds(column: Column[str], parameter: str, dialect: str) -> ColumnElement[bool]:
    # SQLite's LIKE takes upper and lower case as one, as its lower() does, in a quarter of the time.
    if dialect == "sqlite":
        return column.like(bindparam(parameter), escape=_ESCAPE)
    return func.lower(column).like(func.lower(bindparam(parameter, type_=Text)), escape=_ESCAPE)


def _pattern(text: str) -> str:
    """What LIKE finds the text by, wherever it stands.

    Example:
        "50%" -> "%50/%%"
    """
    for special in (_ESCAPE, "%", "_"):
        text = text.replace(special, _ESCAPE + special)
    return f"%{text}%"
