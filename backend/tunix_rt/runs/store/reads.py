"""Fast single reads and filtered pages."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Engine,
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
from tunix_rt.runs.store.rows import DETAIL_COLUMNS, LATER, SUMMARY_COLUMNS, detail_of, event_of, run_of
from tunix_rt.runs.store.transitions import unknown_run
from tunix_rt.runs.types import Run, RunDetail, RunFilter, RunPage, RunState, ServiceEvent

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


_NUM_SHAPES = 64
_LIMIT = bindparam("limit", type_=Integer)
_OFFSET = bindparam("offset", type_=Integer)


def page_of_runs(engine: Engine, criteria: RunFilter, *, limit: int, offset: int) -> RunPage:
    """A page of runs, and the total."""
    shape, values = shape_of(criteria), values_of(criteria)
    rows = _page(shape, engine.dialect.name).rows(engine, {**values, "limit": limit, "offset": offset})
    if rows:
        return RunPage(data=tuple(run_of(row[:-1]) for row in rows), total=rows[0][-1])
    # Beyond the last page there is no row to carry the total.
    ((total,),) = _total(shape, engine.dialect.name).rows(engine, values)
    return RunPage(data=(), total=total)


@lru_cache(_NUM_SHAPES)
def _page(shape: FilterShape, dialect: str) -> QuickRead:
    # Keys are counted and put in order, for which an index is enough; whole rows are read of the page alone.
    found = select(runs.c.pk, runs.c.created_at).where(*run_conditions(shape, dialect=dialect))
    # No index helps to find a word: a common table is made once, and serves the total and the page.
    keys = found.cte("found") if shape.is_search else found.subquery("found")
    total = select(func.count()).select_from(keys).scalar_subquery()
    page = _newest_first(select(keys.c.pk), keys).limit(_LIMIT).offset(_OFFSET).subquery("page")
    return QuickRead(_newest_first(select(*SUMMARY_COLUMNS, total).join(page, page.c.pk == runs.c.pk), runs))


def _newest_first(chosen: Select[Any], table: FromClause) -> Select[Any]:
    return chosen.order_by(table.c.created_at.desc(), table.c.pk.desc())


@lru_cache(_NUM_SHAPES)
def _total(shape: FilterShape, dialect: str) -> QuickRead:
    return QuickRead(select(func.count()).select_from(runs).where(*run_conditions(shape, dialect=dialect)))


THIS_RUN = runs.c.id == bindparam("run_id")
DETAIL = select(*DETAIL_COLUMNS).where(THIS_RUN)
_DETAIL = QuickRead(DETAIL)
_SUMMARY = QuickRead(select(*SUMMARY_COLUMNS).where(THIS_RUN))
_STATE = QuickRead(select(runs.c.status, runs.c.num_events).where(THIS_RUN))
_LATER_EVENTS = QuickRead(LATER)


def read_detail(engine: Engine, run_id: str) -> RunDetail:
    """The run with its recipe and its plan, or NotFoundError."""
    for row in _DETAIL.rows(engine, {"run_id": run_id}):
        return detail_of(row)
    raise unknown_run(run_id)


def read_summary(engine: Engine, run_id: str) -> Run:
    """The run without them, or NotFoundError."""
    for row in _SUMMARY.rows(engine, {"run_id": run_id}):
        return run_of(row)
    raise unknown_run(run_id)


def read_state(engine: Engine, run_id: str) -> RunState:
    """Where a run stands and how many events it has, or NotFoundError."""
    for row in _STATE.rows(engine, {"run_id": run_id}):
        return RunState(*row)
    raise unknown_run(run_id)


def read_events(engine: Engine, run_id: str, *, after: int) -> tuple[ServiceEvent, ...]:
    """What queue and workers did with a run after that event, in order; or NotFoundError."""
    found = tuple(map(event_of, _LATER_EVENTS.rows(engine, {"run_id": run_id, "after": after})))
    if not found:
        read_state(engine, run_id)
    return found
