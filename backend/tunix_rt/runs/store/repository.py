"""Runs: queue, claims and leases, unmanaged runs. Every method of RunRepository is one transaction."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue
from sqlalchemy import Connection, Engine, Row, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import runs
from tunix_rt.base.db.statements import QuickRead
from tunix_rt.base.errors import ConflictError
from tunix_rt.engines.training.types import RunFailure, RunFigures, RunStatus
from tunix_rt.runs.store.leases import LeaseTable, claim_values
from tunix_rt.runs.store.reads import (
    DETAIL,
    DETAIL_READ,
    LATER_EVENTS_READ,
    STATE_READ,
    SUMMARY_READ,
    page_statement,
    shape_of,
    values_of,
)
from tunix_rt.runs.store.rows import (
    DETAIL_COLUMNS,
    NewEvent,
    detail_of,
    end_values,
    event_of,
    insert_event,
    late_values,
    queued_row,
    run_of,
    unmanaged_row,
)
from tunix_rt.runs.store.transitions import (
    Change,
    refuse_ended,
    refuse_removal,
    refuse_unmanaged,
    unknown_run,
)
from tunix_rt.runs.types import (
    BeatAnswer,
    Claim,
    ExecutorName,
    Lease,
    LeaseBeat,
    NewRun,
    Page,
    Run,
    RunDetail,
    RunFilter,
    RunState,
    ServiceEvent,
    ServiceEventKind,
    Slot,
    UnmanagedRun,
    UnmanagedStatus,
    steps_between,
)

_LEASES = LeaseTable(
    runs,
    (*DETAIL_COLUMNS, runs.c.pk, runs.c.num_events),
    order=(runs.c.priority.desc(), runs.c.pk),
    conditions=(runs.c.is_held.is_(False), runs.c.executor == bindparam("executor")),
)
# Built once: there may be thousands of rows to insert.
_INSERT_NEW = {
    name: dialect.insert(runs).on_conflict_do_nothing(index_elements=["id"]).returning(runs.c.pk)
    for name, dialect in (("sqlite", sqlite), ("postgresql", postgresql))
}
_UNMANAGED = "By tunix-rt train, outside the queue."
_UNMANAGED_EVENTS: dict[RunStatus, ServiceEventKind] = {
    "queued": "resumed",
    "running": "started",
    "cancelling": "cancel-asked",
    "cancelled": "cancelled",
    "failed": "failed",
    "succeeded": "succeeded",
}
_RESET: dict[str, Any] = {
    "is_held": False,
    "not_before": None,
    "num_failures": 0,
    "finished_at": None,
    "exit_code": None,
    "failure": None,
}


class RunRepository:
    """Runs in SQLite or PostgreSQL. Every method is one transaction.

    A worker's writes carry its lease: once the lease is lost, they return False and change nothing.
    """

    def __init__(self, engine: Engine, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._engine = engine
        self._now = now

    @contextmanager
    def _change(self, *, is_durable: bool = True) -> Iterator[Change]:
        with writing(self._engine, is_durable=is_durable) as connection:
            yield Change(connection, self._now())

    def add(self, run: NewRun) -> RunDetail:
        """Put a run into the queue; ConflictError if the id is taken."""
        with self._change() as change:
            _require_free(change.connection, run.run_id)
            added = insert(runs).values(**queued_row(run, change.now)).returning(runs.c.pk)
            pk = change.connection.execute(added).scalar_one()
            message = "Submitted on hold, until it is resumed." if run.request.is_held else "Submitted."
            insert_event(change.connection, pk, 0, change.now, NewEvent("submitted", message))
            return _detail(change.connection, run.run_id)

    def require_free(self, run_id: str) -> None:
        """Raise ConflictError if there is a run with this id."""
        with reading(self._engine) as connection:
            _require_free(connection, run_id)

    def _read_row(self, read: QuickRead, run_id: str) -> tuple[Any, ...]:
        for row in read.rows(self._engine, {"run_id": run_id}):
            return row
        raise unknown_run(run_id)

    def get(self, run_id: str) -> RunDetail:
        """The run with its recipe and plan, or NotFoundError."""
        return detail_of(self._read_row(DETAIL_READ, run_id))

    def summary(self, run_id: str) -> Run:
        """The run without its recipe and plan, or NotFoundError."""
        return run_of(self._read_row(SUMMARY_READ, run_id))

    def list(self, criteria: RunFilter, *, limit: int, offset: int) -> Page[Run]:
        """A page of runs, newest first, and the number of all that match."""
        shape, values, dialect = shape_of(criteria), values_of(criteria), self._engine.dialect.name
        read = page_statement(shape, dialect)
        rows = read.rows(self._engine, {**values, "limit": limit, "offset": offset})
        # Beyond the last page there is no row to carry the total.
        carriers = rows or read.rows(self._engine, {**values, "limit": 1, "offset": 0})
        return Page(tuple(run_of(row[:-1]) for row in rows), carriers[0][-1] if carriers else 0)

    def status_of(self, run_id: str) -> RunState:
        """The status and the number of events, from a cheap read; or NotFoundError."""
        return RunState(*self._read_row(STATE_READ, run_id))

    def counts(self) -> dict[RunStatus, int]:
        """The number of runs by status; statuses without runs are left out."""
        counted = select(runs.c.status, func.count()).group_by(runs.c.status)
        with reading(self._engine) as connection:
            return {status: count for status, count in connection.execute(counted)}

    def num_held(self) -> int:
        """The number of queued runs on hold."""
        held = select(func.count()).where(runs.c.status == "queued", runs.c.is_held.is_(True))
        with reading(self._engine) as connection:
            return int(connection.execute(held).scalar_one())

    def find_ids(self, part: str, *, limit: int = 10) -> tuple[str, ...]:
        """Ids that begin with this or whose last word it is, newest first: `2025`, `3f2a`."""
        begins = runs.c.id.startswith(part, autoescape=True)
        ends = runs.c.id.endswith(f"-{part}", autoescape=True)
        chosen = select(runs.c.id).where(or_(begins, ends)).order_by(runs.c.pk.desc()).limit(limit)
        with reading(self._engine) as connection:
            return tuple(connection.execute(chosen).scalars())

    def events(self, run_id: str, *, after: int = -1) -> tuple[ServiceEvent, ...]:
        """The queue and worker events of a run after that sequence number, in order; or NotFoundError."""
        rows = LATER_EVENTS_READ.rows(self._engine, {"run_id": run_id, "after": after})
        if not rows:
            self.status_of(run_id)
        return tuple(map(event_of, rows))

    def ids(self) -> set[str]:
        """The ids of all runs."""
        with reading(self._engine) as connection:
            return set(connection.execute(select(runs.c.id)).scalars())

    def unmanaged_ids(self, status: RunStatus) -> tuple[str, ...]:
        """The ids of unmanaged runs with this status."""
        chosen = select(runs.c.id).where(runs.c.status == status, runs.c.executor == "direct")
        with reading(self._engine) as connection:
            return tuple(connection.execute(chosen).scalars())

    def add_unmanaged(self, found: Sequence[UnmanagedRun]) -> None:
        """Insert runs of `tunix-rt train`; ids that are in the table stay as they are."""
        with self._change() as change:
            inserting = _INSERT_NEW[change.connection.dialect.name]
            for run in found:
                pk = change.connection.execute(inserting, unmanaged_row(run)).scalar_one_or_none()
                if pk is not None:
                    event = NewEvent("imported", f"Found. {_UNMANAGED}", {"status": run.current.status})
                    insert_event(change.connection, pk, 0, change.now, event)

    def update_unmanaged(self, run_id: str, current: UnmanagedStatus, read: NewRun | None = None) -> None:
        """Give an unmanaged run the status of its directory, and `read`, what that directory says by now."""
        with self._change() as change:
            row = change.locked(run_id)
            if row.executor != "direct" or row.status == current.status:
                return
            for status in steps_between(row.status, current.status):
                change.move(row, status, NewEvent(_UNMANAGED_EVENTS[status], _UNMANAGED))
                row = change.locked(run_id)
            values = end_values(current) | ({} if read is None else late_values(read))
            change.connection.execute(update(runs).where(runs.c.pk == row.pk).values(**values))

    def claim(self, worker_id: str, slots: Sequence[Slot], executor: ExecutorName = "local") -> Claim | None:
        """Take the first run that one of these free slots may run; None if there is none."""
        if not slots:
            return None
        # A power cut ends the worker too: a run whose claim it undoes is queued, as it should be.
        with self._change(is_durable=False) as change:
            row = _LEASES.first(change.connection, slots, change.now, executor=executor)
            if row is None:
                return None
            values = claim_values(row, worker_id, change.now)
            run = detail_of(row).model_copy(update=values)
            lease = Lease(run_id=row.id, token=secrets.token_hex(16))
            details: dict[str, JsonValue] = {"worker_id": worker_id, "attempt": run.num_attempts}
            event = NewEvent("claimed", f"Taken by {worker_id}.", details)
            change.move(row, values.pop("status"), event, lease=lease.token, beats=0, **values)
        return Claim(lease=lease, run=run)

    def beat(self, leases: Sequence[Lease]) -> tuple[BeatAnswer, ...]:
        """Keep leases. Those without an answer are lost."""
        with writing(self._engine, is_durable=False) as connection:
            return _LEASES.beat(connection, leases)

    def leases(self) -> tuple[LeaseBeat, ...]:
        """Every lease in force, with its beats so far."""
        with reading(self._engine) as connection:
            return _LEASES.leases(connection)

    def event(self, lease: Lease, event: NewEvent) -> bool:
        """Record something that the worker did."""
        with self._change() as change:
            row = change.locked_by_lease(lease)
            if row is not None:
                change.write(row, event)
        return row is not None

    def finish(
        self,
        lease: Lease,
        status: RunStatus,
        message: str,
        *,
        exit_code: int | None = None,
        failure: RunFailure | None = None,
        figures: RunFigures | None = None,
    ) -> bool:
        """Write the end: `succeeded`, `failed` or, after it was requested, `cancelled`."""
        assert status in ("succeeded", "failed", "cancelled"), status
        with self._change() as change:
            row = change.locked_by_lease(lease)
            if row is not None:
                change.move(
                    row,
                    status,
                    NewEvent(status, message),
                    exit_code=exit_code,
                    failure=None if failure is None else failure.model_dump_json(),
                    figures=None if figures is None else figures.model_dump_json(exclude_none=True),
                )
        return row is not None

    def requeue(
        self,
        lease: Lease,
        kind: ServiceEventKind,
        message: str,
        *,
        not_before: datetime | None = None,
        num_failures: int | None = None,
    ) -> bool:
        """Put a run back into the queue; one that is being cancelled becomes cancelled instead.

        Args:
            lease: Of the worker, or as an observer saw it.
            kind: `retry` after a failure, `paused` after a pause, `lease-lost` after the loss of a worker.
            message: Why.
            not_before: No worker takes it earlier.
            num_failures: In a row, including this one. None: unchanged.
        """
        with self._change() as change:
            row = change.locked_by_lease(lease)
            if row is None:
                return False
            if row.status == "cancelling":
                change.move(row, "cancelled", NewEvent("cancelled", "Cancelled."))
                return True
            failures = row.num_failures if num_failures is None else num_failures
            event = NewEvent(kind, message)
            change.move(row, "queued", event, not_before=not_before, num_failures=failures)
        return True

    @contextmanager
    def _control(self, run_id: str) -> Iterator[tuple[Change, Row[Any]]]:
        with self._change() as change:
            yield change, change.locked(run_id)

    def cancel(self, run_id: str) -> RunDetail:
        """Cancel a queued run at once, or ask a running one to stop. ConflictError if it has ended."""
        with self._control(run_id) as (change, row):
            if row.status != "cancelling":
                refuse_unmanaged(row, "cancelled")
                refuse_ended(row, next_step="There is nothing to cancel.")
                if row.status == "queued":
                    change.move(row, "cancelled", NewEvent("cancelled", "Cancelled before it started."))
                else:
                    change.move(row, "cancelling", NewEvent("cancel-asked", "Asked to stop."))
            return _detail(change.connection, run_id)

    def pause(self, run_id: str) -> RunDetail:
        """Hold a run until it is resumed; a running one stops with a checkpoint first."""
        with self._control(run_id) as (change, row):
            refuse_unmanaged(row, "paused")
            if row.status not in ("queued", "running"):
                raise ConflictError(
                    f"The run {run_id} is {row.status}; only a queued or running one can be paused.",
                    next_step=f"Show it: tunix-rt runs show {run_id}",
                )
            if not row.is_held:
                is_queued = row.status == "queued"
                message = "Paused." if is_queued else "Asked to stop with a checkpoint and wait."
                change.write(row, NewEvent("paused", message), is_held=True)
            return _detail(change.connection, run_id)

    def resume(self, run_id: str) -> RunDetail:
        """Release a paused run, or queue a cancelled or failed one again from its last checkpoint."""
        with self._control(run_id) as (change, row):
            if row.status in ("cancelled", "failed"):
                executor = "local" if row.executor == "direct" else row.executor
                event = NewEvent("resumed", f"In the queue again; it was {row.status}.")
                change.move(row, "queued", event, executor=executor, **_RESET)
            elif row.status in ("succeeded", "cancelling"):
                is_ending = row.status == "cancelling"
                raise ConflictError(
                    f"The run {run_id} is {row.status}; there is nothing to resume.",
                    next_step="Wait until it is cancelled." if is_ending else "Submit a new run.",
                )
            elif row.is_held or row.not_before is not None:
                change.write(row, NewEvent("resumed", "Resumed."), is_held=False, not_before=None)
            return _detail(change.connection, run_id)

    def set_priority(self, run_id: str, priority: int) -> RunDetail:
        """Set the priority for the next claim; higher first. ConflictError if the run has ended."""
        with self._control(run_id) as (change, row):
            refuse_ended(row, next_step=f"Queue it again first: tunix-rt runs resume {run_id}")
            change.write(row, NewEvent("priority", f"Priority {priority}."), priority=priority)
            return _detail(change.connection, run_id)

    def require_removable(self, run_id: str) -> None:
        """Raise ConflictError while a run is active or needed, naming what needs it."""
        with self._control(run_id) as (change, row):
            refuse_removal(change.connection, row)

    def remove(self, run_id: str) -> None:
        """Delete a run and its events, but no directories. ConflictError while it is active or needed."""
        with self._control(run_id) as (change, row):
            refuse_removal(change.connection, row)
            change.connection.execute(delete(runs).where(runs.c.pk == row.pk))


def _require_free(connection: Connection, run_id: str) -> None:
    taken = select(runs.c.pk).where(runs.c.id == run_id)
    if connection.execute(taken).scalar() is not None:
        raise ConflictError(f"There is a run {run_id} already.", next_step="Submit it under another name.")


def _detail(connection: Connection, run_id: str) -> RunDetail:
    return detail_of(connection.execute(DETAIL, {"run_id": run_id}).one())
