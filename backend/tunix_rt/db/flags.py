"""The switches of the service: whether the queue is paused."""

from datetime import UTC, datetime

from sqlalchemy import Engine, Exists, delete, exists, insert, select

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import service_flags

_QUEUE_PAUSED = "queue-paused"


class FlagRepository:
    """Switches in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def is_queue_paused(self) -> bool:
        """Whether workers are told to take nothing more."""
        with reading(self._engine) as connection:
            return bool(connection.execute(select(queue_is_paused())).scalar_one())

    def set_queue_paused(self, is_paused: bool) -> None:
        """Tell workers to take nothing more, or to go on. Runs that have begun go on either way."""
        with writing(self._engine) as connection:
            connection.execute(delete(service_flags).where(service_flags.c.name == _QUEUE_PAUSED))
            if is_paused:
                row = {"name": _QUEUE_PAUSED, "value": "true", "changed_at": datetime.now(UTC)}
                connection.execute(insert(service_flags), row)


def queue_is_paused() -> Exists:
    """The same, as a condition of another statement."""
    return exists().where(service_flags.c.name == _QUEUE_PAUSED)
