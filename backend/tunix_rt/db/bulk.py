"""Many rows at once, the fast way of each database."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection


def insert_rows(
    connection: Connection, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Insert rows within the connection's transaction: COPY on PostgreSQL, one prepared insert on SQLite."""
    if not rows:
        return
    names = ", ".join(columns)
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" * len(columns))
        connection.exec_driver_sql(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(rows))
        return
    driver = connection.connection.driver_connection
    assert driver is not None
    with driver.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
