"""Pages of runs: those that a filter chooses, newest first, and how many there are in all."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, func, select

from tunix_rt.core.runs.store_types import RunFilter, RunPage
from tunix_rt.db.run_filters import run_conditions
from tunix_rt.db.run_rows import SUMMARY_COLUMNS, TOTAL, run_of
from tunix_rt.db.schema import runs

_NEWEST_FIRST = (runs.c.created_at.desc(), runs.c.pk.desc())
# Made once: so many columns take SQLAlchemy longer than the database takes to find a page.
_SUMMARIES = select(*SUMMARY_COLUMNS).order_by(*_NEWEST_FIRST)
_COUNTED_SUMMARIES = _SUMMARIES.add_columns(func.count().over().label(TOTAL))


def page_of_runs(connection: Connection, criteria: RunFilter, *, limit: int, offset: int) -> RunPage:
    """A page of runs, and the total."""
    conditions = run_conditions(criteria, dialect=connection.dialect.name)
    if criteria.text is None:
        total = _count(connection, conditions)
        rows = connection.execute(_SUMMARIES.where(*conditions).limit(limit).offset(offset)).all()
        return RunPage(data=tuple(map(run_of, rows)), total=total)
    # No index helps to find a word: the rows are read once, not once for the page and once for the total.
    found = connection.execute(_COUNTED_SUMMARIES.where(*conditions).limit(limit).offset(offset)).all()
    total = found[0]._mapping[TOTAL] if found else _count(connection, conditions)
    return RunPage(data=tuple(map(run_of, found)), total=total)


def _count(connection: Connection, conditions: Sequence[ColumnElement[bool]]) -> int:
    return connection.execute(select(func.count()).select_from(runs).where(*conditions)).scalar_one()
