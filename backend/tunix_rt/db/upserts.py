"""Rows that may be there already, in the words of each database."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_or_ignore(connection: Connection, table: Table, row: dict[str, Any], keys: Sequence[str]) -> bool:
    """Insert a row unless one with the same keys is there; whether it was inserted."""
    statement = _insert(connection, table).values(row).on_conflict_do_nothing(index_elements=keys)
    # Asked for, not counted: PostgreSQL's driver does not say how many rows were left out.
    return connection.execute(statement.returning(*table.primary_key.columns)).first() is not None


def insert_or_update(
    connection: Connection, table: Table, row: dict[str, Any], keys: Sequence[str], changes: dict[str, Any]
) -> None:
    """Insert a row, or change the one with the same keys."""
    statement = _insert(connection, table).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changes))


def _insert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)
