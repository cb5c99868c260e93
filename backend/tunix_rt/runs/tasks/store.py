"""SQL: TaskRepository."""

import json
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Engine, Row, delete, func, insert, not_, or_, select, update

from tunix_rt.base.db.engine import autocommit, reading, writing
from tunix_rt.base.db.schema import tasks
from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.engines.training.types import RunFailure, RunStatus
from tunix_rt.runs.store.workers import queue_is_paused
from tunix_rt.runs.tasks.types import Task, TaskClaim, TaskFilter, TaskPage, TaskRequest, TaskResult
from tunix_rt.runs.types import ACTIVE, BACKOFF_CAP_S, TERMINAL, BeatAnswer, Lease, LeaseBeat, Slot


def queued_task_row(task_id: UUID, model: str, request: TaskRequest, now: datetime) -> dict[str, Any]:
    """The row of a task that nobody has taken yet."""
    return {
        "id": task_id,
        "created_at": now,
        "kind": request.kind,
        "model": model,
        "device": request.device,
        "status": "queued",
        "request": request.model_dump_json(exclude_none=True),
        "num_attempts": 0,
        "num_failures": 0,
        "beats": 0,
    }


def task_of(row: Row[Any]) -> Task:
    """The task of a row."""
    return Task.model_validate(
        {
            "task_id": row.id,
            "status": row.status,
            "created_at": row.created_at,
            "model": row.model,
            "request": json.loads(row.request),
            "num_attempts": row.num_attempts,
            "num_failures": row.num_failures,
            "not_before": row.not_before,
            "worker_id": row.worker_id,
            "started_at": row.started_at,
            "finished_at": row.finished_at,
            "failure": None if row.failure is None else RunFailure.model_validate_json(row.failure),
            "result": None if row.result is None else TaskResult.model_validate_json(row.result),
        }
    )


_ANY_QUEUED = select(tasks.c.pk).where(tasks.c.status == "queued").limit(1)
_NO_LEASE: dict[str, Any] = {"lease": None, "beats": 0}


def _utc_now() -> datetime:
    return datetime.now(UTC)


