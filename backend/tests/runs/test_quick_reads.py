"""`QuickRead`: selects that go straight to the driver, with equal results on SQLite and PostgreSQL."""

import pytest
from sqlalchemy import Engine, column, select, table
from sqlalchemy.exc import DBAPIError
from support.queued_runs import new_run, queued

from tunix_rt.base.db.schema import runs
from tunix_rt.base.db.statements import QuickRead
from tunix_rt.base.errors import StorageError
from tunix_rt.base.home import Home
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import RunFilter

STATUSES = QuickRead(select(runs.c.status))


def close_pooled_connection(engine: Engine) -> None:
    pooled = engine.raw_connection()
    pooled.driver_connection.close()  # type: ignore[union-attr]
    pooled.close()


def test_dead_connection_is_replaced(store: Home) -> None:
    queued(store)
    assert STATUSES.rows(store.database, {}) == [("queued",)]
    close_pooled_connection(store.database)
    assert STATUSES.rows(store.database, {}) == [("queued",)]
    assert store.database.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_failed_read_releases_connection(store: Home) -> None:
    with pytest.raises((StorageError, DBAPIError), match="no_such_table"):
        QuickRead(select(column("name")).select_from(table("no_such_table"))).rows(store.database, {})
    assert store.database.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_transactions_work_after_quick_read(store: Home) -> None:
    queued(store)
    STATUSES.rows(store.database, {})
    with store.database.connect() as connection:
        connection.execute(runs.delete())
        connection.rollback()
    assert STATUSES.rows(store.database, {}) == [("queued",)]


@pytest.mark.parametrize("text", ["50%", "a_b", "a/b"])
def test_search_escapes_wildcards(store: Home, text: str) -> None:
    for run_id, model in (("plain", "50 apples, aXb, a-b"), ("special", f"Some {text.upper()} more")):
        RunRepository(store.database).add(new_run(run_id).model_copy(update={"model": model}))
    page = RunRepository(store.database).list(RunFilter(text=text), limit=5, offset=0)
    assert [run.run_id for run in page.data] == ["special"]
    assert RunRepository(store.database).list(RunFilter(model=text), limit=5, offset=0).total == 1


def test_page_past_end_keeps_total(store: Home) -> None:
    queued(store)
    for criteria in (RunFilter(), RunFilter(text="run"), RunFilter(status=("queued", "failed"))):
        page = RunRepository(store.database).list(criteria, limit=5, offset=5)
        assert (page.data, page.total) == ((), 1)
