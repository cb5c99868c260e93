"""Small reads that go straight to the driver: SQLAlchemy writes their SQL once, and is not asked again.

It takes ten times as long to run a statement as SQLite takes to find a row. Rows are what the driver gives:
on SQLite a moment is a text and a truth a number.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Engine, Select
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect

from tunix_rt.db.engine import glancing

Values = Mapping[str, str | int]


class QuickRead:
    """A select with named parameters. No transaction is begun around it."""

    def __init__(self, statement: Select[Any]) -> None:
        self._statement = statement
        self._sql: dict[str, str] = {}

    def rows(self, engine: Engine, values: Values) -> list[tuple[Any, ...]]:
        """Every row that it finds. StorageError when the database does not answer."""
        try:
            return self._ask_driver(engine, values)
        except engine.dialect.loaded_dbapi.Error:
            # The connection may be dead: the long way takes another one, and says what is wrong.
            with glancing(engine) as connection:
                return [tuple(row) for row in connection.execute(self._statement, values)]

    def _ask_driver(self, engine: Engine, values: Values) -> list[tuple[Any, ...]]:
        pooled = engine.raw_connection()
        try:
            connection: Any = pooled.driver_connection
            if engine.dialect.name == "sqlite":
                return _fetched(connection.execute(self._sql_for(engine.dialect), values))
            connection.autocommit = True
            rows = _fetched(connection.execute(self._sql_for(engine.dialect), values))
            connection.autocommit = False
            return rows
        except engine.dialect.loaded_dbapi.Error:
            pooled.invalidate()
            raise
        finally:
            pooled.close()

    def _sql_for(self, dialect: Dialect) -> str:
        sql = self._sql.get(dialect.name)
        if sql is None:
            sql = str(self._statement.compile(dialect=_with_named_parameters(dialect)))
            self._sql[dialect.name] = sql
        return sql


def _with_named_parameters(dialect: Dialect) -> Dialect:
    return sqlite.dialect(paramstyle="named") if dialect.name == "sqlite" else dialect


def _fetched(cursor: Any) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    cursor.close()
    return rows
