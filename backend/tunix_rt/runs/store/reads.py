"""Prepared statements for single runs and filtered pages."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    FromClause,
    Integer,
    Select,
    Text,
    bindparam,
    func,
    or_,
    select,
)

from tunix_rt.base.db.schema import runs
from tunix_rt.base.db.statements import QuickRead
from tunix_rt.runs.store.rows import DETAIL_COLUMNS, LATER, SUMMARY_COLUMNS
from tunix_rt.runs.types import RunFilter

_EQUAL = ("dataset", "mode", "engine", "sweep_id")
_SEARCHED = ("id", "recipe_name", "model", "dataset")
_ESCAPE = "/"


class FilterShape(NamedTuple):
    """The fields that a filter sets, without their values: filters of one shape share a statement."""

    names: tuple[str, ...]
    num_statuses: int


def shape_of(criteria: RunFilter) -> FilterShape:
    """The fields that are set."""
    names = (*_EQUAL, "model", "text")
    given = tuple(name for name in names if getattr(criteria, name) is not None)
    return FilterShape(given, len(criteria.status))


def values_of(criteria: RunFilter) -> dict[str, str]:
    """The parameters of the statement for its shape."""
    values = {name: getattr(criteria, name) for name in shape_of(criteria).names}
    for name in {"model", "text"} & values.keys():
        # The text anywhere: "50%" -> "%50/%%".
        escaped = re.sub("[/%_]", rf"{_ESCAPE}\g<0>", values[name])
        values[name] = f"%{escaped}%"
    return values | {f"status_{n}": status for n, status in enumerate(criteria.status)}


def run_conditions(shape: FilterShape, *, dialect: str) -> Iterator[ColumnElement[bool]]:
    """The conditions on a run, for this database."""
    for name in set(_EQUAL) & set(shape.names):
        yield runs.c[name] == bindparam(name)
    if shape.num_statuses:
        yield runs.c.status.in_([bindparam(f"status_{n}") for n in range(shape.num_statuses)])
    if "model" in shape.names:
        yield _contains(runs.c.model, "model", dialect)
    if "text" in shape.names:
        yield or_(*(_contains(runs.c[name], "text", dialect) for name in _SEARCHED))


def _contains(column: Column[str], parameter: str, dialect: str) -> ColumnElement[bool]:
    # SQLite's LIKE ignores case like lower() does, in a quarter of the time.
    if dialect == "sqlite":
        return column.like(bindparam(parameter), escape=_ESCAPE)
    return func.lower(column).like(func.lower(bindparam(parameter, type_=Text)), escape=_ESCAPE)


_NUM_SHAPES = 64
_LIMIT = bindparam("limit", type_=Integer)
_OFFSET = bindparam("offset", type_=Integer)


@lru_cache(_NUM_SHAPES)
def page_statement(shape: FilterShape, dialect: str) -> QuickRead:
    """A page of runs, newest first; the last column is the total."""
    # Keys are counted and sorted, for which an index suffices; whole rows are read for the page alone.
    matching = select(runs.c.pk, runs.c.created_at).where(*run_conditions(shape, dialect=dialect))
    # No index helps a text search: a common table expression runs once for the total and the page.
    is_search = "text" in shape.names or "model" in shape.names
    keys = matching.cte("found") if is_search else matching.subquery("found")
    total = select(func.count()).select_from(keys).scalar_subquery()
    page = _newest_first(select(keys.c.pk), keys).limit(_LIMIT).offset(_OFFSET).subquery("page")
    return QuickRead(_newest_first(select(*SUMMARY_COLUMNS, total).join(page, page.c.pk == runs.c.pk), runs))


def _newest_first(chosen: Select[Any], table: FromClause) -> Select[Any]:
    return chosen.order_by(table.c.created_at.desc(), table.c.pk.desc())


_THIS_RUN = runs.c.id == bindparam("run_id")
DETAIL = select(*DETAIL_COLUMNS).where(_THIS_RUN)
DETAIL_READ = QuickRead(DETAIL)
SUMMARY_READ = QuickRead(select(*SUMMARY_COLUMNS).where(_THIS_RUN))
STATE_READ = QuickRead(select(runs.c.status, runs.c.num_events).where(_THIS_RUN))
LATER_EVENTS_READ = QuickRead(LATER)
