"""SQL queries for preference votes."""

from collections.abc import Generator
from uuid import UUID

from sqlalchemy import Engine, delete, func, insert, select

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import preferences
from tunix_rt.base.errors import NotFoundError
from tunix_rt.serving.types import Preference, PreferredSide

_CHUNK = 500
_NEWEST = (preferences.c.created_at.desc(), preferences.c.pk.desc())


class PreferenceRepository:
    """Votes in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, vote: Preference) -> None:
        """Store a vote."""
        values = {
            "id": vote.id,
            "created_at": vote.created_at,
            "model_a": vote.a.model,
            "model_b": vote.b.model,
            "choice": vote.choice,
            "record": vote.model_dump_json(exclude_none=True),
        }
        with writing(self._engine) as connection:
            connection.execute(insert(preferences).values(**values))

    def list(self, *, limit: int, offset: int) -> tuple[tuple[Preference, ...], int]:
        """A page of votes, newest first, and the total number."""
        chosen = select(preferences.c.record).order_by(*_NEWEST).limit(limit).offset(offset)
        with reading(self._engine) as connection:
            total = connection.execute(select(func.count()).select_from(preferences)).scalar_one()
            records = connection.execute(chosen).scalars().all()
        return tuple(map(Preference.model_validate_json, records)), total

    def iter_all(self) -> Generator[Preference, None, None]:
        """Stream every vote, oldest first. Close the generator: it holds a connection."""
        query = select(preferences.c.record).order_by(preferences.c.pk)
        with reading(self._engine) as connection:
            with connection.execution_options(yield_per=_CHUNK).execute(query) as streamed:
                yield from map(Preference.model_validate_json, streamed.scalars())

    def counts(self) -> tuple[tuple[str, str, PreferredSide, int], ...]:
        """Both models by side, a choice between them, and how often it was made."""
        table = preferences.c
        keys = (table.model_a, table.model_b, table.choice)
        with reading(self._engine) as connection:
            rows = connection.execute(select(*keys, func.count()).group_by(*keys).order_by(*keys)).all()
        return tuple((model_a, model_b, choice, num_votes) for model_a, model_b, choice, num_votes in rows)

    def remove(self, vote_id: UUID) -> None:
        """Delete a vote, or NotFoundError."""
        with writing(self._engine) as connection:
            num_deleted = connection.execute(delete(preferences).where(preferences.c.id == vote_id)).rowcount
        if not num_deleted:
            raise NotFoundError(
                f"There is no vote {vote_id}.", next_step="List the votes: GET /api/preferences"
            )
