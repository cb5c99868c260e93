"""A pool of empty PostgreSQL databases for tests.

Copying the template writes 8 MB. Emptying a database takes a few milliseconds, so a database is emptied and
reused unless a test has changed its schema.
"""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import Connection, sql

TEMPLATE = "template_store"
# The migrations fill these tables in every database.
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
_OTHER_CONNECTIONS = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Databases:
    """The pool of this process, on the server at `url`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._free: list[str] = []
        with self._connection(TEMPLATE) as template:
            self._schema = _value(template, _SCHEMA)
            self._kept = _rows_of_kept_tables(template)

    @contextmanager
    def one(self) -> Iterator[str]:
        """Provide the URL of an empty database with the schema."""
        name = self._free.pop() if self._free else self._copy()
        yield f"{self._url}/{name}"
        if self._try_to_empty(name):
            self._free.append(name)

    def _copy(self) -> str:
        name = f"test_{uuid.uuid4().hex}"
        with self._connection("postgres") as connection:
            statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(TEMPLATE)))
        return name

    def _try_to_empty(self, name: str) -> bool:
        """Empty a database; False if a client is still connected or if the test has changed the schema."""
        try:
            with self._connection(name) as connection:
                if _is_in_use(connection) or _value(connection, _SCHEMA) != self._schema:
                    return False
                connection.execute("SET lock_timeout = '1s'")
                # Disables the triggers of foreign keys, so that tables can be emptied in any order.
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
    # The server notices with a delay that a client has disconnected.
    for _ in range(20):
        if not _value(connection, _OTHER_CONNECTIONS):
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
