"""Many rows at once, the fast way of each database."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, Connection, Table, func, select, text

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
    # The write lock is ours until the end of the transaction, so every key above the last one is new.
    last_pk = connection.execute(select(func.coalesce(func.max(table.c.pk), 0))).scalar_one()
    statement = f"INSERT OR IGNORE INTO {table.name} ({', '.join(columns)}) VALUES ({_marks(columns)})"
    connection.exec_driver_sql(statement, list(rows))
    added = connection.exec_driver_sql(f"SELECT id, pk FROM {table.name} WHERE pk > ?", (last_pk,))
    return {id_hex: pk for id_hex, pk in added}


def _insert_new_postgresql(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Row]
) -> dict[str, int]:
    # COPY knows no ON CONFLICT: the rows go through a table of this transaction.
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
