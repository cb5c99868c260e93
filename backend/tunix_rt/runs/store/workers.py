"""Workers, the pause flag, queue figures."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Exists,
    Row,
    case,
    delete,
    exists,
    extract,
    func,
    insert,
    or_,
    select,
    update,
)

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import run_events, runs, service_flags, tasks, workers
from tunix_rt.engines.training.types import RUN_STATUSES
from tunix_rt.runs.types import Worker, WorkerStatus

_QUEUE_PAUSED = "queue-paused"


class FlagRepository:
    """Switches in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def is_queue_paused(self) -> bool:
        """Whether workers may take nothing."""
        with reading(self._engine) as connection:
            return bool(connection.execute(select(queue_is_paused())).scalar_one())

    def set_queue_paused(self, is_paused: bool) -> None:
        """Stop workers from taking runs, or let them continue. Running runs are not affected."""
        with writing(self._engine) as connection:
            connection.execute(delete(service_flags).where(service_flags.c.name == _QUEUE_PAUSED))
            if is_paused:
                row = {"name": _QUEUE_PAUSED, "value": "true", "changed_at": datetime.now(UTC)}
                connection.execute(insert(service_flags), row)


def queue_is_paused() -> Exists:
    """Whether the queue is paused, as a condition of another statement."""
    return exists().where(service_flags.c.name == _QUEUE_PAUSED)


WAIT_BUCKETS_S = (1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400)


@dataclass(frozen=True)
class QueueFigures:
    """The state of the queue at one time."""

    num_runs: dict[str, int]
    """By status; all statuses are present."""
    num_tasks: dict[str, int]
    """Evaluations and exports, likewise."""
    num_waiting: int
    """Runs that a worker could take now."""
    oldest_wait_s: float
    """How long the oldest of them has waited; 0 if there is none."""
    num_within: tuple[int, ...]
    """Number of runs that started within each of `WAIT_BUCKETS_S` after submission."""
    num_started: int
    sum_wait_s: float
    num_lease_losses: int
    num_workers: dict[str, int]
    """By status."""
    running: tuple[str, ...]
    """The ids of the running runs."""


def queue_figures(engine: Engine, now: datetime) -> QueueFigures:
    """Read them in one transaction."""
    with reading(engine) as connection:
        may_start = or_(runs.c.not_before.is_(None), runs.c.not_before <= now)
        waiting = select(func.count(), func.min(runs.c.queued_at)).where(
            runs.c.status == "queued", runs.c.is_held.is_(False), may_start
        )
        num_waiting, oldest = connection.execute(waiting).one()
        wait_s: ColumnElement[Any] = extract("epoch", runs.c.started_at) - extract("epoch", runs.c.created_at)
        within = [func.coalesce(func.sum(case((wait_s <= bound, 1), else_=0)), 0) for bound in WAIT_BUCKETS_S]
        started = select(*within, func.count(), func.coalesce(func.sum(wait_s), 0)).where(
            runs.c.started_at.is_not(None)
        )
        *num_within, num_started, sum_wait_s = connection.execute(started).one()
        losses = select(func.count()).where(run_events.c.kind == "lease-lost")
        running = select(runs.c.id).where(runs.c.status == "running").order_by(runs.c.pk)
        return QueueFigures(
            num_runs=dict.fromkeys(RUN_STATUSES, 0) | _counts(connection, runs.c.status),
            num_tasks=dict.fromkeys(RUN_STATUSES, 0) | _counts(connection, tasks.c.status),
            num_waiting=int(num_waiting),
            oldest_wait_s=0.0 if oldest is None else max((now - oldest).total_seconds(), 0.0),
            num_within=tuple(map(int, num_within)),
            num_started=int(num_started),
            sum_wait_s=float(sum_wait_s),
            num_lease_losses=int(connection.execute(losses).scalar_one()),
            num_workers=_counts(connection, workers.c.status),
            running=tuple(connection.execute(running).scalars()),
        )


def _counts(connection: Connection, column: ColumnElement[str]) -> dict[str, int]:
    rows = connection.execute(select(column, func.count()).group_by(column))
    return {value: int(count) for value, count in rows}


class WorkerRepository:
    """Workers in SQLite or PostgreSQL. Every method is one transaction."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def register(self, worker: Worker) -> None:
        """Add a worker, replacing one with the same id."""
        with writing(self._engine) as connection:
            connection.execute(delete(workers).where(workers.c.id == worker.worker_id))
            slots = json.dumps([slot.model_dump(mode="json") for slot in worker.slots])
            fields = worker.model_dump(exclude={"worker_id", "slots"})
            connection.execute(insert(workers), {**fields, "id": worker.worker_id, "slots": slots})

    def beat(self, worker_id: str) -> bool:
        """Count one heartbeat of a worker; False if it is unknown."""
        return self._changed(worker_id, beats=workers.c.beats + 1)

    def set_status(self, worker_id: str, status: WorkerStatus) -> bool:
        """Set the status of a worker; False if it is unknown."""
        return self._changed(worker_id, status=status)

    def _changed(self, worker_id: str, **values: Any) -> bool:
        change = update(workers).where(workers.c.id == worker_id)
        with writing(self._engine) as connection:
            changed = connection.execute(change.values(last_seen_at=datetime.now(UTC), **values))
        return changed.rowcount > 0

    def list(self) -> tuple[Worker, ...]:
        """Every worker, newest first."""
        newest_first = select(workers).order_by(workers.c.started_at.desc(), workers.c.id)
        with reading(self._engine) as connection:
            return tuple(map(_worker, connection.execute(newest_first)))

    def forget(self, worker_id: str) -> None:
        """Delete a worker."""
        with writing(self._engine) as connection:
            connection.execute(delete(workers).where(workers.c.id == worker_id))


def _worker(row: Row[Any]) -> Worker:
    values = dict(row._mapping)
    values["worker_id"] = values.pop("id")
    values["slots"] = json.loads(values["slots"])
    return Worker.model_validate(values)
