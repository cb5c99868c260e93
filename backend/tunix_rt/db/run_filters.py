"""Filters of runs as SQL."""

from sqlalchemy import ColumnElement, or_

from tunix_rt.core.runs.store_types import RunFilter
from tunix_rt.db.schema import runs

_SEARCHED = ("id", "recipe_name", "model", "dataset")


def run_conditions(criteria: RunFilter) -> list[ColumnElement[bool]]:
    """What must hold of a run."""
    conditions: list[ColumnElement[bool]] = [
        runs.c[name] == wanted
        for name in ("dataset", "mode", "engine", "sweep_id")
        if (wanted := getattr(criteria, name)) is not None
    ]
    if criteria.status:
        conditions.append(runs.c.status.in_(criteria.status))
    if criteria.model is not None:
        conditions.append(runs.c.model.icontains(criteria.model, autoescape=True))
    if criteria.text is not None:
        columns = (runs.c[name] for name in _SEARCHED)
        conditions.append(or_(*(column.icontains(criteria.text, autoescape=True) for column in columns)))
    return conditions
