"""Tasks in the database. Every method of TaskRepository is one transaction."""

import json
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, Row, delete, func, insert, select, update

from tunix_rt.base.db.engine import autocommit, reading, writing
from tunix_rt.base.db.schema import tasks
from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.engines.training.types import RunFailure, RunStatus
from tunix_rt.runs.store.leases import NO_LEASE, LeaseTable, claim_values
from tunix_rt.runs.tasks.types import Task, TaskClaim, TaskFilter, TaskRequest, TaskResult
from tunix_rt.runs.types import TERMINAL, BeatAnswer, Lease, LeaseBeat, Page, Slot


def _task_of(row: Row[Any]) -> Task:
    values = {name: value for name, value in row._mapping.items() if name in Task.model_fields}
    for name in ("request", "failure", "result"):
        if values[name] is not None:
            values[name] = json.loads(values[name])
    return Task.model_validate({"task_id": row.id, **values})


_ANY_QUEUED = select(tasks.c.pk).where(tasks.c.status == "queued").limit(1)
_LEASES = LeaseTable(tasks, tuple(tasks.c), order=(tasks.c.pk,))


class TaskRepository:
    """Tasks in SQLite or PostgreSQL. Every method is one transaction.

    A worker's writes carry its lease: once the lease is lost, they return False and change nothing.
    """

    def __init__(self, engine: Engine, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._engine = engine
        self._now = now

    def add(self, task_id: UUID, model: str, request: TaskRequest) -> Task:
        """Put a task into the queue."""
        row = {
            "id": task_id,
            "created_at": self._now(),
            "kind": request.kind,
            "model": model,
            "device": request.device,
            "status": "queued",
            "request": request.model_dump_json(exclude_none=True),
            "num_attempts": 0,
            "num_failures": 0,
            "beats": 0,
        }
        with writing(self._engine) as connection:
            connection.execute(insert(tasks), row)
            return _task_of(_row(connection, task_id))

    def get(self, task_id: UUID) -> Task:
        """The task with this id, or NotFoundError."""
        with autocommit(self._engine) as connection:
            return _task_of(_row(connection, task_id))

    def list(self, criteria: TaskFilter, *, limit: int, offset: int) -> Page[Task]:
        """A page of tasks, newest first, and the number of all that match."""
        given = criteria.model_dump(include={"kind", "model"}, exclude_none=True)
        chosen = [tasks.c[name] == value for name, value in given.items()]
        if criteria.status:
            chosen.append(tasks.c.status.in_(criteria.status))
        page = select(tasks).where(*chosen).order_by(tasks.c.pk.desc()).limit(limit).offset(offset)
        with reading(self._engine) as connection:
            total = connection.execute(select(func.count()).select_from(tasks).where(*chosen)).scalar_one()
            return Page(tuple(map(_task_of, connection.execute(page))), total)

    def claim(self, worker_id: str, slots: Sequence[Slot]) -> TaskClaim | None:
        """Take the oldest task that one of these free slots may run; None if there is none."""
        if not slots:
            return None
        # Without a lock: workers check it before every claim of a run.
        with autocommit(self._engine) as connection:
            if connection.execute(_ANY_QUEUED).first() is None:
                return None
        with writing(self._engine, is_durable=False) as connection:
            now = self._now()
            row = _LEASES.first(connection, slots, now)
            if row is None:
                return None
            values, token = claim_values(row, worker_id, now), secrets.token_hex(16)
            _write(connection, row, lease=token, beats=0, **values)
            task = _task_of(row).model_copy(update=values)
        return TaskClaim(lease=Lease(run_id=str(task.task_id), token=token), task=task)

    def beat(self, leases: Sequence[Lease]) -> tuple[BeatAnswer, ...]:
        """Keep leases. Those without an answer are lost."""
        if not leases:
            return ()
        with writing(self._engine, is_durable=False) as connection:
            return _LEASES.beat(connection, leases)

    def leases(self) -> tuple[LeaseBeat, ...]:
        """Every lease in force, with its beats so far."""
        with reading(self._engine) as connection:
            return _LEASES.leases(connection)

    def finish(
        self,
        lease: Lease,
        status: RunStatus,
        *,
        failure: RunFailure | None = None,
        result: TaskResult | None = None,
    ) -> bool:
        """Write the end: `succeeded`, `failed` or, after it was requested, `cancelled`."""
        assert status in TERMINAL, status
        with writing(self._engine) as connection:
            row = _row_of_lease(connection, lease)
            if row is not None:
                values = {
                    "status": status,
                    "finished_at": self._now(),
                    "failure": None if failure is None else failure.model_dump_json(),
                    "result": None if result is None else result.model_dump_json(exclude_none=True),
                }
                _write(connection, row, **values, **NO_LEASE)
        return row is not None

    def requeue(
        self, lease: Lease, *, not_before: datetime | None = None, num_failures: int | None = None
    ) -> bool:
        """Put a task back into the queue; one that is being cancelled becomes cancelled instead."""
        with writing(self._engine) as connection:
            row = _row_of_lease(connection, lease)
            if row is None:
                return False
            if row.status == "cancelling":
                values: dict[str, Any] = {"status": "cancelled", "finished_at": self._now()}
            else:
                failures = row.num_failures if num_failures is None else num_failures
                values = {"status": "queued", "not_before": not_before, "num_failures": failures}
            _write(connection, row, **values, **NO_LEASE)
        return True

    def cancel(self, task_id: UUID) -> Task:
        """Cancel a queued task at once, or ask a running one to stop. ConflictError if it has ended."""
        with writing(self._engine) as connection:
            row = _row(connection, task_id, is_locked=True)
            if row.status in TERMINAL:
                raise ConflictError(
                    f"The task {task_id} has ended: it is {row.status}.",
                    next_step="There is nothing to cancel.",
                )
            if row.status == "queued":
                _write(connection, row, status="cancelled", finished_at=self._now(), not_before=None)
            else:
                _write(connection, row, status="cancelling")
            return _task_of(_row(connection, task_id))

    def remove(self, task_id: UUID) -> None:
        """Delete a task that has ended; ConflictError while it is queued or running."""
        with writing(self._engine) as connection:
            row = _row(connection, task_id, is_locked=True)
            if row.status not in TERMINAL:
                raise ConflictError(
                    f"The task {task_id} is {row.status}.",
                    next_step=f"Stop it first: tunix-rt tasks cancel {task_id}",
                )
            connection.execute(delete(tasks).where(tasks.c.pk == row.pk))


def _row_of_lease(connection: Connection, lease: Lease) -> Row[Any] | None:
    return connection.execute(
        select(tasks).where(tasks.c.lease == lease.token).with_for_update()
    ).one_or_none()


def _row(connection: Connection, task_id: UUID, *, is_locked: bool = False) -> Row[Any]:
    chosen = select(tasks).where(tasks.c.id == task_id)
    row = connection.execute(chosen.with_for_update() if is_locked else chosen).one_or_none()
    if row is None:
        raise NotFoundError(f"There is no task {task_id}.", next_step="List the tasks: tunix-rt tasks list")
    return row


def _write(connection: Connection, row: Row[Any], **values: Any) -> None:
    connection.execute(update(tasks).where(tasks.c.pk == row.pk).values(**values))
