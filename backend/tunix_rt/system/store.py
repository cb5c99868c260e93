"""SQL: table dumps, tokens."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Connection,
    Engine,
    Row,
    Table,
    Uuid,
    func,
    insert,
    inspect,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import UtcDateTime, api_tokens, metadata, trace_bodies, workers
from tunix_rt.base.errors import ConflictError, DataError, NotFoundError
from tunix_rt.system.types import ApiToken
from tunix_rt.traces.store import add_to_index
from tunix_rt.traces.types import Trace, tokens_of

_CHUNK = 500

DUMPED: tuple[Table, ...] = tuple(table for table in metadata.sorted_tables if table is not workers)
"""Every table, each after those that it refers to, without workers, which are running processes."""


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """A read-only connection with a consistent snapshot of the database."""
    with reading(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection


def dump_rows(connection: Connection, table: Table) -> Iterator[bytes]:
    """Every row as a line of JSON, streamed in key order."""
    chosen = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=_CHUNK)
    for row in connection.execute(chosen).mappings():
        yield json.dumps(dict(row), ensure_ascii=False, allow_nan=False, default=_plain).encode() + b"\n"


def load_rows(connection: Connection, name: str, lines: Iterable[bytes]) -> int:
    """Insert such lines within the connection's transaction; returns their number.

    Raises:
        DataError: This version knows no such table or column.
    """
    table = metadata.tables.get(name)
    if table is None:
        raise _unknown(f"the table {name!r}")
    num_rows = 0
    remaining = iter(lines)
    while chunk := [_typed(table, json.loads(line)) for line in islice(remaining, _CHUNK)]:
        connection.execute(insert(table), chunk)
        num_rows += len(chunk)
    return num_rows


def finish_loading(connection: Connection) -> None:
    """Rebuild derived data: the trace index and the key sequences."""
    bodies = connection.execute(select(trace_bodies).execution_options(yield_per=_CHUNK))
    for chunk in bodies.partitions(_CHUNK):
        traces = [(row.pk, Trace.model_validate_json(row.canonical)) for row in chunk]
        add_to_index(connection, [(pk, " ".join(tokens_of(trace))) for pk, trace in traces])
    if connection.dialect.name == "postgresql":
        for name in (table.name for table in DUMPED if "pk" in table.c and table.c.pk.autoincrement):
            sequence = f"pg_get_serial_sequence('{name}', 'pk')"
            connection.execute(text(f"SELECT setval({sequence}, max(pk)) FROM {name}"))


def has_tables(engine: Engine) -> bool:
    """Whether the database has any tables."""
    with reading(engine) as connection:
        return bool(inspect(connection).get_table_names())


def first_table_with_rows(engine: Engine) -> str | None:
    """The name of a non-empty table; None if all are empty."""
    with reading(engine) as connection:
        found = set(inspect(connection).get_table_names())
        for table in DUMPED:
            if table.name in found and connection.execute(select(table).limit(1)).first() is not None:
                return table.name
    return None


def _plain(value: datetime | UUID) -> str:
    return value.isoformat() if isinstance(value, datetime) else value.hex


def _typed(table: Table, values: dict[str, Any]) -> dict[str, Any]:
    if unknown := values.keys() - table.columns.keys():
        raise _unknown(f"the column {min(unknown)!r} of the table {table.name!r}")
    for name, value in values.items():
        kind = table.columns[name].type
        if value is not None and isinstance(kind, UtcDateTime):
            values[name] = datetime.fromisoformat(value)
        elif value is not None and isinstance(kind, Uuid):
            values[name] = UUID(hex=value)
    return values


def _unknown(what: str) -> DataError:
    return DataError(
        f"The backup has {what}, which this version of Tunix RT does not know.",
        next_step="Upgrade Tunix RT to the version that wrote the backup, or a newer one.",
    )


LAST_USED_EVERY = timedelta(minutes=1)
"""Precision of `last_used_at`, so that not every request writes to the database."""


class TokenRepository:
    """Tokens in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, token: ApiToken, token_hash: str) -> None:
        """Store a token.

        Raises:
            ConflictError: This token is there already.
        """
        row = token.model_dump(exclude={"token_id"}) | {"id": token.token_id, "token_hash": token_hash}
        try:
            with writing(self._engine) as connection:
                connection.execute(insert(api_tokens).values(row))
        except IntegrityError as error:
            raise ConflictError(
                "This token is there already.", next_step="List the tokens: tunix-rt tokens list"
            ) from error

    def find(self, token_hash: str) -> ApiToken | None:
        """The token with this hash, valid or not."""
        with reading(self._engine) as connection:
            found = connection.execute(select(api_tokens).where(api_tokens.c.token_hash == token_hash))
            row = found.one_or_none()
        return None if row is None else _token(row)

    def list(self) -> tuple[ApiToken, ...]:
        """Every token, oldest first."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(api_tokens).order_by(api_tokens.c.pk)).all()
        return tuple(map(_token, rows))

    def num_valid(self, now: datetime) -> int:
        """The number of valid tokens."""
        is_current = or_(api_tokens.c.expires_at.is_(None), api_tokens.c.expires_at > now)
        valid = select(func.count()).where(api_tokens.c.revoked_at.is_(None), is_current)
        with reading(self._engine) as connection:
            return int(connection.execute(valid).scalar_one())

    def revoke(self, token_id: str, now: datetime) -> ApiToken:
        """Revoke a token; repeating it changes nothing.

        Raises:
            NotFoundError: There is no token with this id.
        """
        mine = api_tokens.c.id == token_id
        with writing(self._engine) as connection:
            connection.execute(
                update(api_tokens).where(mine, api_tokens.c.revoked_at.is_(None)).values(revoked_at=now)
            )
            row = connection.execute(select(api_tokens).where(mine)).one_or_none()
        if row is None:
            raise NotFoundError(
                f"There is no token {token_id!r}.", next_step="List the tokens: tunix-rt tokens list"
            )
        return _token(row)

    def note_use(self, token: ApiToken, now: datetime) -> None:
        """Record its use, unless a recent use is recorded already."""
        if token.last_used_at is not None and now - token.last_used_at < LAST_USED_EVERY:
            return
        with writing(self._engine) as connection:
            connection.execute(
                update(api_tokens).where(api_tokens.c.id == token.token_id).values(last_used_at=now)
            )


def _token(row: Row[Any]) -> ApiToken:
    names = ("name", "scope", "created_at", "expires_at", "last_used_at", "revoked_at")
    return ApiToken(token_id=row.id, **{name: getattr(row, name) for name in names})
