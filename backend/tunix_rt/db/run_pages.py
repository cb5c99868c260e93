"""Pages of runs: those that a filter chooses, newest first, and how many there are in all."""

from functools import lru_cache

from sqlalchemy import Engine, Integer, bindparam, func, select

from tunix_rt.core.runs.store_types import RunFilter, RunPage
from tunix_rt.db.quick_reads import QuickRead
from tunix_rt.db.run_filters import FilterShape, run_conditions, shape_of, values_of
from tunix_rt.db.run_rows import SUMMARY_COLUMNS, run_of
from tunix_rt.db.schema import runs

_NUM_SHAPES = 64


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
    conditions = tuple(run_conditions(shape, dialect=dialect))
    # No index helps to find a word: the rows are read once, not once for the page and once for the total.
    total = (
        func.count().over()
        if "text" in shape.names
        else select(func.count()).select_from(runs).where(*conditions).correlate(None).scalar_subquery()
    )
    newest_first = (runs.c.created_at.desc(), runs.c.pk.desc())
    page = select(*SUMMARY_COLUMNS, total).where(*conditions).order_by(*newest_first)
    return QuickRead(page.limit(bindparam("limit", type_=Integer)).offset(bindparam("offset", type_=Integer)))


@lru_cache(_NUM_SHAPES)
def _total(shape: FilterShape, dialect: str) -> QuickRead:
    return QuickRead(select(func.count()).select_from(runs).where(*run_conditions(shape, dialect=dialect)))
