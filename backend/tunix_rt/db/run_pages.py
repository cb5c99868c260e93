"""Pages of runs: those that a filter chooses, newest first, and how many there are in all."""

from functools import lru_cache
from typing import Any

from sqlalchemy import Engine, FromClause, Integer, Select, bindparam, func, select

from tunix_rt.base.db.schema import runs
from tunix_rt.base.db.statements import QuickRead
from tunix_rt.core.runs.store_types import RunFilter, RunPage
from tunix_rt.db.run_filters import FilterShape, run_conditions, shape_of, values_of
from tunix_rt.db.run_rows import SUMMARY_COLUMNS, run_of

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
