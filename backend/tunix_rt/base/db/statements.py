"""Prepared single reads, bulk inserts, upserts, the health ping.

Executing a statement through SQLAlchemy takes ten times as long as SQLite needs to find a row. Rows are what
the driver returns: on SQLite, times are text and booleans are numbers.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Connection, Engine, Select, Table, func, select, table, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect

from tunix_rt.base.db.engine import autocommit, damaged

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

Row = tuple[Any, ...]


def insert_rows(connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Insert rows within the connection's transaction: COPY on PostgreSQL, one prepared insert on SQLite."""
    if not rows:
        return
    names = ", ".join(columns)
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"INSERT INTO {table} ({names}) VALUES ({_marks(columns)})", list(rows))
        return
    driver = connection.connection.driver_connection
    assert driver is not None
    with driver.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def insert_new(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Row]
) -> dict[str, int]:
    """Insert the rows whose `id` is not in the table yet; the new keys (`pk`) by id.

    Ids are hexadecimal text, which both databases take; other values are as the driver takes them: see
    `stored_value`.
    """
    if not rows:
        return {}
    add = _insert_new_sqlite if connection.dialect.name == "sqlite" else _insert_new_postgresql
    return add(connection, table, columns, rows)


def stored_value(connection: Connection, column: Column[Any], value: Any) -> Any:
    """A value as the driver takes it, converted by the type of its column."""
    convert = column.type.dialect_impl(connection.dialect).bind_processor(connection.dialect)
    return value if convert is None else convert(value)


def _insert_new_sqlite(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Row]
) -> dict[str, int]:
    # This transaction holds the write lock, so every key above the last one is new.
    last_pk = connection.execute(select(func.coalesce(func.max(table.c.pk), 0))).scalar_one()
    statement = f"INSERT OR IGNORE INTO {table.name} ({', '.join(columns)}) VALUES ({_marks(columns)})"
    connection.exec_driver_sql(statement, list(rows))
    added = connection.exec_driver_sql(f"SELECT id, pk FROM {table.name} WHERE pk > ?", (last_pk,))
    return {id_hex: pk for id_hex, pk in added}


def _insert_new_postgresql(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Row]
) -> dict[str, int]:
    # COPY has no ON CONFLICT: the rows go through a temporary table.
    names = ", ".join(columns)
    incoming = f"incoming_{table.name}"
    connection.execute(
        text(f"CREATE TEMPORARY TABLE {incoming} ON COMMIT DROP AS SELECT {names} FROM {table.name} LIMIT 0")
    )
    insert_rows(connection, incoming, columns, rows)
    added = connection.execute(
        text(
            f"INSERT INTO {table.name} ({names}) SELECT {names} FROM {incoming} ORDER BY id"
            " ON CONFLICT (id) DO NOTHING RETURNING id, pk"
        )
    )
    return {row.id.hex: row.pk for row in added}


def _marks(columns: Sequence[str]) -> str:
    return ", ".join("?" * len(columns))


Values = Mapping[str, str | int]


class QuickRead:
    """A select with named parameters, executed without a transaction."""

    def __init__(self, statement: Select[Any]) -> None:
        self._statement = statement
        self._sql: dict[str, str] = {}

    def rows(self, engine: Engine, values: Values) -> list[tuple[Any, ...]]:
        """All rows. StorageError when the database does not answer."""
        try:
            return self._execute(engine, values)
        except engine.dialect.loaded_dbapi.Error:
            # The connection may be dead: a new one works, or raises an error that explains the failure.
            with autocommit(engine) as connection:
                return [tuple(row) for row in connection.execute(self._statement, values)]

    def _execute(self, engine: Engine, values: Values) -> list[tuple[Any, ...]]:
        pooled = engine.raw_connection()
        try:
            connection: Any = pooled.driver_connection
            is_postgresql = engine.dialect.name == "postgresql"
            if is_postgresql:
                connection.autocommit = True
            with closing(connection.execute(self._sql_for(engine.dialect), values)) as cursor:
                rows: list[tuple[Any, ...]] = cursor.fetchall()
            if is_postgresql:
                connection.autocommit = False
            return rows
        except engine.dialect.loaded_dbapi.Error:
            pooled.invalidate()
            raise
        finally:
            pooled.close()

    def _sql_for(self, dialect: Dialect) -> str:
        if dialect.name not in self._sql:
            named = sqlite.dialect(paramstyle="named") if dialect.name == "sqlite" else dialect
            self._sql[dialect.name] = str(self._statement.compile(dialect=named))
        return self._sql[dialect.name]


_PING = QuickRead(select(func.count()).select_from(table("alembic_version")))


def ping(engine: Engine) -> None:
    """Query the database.

    Raises:
        StorageError: It did not answer.
    """
    if engine.dialect.name == "sqlite" and engine.url.database:
        _check_file(Path(engine.url.database))
    _PING.rows(engine, {})


def _check_file(path: Path) -> None:
    # A pooled connection still reads a file that was deleted or replaced; a new one sees the current file.
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
            # Read from the first page: querying a table would parse the whole schema, ten times as slow.
            ((schema_version,),) = connection.execute("PRAGMA schema_version")
    except sqlite3.DatabaseError as error:
        raise damaged(f"{path.name}: {error}") from error
    if schema_version == 0:
        raise damaged(f"{path.name}: it is empty")


def insert_or_ignore(connection: Connection, table: Table, row: dict[str, Any], keys: Sequence[str]) -> bool:
    """Insert a row unless its keys exist; returns whether it was inserted."""
    statement = _insert(connection, table).values(row).on_conflict_do_nothing(index_elements=keys)
    # RETURNING, because PostgreSQL's driver does not report how many rows were skipped.
    return connection.execute(statement.returning(*table.primary_key.columns)).first() is not None


def insert_or_update(
    connection: Connection, table: Table, row: dict[str, Any], keys: Sequence[str], changes: dict[str, Any]
) -> None:
    """Insert a row, or update the one with the same keys."""
    statement = _insert(connection, table).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changes))


def _insert(connection: Connection, table: Table) -> "sqlite.Insert | postgresql.Insert":
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    # Imported here: on SQLite nothing needs the other dialect, whose import takes 0.03 s.
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
