"""The repository of workers."""

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Engine, Row, delete, insert, select, update

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import workers
from tunix_rt.core.runs.worker import Worker, WorkerStatus


class WorkerRepository:
    """Workers in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def register(self, worker: Worker) -> None:
        """Make a worker known, in place of one of the same id."""
        with writing(self._engine) as connection:
            connection.execute(delete(workers).where(workers.c.id == worker.worker_id))
            connection.execute(insert(workers), _row(worker))

    def beat(self, worker_id: str) -> bool:
        """Count one beat of a worker; False when it is not known (any more)."""
        return self._changed(worker_id, beats=workers.c.beats + 1)

    def set_status(self, worker_id: str, status: WorkerStatus) -> bool:
        """Say what a worker does; False when it is not known."""
        return self._changed(worker_id, status=status)

    def _changed(self, worker_id: str, **values: Any) -> bool:
        change = update(workers).where(workers.c.id == worker_id)
        with writing(self._engine) as connection:
            changed = connection.execute(change.values(last_seen_at=datetime.now(UTC), **values))
        return changed.rowcount > 0

    def get(self, worker_id: str) -> Worker | None:
        """The worker with this id; None when it is not known."""
        with reading(self._engine) as connection:
            row = connection.execute(select(workers).where(workers.c.id == worker_id)).one_or_none()
        return None if row is None else _worker(row)

    def list(self) -> tuple[Worker, ...]:
        """Every worker, the newest first."""
        newest_first = select(workers).order_by(workers.c.started_at.desc(), workers.c.id)
        with reading(self._engine) as connection:
            return tuple(map(_worker, connection.execute(newest_first)))

    def forget(self, worker_id: str) -> None:
        """Take a worker off the list."""
        with writing(self._engine) as connection:
            connection.execute(delete(workers).where(workers.c.id == worker_id))


def _row(worker: Worker) -> dict[str, Any]:
    slots = json.dumps([slot.model_dump(mode="json") for slot in worker.slots])
    return {**worker.model_dump(exclude={"worker_id", "slots"}), "id": worker.worker_id, "slots": slots}


def _worker(row: Row[Any]) -> Worker:
    values = dict(row._mapping)
    values["worker_id"] = values.pop("id")
    values["slots"] = json.loads(values["slots"])
    return Worker.model_validate(values)