class TaskRepository:
    """Tasks in SQLite or PostgreSQL. Every method is one transaction.

    What a worker writes carries its lease: each of those methods says False, and writes nothing, once the
    lease does not hold any more.
    """

    def __init__(self, engine: Engine, *, now: Callable[[], datetime] = _utc_now) -> None:
        self._engine = engine
        self._now = now

    def add(self, task_id: UUID, model: str, request: TaskRequest) -> Task:
        """Put a task into the queue."""
        with writing(self._engine) as connection:
            connection.execute(insert(tasks).values(**queued_task_row(task_id, model, request, self._now())))
            return task_of(_row(connection, task_id))

    def get(self, task_id: UUID) -> Task:
        """The task with this id, or NotFoundError."""
        with autocommit(self._engine) as connection:
            return task_of(_row(connection, task_id))

    def list(self, criteria: TaskFilter, *, limit: int, offset: int) -> TaskPage:
        """A page of tasks, newest first, and how many fit in all."""
        chosen = _conditions(criteria)
        page = select(tasks).where(*chosen).order_by(tasks.c.pk.desc()).limit(limit).offset(offset)
        with reading(self._engine) as connection:
            total = connection.execute(select(func.count()).select_from(tasks).where(*chosen)).scalar_one()
            return TaskPage(data=tuple(map(task_of, connection.execute(page))), total=total)

    def claim(self, worker_id: str, slots: Sequence[Slot]) -> TaskClaim | None:
        """Take the oldest task that one of these free slots may have; None when there is none."""
        if not slots or not self._is_any_queued():
            return None
        with writing(self._engine, is_durable=False) as connection:
            now = self._now()
            row = connection.execute(_first_that_fits(slots, now)).one_or_none()
            if row is None:
                return None
            token = secrets.token_hex(16)
            values = {
                "status": "running",
                "worker_id": worker_id,
                "num_attempts": row.num_attempts + 1,
                "not_before": None,
                "started_at": row.started_at or now,
            }
            _write(connection, row, lease=token, beats=0, **values)
            task = task_of(row).model_copy(update=values)
        return TaskClaim(lease=Lease(run_id=str(task.task_id), token=token), task=task)

    def beat(self, leases: Sequence[Lease]) -> tuple[BeatAnswer, ...]:
        """Keep leases. Those that are not among the answers are lost."""
        if not leases:
            return ()
        beating = (
            update(tasks)
            .where(tasks.c.lease.in_([lease.token for lease in leases]))
            .values(beats=tasks.c.beats + 1)
            .returning(tasks.c.lease, tasks.c.status)
        )
        with writing(self._engine, is_durable=False) as connection:
            return tuple(
                BeatAnswer(row.lease, row.status, is_held=False) for row in connection.execute(beating)
            )

    def leases(self) -> tuple[LeaseBeat, ...]:
        """Every lease that is given out, with its beats so far."""
        columns = (tasks.c.id, tasks.c.worker_id, tasks.c.lease, tasks.c.beats, tasks.c.num_failures)
        chosen = select(*columns).where(tasks.c.status.in_(ACTIVE), tasks.c.lease.is_not(None))
        with reading(self._engine) as connection:
            return tuple(LeaseBeat(str(row[0]), *row[1:]) for row in connection.execute(chosen))

    def finish(
        self,
        lease: Lease,
        status: RunStatus,
        *,
        failure: RunFailure | None = None,
        result: TaskResult | None = None,
    ) -> bool:
        """Write the end: `succeeded`, `failed` or, after it was asked for, `cancelled`."""
        assert status in TERMINAL, status
        values = {
            "status": status,
            "finished_at": self._now(),
            "failure": None if failure is None else failure.model_dump_json(),
            "result": None if result is None else result.model_dump_json(exclude_none=True),
        }
        return self._held(lease, lambda connection, row: _write(connection, row, **values, **_NO_LEASE))

    def requeue(
        self, lease: Lease, *, not_before: datetime | None = None, num_failures: int | None = None
    ) -> bool:
        """Put a task back. One that was told to stop meanwhile becomes cancelled instead."""

        def put_back(connection: Connection, row: Row[Any]) -> None:
            if row.status == "cancelling":
                _write(connection, row, status="cancelled", finished_at=self._now(), **_NO_LEASE)
                return
            failures = row.num_failures if num_failures is None else num_failures
            values = {"status": "queued", "not_before": not_before, "num_failures": failures}
            _write(connection, row, **values, **_NO_LEASE)

        return self._held(lease, put_back)

    def cancel(self, task_id: UUID) -> Task:
        """Cancel a queued task at once, or ask a running one to stop. ConflictError when it has ended."""
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
            return task_of(_row(connection, task_id))

    def remove(self, task_id: UUID) -> None:
        """Forget a task that has ended; ConflictError while it is queued or under way."""
        with writing(self._engine) as connection:
            row = _row(connection, task_id, is_locked=True)
            if row.status not in TERMINAL:
                raise ConflictError(
                    f"The task {task_id} is {row.status}.",
                    next_step=f"Stop it first: tunix-rt tasks cancel {task_id}",
                )
            connection.execute(delete(tasks).where(tasks.c.pk == row.pk))

    def _is_any_queued(self) -> bool:
        """Asked without a lock: workers look here before every run that they take."""
        with autocommit(self._engine) as connection:
            return connection.execute(_ANY_QUEUED).first() is not None

    def _held(self, lease: Lease, change: Callable[[Connection, Row[Any]], None]) -> bool:
        """Change the task of a lease; False when it does not hold any more."""
        chosen = select(tasks).where(tasks.c.lease == lease.token).with_for_update()
        with writing(self._engine) as connection:
            row = connection.execute(chosen).one_or_none()
            if row is not None:
                change(connection, row)
        return row is not None


def _row(connection: Connection, task_id: UUID, *, is_locked: bool = False) -> Row[Any]:
    chosen = select(tasks).where(tasks.c.id == task_id)
    row = connection.execute(chosen.with_for_update() if is_locked else chosen).one_or_none()
    if row is None:
        raise NotFoundError(f"There is no task {task_id}.", next_step="List the tasks: tunix-rt tasks list")
    return row


def _write(connection: Connection, row: Row[Any], **values: Any) -> None:
    connection.execute(update(tasks).where(tasks.c.pk == row.pk).values(**values))


def _conditions(criteria: TaskFilter) -> list[ColumnElement[bool]]:
    conditions = []
    if criteria.kind is not None:
        conditions.append(tasks.c.kind == criteria.kind)
    if criteria.model is not None:
        conditions.append(tasks.c.model == criteria.model)
    if criteria.status:
        conditions.append(tasks.c.status.in_(criteria.status))
    return conditions


def _first_that_fits(slots: Sequence[Slot], now: datetime) -> Any:
    moment, devices = tasks.c.not_before, {slot.device for slot in slots}
    # A wait that is longer than any back-off was written before the clock was set back: it is over.
    longest = now + timedelta(seconds=BACKOFF_CAP_S)
    chosen = (
        select(tasks)
        .where(
            tasks.c.status == "queued",
            or_(moment.is_(None), moment <= now, moment > longest),
            not_(queue_is_paused()),
        )
        .order_by(tasks.c.pk)
        .limit(1)
        .with_for_update(skip_locked=True, of=tasks)
    )
    return chosen if "auto" in devices else chosen.where(tasks.c.device.in_(sorted(devices | {"auto"})))
