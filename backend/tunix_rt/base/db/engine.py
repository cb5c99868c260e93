"""SQLite and PostgreSQL connections, read/write transactions, database errors with advice."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, NoSuchModuleError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from tunix_rt.base.errors import InvalidInputError, StorageError

Database = Engine
"""An alias, so that other packages need not import SQLAlchemy."""
BUSY_TIMEOUT_MS = 30_000
SUPPORTED = ("sqlite", "postgresql")
_FRESH_S = 0.5
"""A connection used this recently is only checked for a close message of the server."""
_USED_AT_S = "used_at_s"
_DAMAGED = ("file is not a database", "database disk image is malformed")


def open_engine(url: str) -> Engine:
    """An engine for `url`; nothing is connected yet.

    Raises:
        InvalidInputError: the URL cannot be read, or names another kind of database.
    """
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError) as error:
        raise _unusable_url(str(error)) from error
    if backend not in SUPPORTED:
        raise _unusable_url(f"'{backend}' is not supported")
    if backend == "postgresql":
        engine = create_engine(parsed, pool_size=10, max_overflow=10)
        event.listen(engine, "checkout", partial(_replace_if_closed, engine))
        event.listen(engine, "checkin", _note_use)
        return engine
    engine = create_engine(parsed)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _replace_if_closed(engine: Engine, connection: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    """Replace a connection that its server has closed; one used recently is not pinged."""
    idle_s = time.monotonic() - record.info.get(_USED_AT_S, -math.inf)
    try:
        if idle_s > _FRESH_S:
            engine.dialect.do_ping(connection)
            return
        # Twice: the server may have sent a final message before it closed the connection.
        connection.pgconn.consume_input()
        connection.pgconn.consume_input()
    except engine.dialect.loaded_dbapi.Error as error:
        raise DisconnectionError from error  # the pool opens another one


def _note_use(_connection: object, record: ConnectionPoolEntry) -> None:
    record.info[_USED_AT_S] = time.monotonic()


def _unusable_url(reason: str) -> InvalidInputError:
    return InvalidInputError(
        f"The database URL cannot be used: {reason}.",
        next_step="Set TUNIX_RT_DATABASE_URL to postgresql://user@host/name, or unset it to use SQLite.",
    )


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # _begin_sqlite begins transactions: the driver begins them late, so two writers would read first and then
    # fail on each other's locks.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA cache_size = -65536")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("begins", True):
        return
    writes = options.get("writes", False)
    wanted = "FULL" if options.get("is_durable", True) else "NORMAL"
    if writes and connection.info.get("synchronous", "FULL") != wanted:
        connection.exec_driver_sql(f"PRAGMA synchronous = {wanted}")
        connection.info["synchronous"] = wanted
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection for reading; database failures become `StorageError`."""
    with database_errors(), engine.connect() as connection:
        yield connection


@contextmanager
def autocommit(engine: Engine) -> Iterator[Connection]:
    """A connection for small reads without a transaction, which would take as long as the reads.

    Each statement sees its own snapshot.
    """
    with database_errors(), engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            yield connection.execution_options(begins=False)
        else:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")


@contextmanager
def writing(engine: Engine, *, is_durable: bool = True) -> Iterator[Connection]:
    """A connection in one transaction: committed at the end, rolled back on any error.

    Args:
        engine: The database.
        is_durable: Whether it must survive a power cut. On SQLite, other transactions do not wait for the
            disk; a power cut may undo the last of them as a whole, but never damages the database.
    """
    with database_errors(), engine.connect() as connection:
        connection = connection.execution_options(writes=True, is_durable=is_durable)
        with connection.begin():
            yield connection


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn database failures into a `StorageError`; invalid SQL of ours stays a bug."""
    try:
        yield
    except OperationalError as error:
        detail, next_step = _explain(error)
        raise StorageError(detail, next_step=next_step) from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise StorageError(
                "The database closed the connection.", next_step="Check that it is running, then try again."
            ) from error
        if any(sign in str(error.orig) for sign in _DAMAGED):
            raise damaged(str(error.orig)) from error
        raise


def sqlite_file(url: str) -> Path | None:
    """The file of an SQLite database; None for another database, or one in memory.

    Raises:
        InvalidInputError: The URL cannot be read.
    """
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError) as error:
        raise _unusable_url(str(error)) from error
    name = parsed.database
    is_file = backend == "sqlite" and name and not name.startswith((":", "file:"))
    return Path(name) if is_file and name else None


def damaged(reason: str) -> StorageError:
    """The error for a database file that cannot be read."""
    return StorageError(
        f"The database file is missing or damaged: {reason}.",
        next_step="Restore a backup, or move the file away to start with an empty database.",
    )


def _explain(error: OperationalError) -> tuple[str, str]:
    reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else "no reason given"
    if "disk is full" in reason or "disk I/O error" in reason or "No space left" in reason:
        return f"The database could not write: {reason}.", "Free disk space and run the same command again."
    if "locked" in reason:
        return (
            f"The database stayed locked for {BUSY_TIMEOUT_MS // 1000} s by another process.",
            "Wait for the other import or build to finish, then try again.",
        )
    return (
        f"The database does not answer: {reason}.",
        "Check TUNIX_RT_DATABASE_URL and that the server is running.",
    )
