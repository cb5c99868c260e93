"""Empty databases on a PostgreSQL server, one at a time for each test that asks for one.

Copying the template writes 8 MB. A database whose schema is unchanged after a test is emptied, which takes a
few milliseconds, and given to the next test.
"""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import Connection, sql

TEMPLATE = "template_store"
# Of the migrations, which every database has.
_KEPT_TABLES = ("alembic_version",)
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
_SEQUENCES = "SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' ORDER BY sequencename"
_SCHEMA = """
    SELECT md5(string_agg(
        concat_ws(' ', relname, relkind, attname, atttypid, attnotnull), ',' ORDER BY relname, attnum
    ))
    FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    WHERE relnamespace = 'public'::regnamespace
"""
_OTHERS = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Databases:
    """The databases that the tests of this process share, on the server at `url`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._free: list[str] = []
        with self._connection(TEMPLATE) as template:
            self._schema = _value(template, _SCHEMA)
            self._kept = _rows_of_kept_tables(template)

    @contextmanager
    def one(self) -> Iterator[str]:
        """The URL of an empty database with the schema."""
        name = self._free.pop() if self._free else self._copy()
        yield f"{self._url}/{name}"
        if self._is_emptied(name):
            self._free.append(name)

    def _copy(self) -> str:
        name = f"test_{uuid.uuid4().hex}"
        with self._connection("postgres") as connection:
            statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(TEMPLATE)))
        return name

    def _is_emptied(self, name: str) -> bool:
        """False if somebody stays connected, or if the test has changed the schema or the migrations."""
        try:
            with self._connection(name) as connection:
                if _is_in_use(connection) or _value(connection, _SCHEMA) != self._schema:
                    return False
                connection.execute("SET lock_timeout = '1s'")
                # Foreign keys are triggers, which this setting leaves out: the order of the tables is free.
                connection.execute("SET session_replication_role = replica")
                for table in _names(connection, _TABLES):
                    if table not in _KEPT_TABLES:
                        connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
                for sequence in _names(connection, _SEQUENCES):
                    connection.execute(sql.SQL("ALTER SEQUENCE {} RESTART").format(sql.Identifier(sequence)))
                return _rows_of_kept_tables(connection) == self._kept
        except psycopg.Error:
            return False

    def _connection(self, name: str) -> "Connection[tuple[object, ...]]":
        return psycopg.connect(f"{self._url}/{name}", autocommit=True)


def _is_in_use(connection: "Connection[tuple[object, ...]]") -> bool:
    # The server notices a moment later that a client has left.
    for _ in range(20):
        if not _value(connection, _OTHERS):
            return False
        time.sleep(0.005)
    return True


def _value(connection: "Connection[tuple[object, ...]]", query: str) -> object:
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


def _names(connection: "Connection[tuple[object, ...]]", query: str) -> list[str]:
    return [str(name) for (name,) in connection.execute(query).fetchall()]


def _rows_of_kept_tables(connection: "Connection[tuple[object, ...]]") -> list[object]:
    tables = [sql.SQL("SELECT * FROM {}").format(sql.Identifier(table)) for table in _KEPT_TABLES]
    return [connection.execute(query).fetchall() for query in tables]
