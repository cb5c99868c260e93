"""The repository of access tokens, of which only hashes are kept."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, Row, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import api_tokens
from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.core.access import ApiToken

LAST_USED_EVERY = timedelta(minutes=1)
"""How exactly the last use is known: a write for every request would be one too many."""


class TokenRepository:
    """Tokens in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, token: ApiToken, token_hash: str) -> None:
        """Keep a token.

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
        """How many of them open anything at this moment."""
        is_current = or_(api_tokens.c.expires_at.is_(None), api_tokens.c.expires_at > now)
        valid = select(func.count()).where(api_tokens.c.revoked_at.is_(None), is_current)
        with reading(self._engine) as connection:
            return int(connection.execute(valid).scalar_one())

    def revoke(self, token_id: str, now: datetime) -> ApiToken:
        """Make a token worthless; doing it again changes nothing.

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
        """Remember that it was used, unless that was written down a moment ago."""
        if token.last_used_at is not None and now - token.last_used_at < LAST_USED_EVERY:
            return
        with writing(self._engine) as connection:
            connection.execute(
                update(api_tokens).where(api_tokens.c.id == token.token_id).values(last_used_at=now)
            )


def _token(row: Row[Any]) -> ApiToken:
    return ApiToken(
        token_id=row.id,
        name=row.name,
        scope=row.scope,
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )
