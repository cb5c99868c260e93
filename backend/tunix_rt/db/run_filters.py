"""Filters of runs as SQL."""

from sqlalchemy import Column, ColumnElement, or_

from tunix_rt.core.runs.store_types import RunFilter
from tunix_rt.db.schema import runs

_SEARCHED = ("id", "recipe_name", "model", "dataset")


def run_conditions(criteria: RunFilter, *, dialect: str) -> list[ColumnElement[bool]]:
    """What must hold of a run, in the words of this database."""
    conditions: list[ColumnElement[bool]] = [
        runs.c[name] == wanted
        for name in ("dataset", "mode", "engine", "sweep_id")
        if (wanted := getattr(criteria, name)) is not None
    ]
    if criteria.status:
        conditions.append(runs.c.status.in_(criteria.status))
    if criteria.model is not None:
        conditions.append(_holds(runs.c.model, criteria.model, dialect))
    if criteria.text is not None:
        conditions.append(or_(*(_holds(runs.c[name], criteria.text, dialect) for name in _SEARCHED)))
    return conditions


def _holds(column: Column[str], text: str, dialect: str) -> ColumnElement[bool]:
    # SQLite's LIKE takes upper and lower case as one, as its lower() does, in a quarter of the time.
    contains = column.contains if dialect == "sqlite" else column.icontains
    return contains(text, autoescape=True)
