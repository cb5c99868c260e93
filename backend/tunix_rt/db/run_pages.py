"""Pages of runs: those that a filter chooses, newest first, and how many there are in all."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, select

from tunix_rt.core.runs.store_types import RunFilter, RunPage
from tunix_rt.db.run_filters import run_conditions
from tunix_rt.db.run_rows import SUMMARY_COLUMNS, TOTAL, run_of
from tunix_rt.db.schema import runs


def page_of_runs(connection: Connection, criteria: RunFilter, *, limit: int, offset: int) -> RunPage:
    """A page of runs, and the total."""
    conditions = run_conditions(criteria, dialect=connection.dialect.name)
    if criteria.text is None:
        total = _count(connection, conditions)
        rows = _page(connection, SUMMARY_COLUMNS, conditions, limit, offset)
        return RunPage(data=tuple(map(run_of, rows)), total=total)
    # No index helps to find a word: the rows are read once, not once for the page and once for the total.
    counted = (*SUMMARY_COLUMNS, func.count().over().label(TOTAL))
    found = _page(connection, counted, conditions, limit, offset)
    total = found[0]._mapping[TOTAL] if found else _count(connection, conditions)
    return RunPage(data=tuple(map(run_of, found)), total=total)


def _count(connection: Connection, conditions: Sequence[ColumnElement[bool]]) -> int:
    return connection.execute(select(func.count()).select_from(runs).where(*conditions)).scalar_one()


def _page(
    connection: Connection,
    columns: Sequence[ColumnElement[Any]],
    conditions: Sequence[ColumnElement[bool]],
    limit: int,
    offset: int,
) -> Sequence[Row[Any]]:
    newest_first = (runs.c.created_at.desc(), runs.c.pk.desc())
    chosen = select(*columns).where(*conditions).order_by(*newest_first).limit(limit).offset(offset)
    return connection.execute(chosen).all()
