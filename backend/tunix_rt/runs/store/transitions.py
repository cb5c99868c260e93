"""Every state change with its event: claim, beat, finish, requeue; cancel, pause, resume, remove."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import JsonValue
from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, delete, not_, or_, select, update

from tunix_rt.base.db.schema import baselines, evaluations, model_versions, models, runs, sweeps
from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.engines.training.types import RunFailure, RunFigures, RunStatus
from tunix_rt.runs.store.rows import DETAIL_COLUMNS, detail_of, insert_event
from tunix_rt.runs.store.workers import queue_is_paused
from tunix_rt.runs.types import (
    ACTIVE,
    BACKOFF_CAP_S,
    TERMINAL,
    BeatAnswer,
    ExecutorName,
    Lease,
    LeaseBeat,
    RunDetail,
    ServiceEventKind,
    Slot,
    require_transition,
)

_LOCKED_COLUMNS = (
    runs.c.pk,
    runs.c.id,
    runs.c.status,
    runs.c.is_held,
    runs.c.not_before,
    runs.c.executor,
    runs.c.sweep_id,
    runs.c.lease,
    runs.c.num_attempts,
    runs.c.num_failures,
    runs.c.num_events,
    runs.c.started_at,
)
_UPDATE = update(runs).where(runs.c.pk == bindparam("changed_pk"))
_NO_LEASE: dict[str, Any] = {"lease": None, "beats": 0}


@dataclass(frozen=True)
class Note:
    """What an event says."""

    kind: ServiceEventKind
    message: str
    details: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True)
class Change:
    """A transaction on runs: its connection, and the moment that everything in it happens."""

    connection: Connection
    now: datetime

    def locked(self, run_id: str) -> Row[Any]:
        """The run's row, which nobody else changes until the transaction ends; or NotFoundError."""
        row = self._locked(runs.c.id == run_id)
        if row is None:
            raise unknown_run(run_id)
        return row

    def locked_by_lease(self, lease: Lease) -> Row[Any] | None:
        """The same, for the holder of a lease; None when it does not hold any more."""
        return self._locked((runs.c.id == lease.run_id) & (runs.c.lease == lease.token))

    def _locked(self, condition: ColumnElement[bool]) -> Row[Any] | None:
        chosen: Select[Any] = select(*_LOCKED_COLUMNS).where(condition).with_for_update()
        return self.connection.execute(chosen).one_or_none()

    def move(self, row: Row[Any], after: RunStatus, note: Note, **values: Any) -> None:
        """Give a run another status.

        Raises:
            ConflictError: It cannot go there from where it stands.
        """
        require_transition(row.id, row.status, after)
        if after != "running" and after != "cancelling":
            values |= _NO_LEASE
        if after in TERMINAL:
            values |= {"finished_at": self.now, "is_held": False, "not_before": None}
        if after == "queued":
            values |= {"queued_at": self.now}
        self.write(row, note, status=after, **values)

    def write(self, row: Row[Any], note: Note, **values: Any) -> None:
        """Change anything but the status, and say so in an event."""
        insert_event(self.connection, row.pk, row.num_events, self.now, note.kind, note.message, note.details)
        changed = {**values, "num_events": row.num_events + 1, "changed_pk": row.pk}
        self.connection.execute(_UPDATE, changed)


def unknown_run(run_id: str) -> NotFoundError:
    """The error of a run that is not there."""
    return NotFoundError(f"There is no run {run_id!r}.", next_step="List the runs: tunix-rt runs list")


_RESET: dict[str, Any] = {
    "is_held": False,
    "not_before": None,
    "num_failures": 0,
    "finished_at": None,
    "exit_code": None,
    "failure": None,
}


def cancel(change: Change, run_id: str) -> None:
    """A queued run is cancelled at once; a running one is asked to stop; asking twice changes nothing."""
    row = change.locked(run_id)
    if row.status == "cancelling":
        return
    _refuse_unmanaged(row, "cancelled")
    if row.status == "queued":
        change.move(row, "cancelled", Note("cancelled", "Cancelled before it began."))
    elif row.status in TERMINAL:
        raise ConflictError(
            f"The run {run_id} has ended: it {_ENDED[row.status]}.", next_step="There is nothing to cancel."
        )
    else:
        change.move(row, "cancelling", Note("cancel-asked", "Asked to stop."))


def pause(change: Change, run_id: str) -> None:
    """A queued run waits until it is resumed; a running one is stopped with a checkpoint first."""
    row = change.locked(run_id)
    _refuse_unmanaged(row, "paused")
    if row.status not in ("queued", "running"):
        raise ConflictError(
            f"The run {run_id} is {row.status}; only a queued or running one can be paused.",
            next_step=f"Look at it: tunix-rt runs show {run_id}",
        )
    if not row.is_held:
        message = "Paused." if row.status == "queued" else "Asked to stop with a checkpoint, and to wait."
        change.write(row, Note("paused", message), is_held=True)


def resume(change: Change, run_id: str) -> None:
    """A paused run goes on; a cancelled or failed one enters the queue again, from its last checkpoint."""
    row = change.locked(run_id)
    if row.status in ("cancelled", "failed"):
        executor = "local" if row.executor == "direct" else row.executor
        note = Note("resumed", f"In the queue again; it was {row.status}.")
        change.move(row, "queued", note, executor=executor, **_RESET)
    elif row.status == "succeeded" or row.status == "cancelling":
        raise ConflictError(
            f"The run {run_id} is {row.status}; there is nothing to go on with.",
            next_step="Wait until it is cancelled." if row.status == "cancelling" else "Submit a new run.",
        )
    elif row.is_held or row.not_before is not None:
        change.write(row, Note("resumed", "Resumed."), is_held=False, not_before=None)


def set_priority(change: Change, run_id: str, priority: int) -> None:
    """Higher first; it counts from the next time that a worker asks."""
    row = change.locked(run_id)
    if row.status in TERMINAL:
        raise ConflictError(
            f"The run {run_id} has ended: it {_ENDED[row.status]}.",
            next_step=f"Put it into the queue again first: tunix-rt runs resume {run_id}",
        )
    change.write(row, Note("priority", f"Priority {priority}."), priority=priority)


def require_removable(change: Change, run_id: str) -> int:
    """The key of a run that nobody needs.

    Raises:
        NotFoundError: There is no such run.
        ConflictError: It is running, or something needs it: which, and how to let go of it.
    """
    row = change.locked(run_id)
    _refuse_unmanaged(row, "removed")
    if row.status in ACTIVE:
        raise ConflictError(
            f"The run {run_id} is {row.status}.",
            next_step=f"Stop it first: tunix-rt runs cancel {run_id}",
        )
    _refuse_if_needed(change, row)
    return int(row.pk)


def remove(change: Change, run_id: str) -> None:
    """Forget a run and its events, if nobody needs it."""
    change.connection.execute(delete(runs).where(runs.c.pk == require_removable(change, run_id)))


_ENDED = {"succeeded": "succeeded", "failed": "failed", "cancelled": "was cancelled"}


def _refuse_unmanaged(row: Row[Any], what: str) -> None:
    if row.executor == "direct" and row.status not in TERMINAL:
        raise ConflictError(
            f"The run {row.id} was started by tunix-rt train, outside the queue; it cannot be {what} here.",
            next_step="Stop it where it runs, with Ctrl-C: it saves a checkpoint first.",
        )


def _refuse_if_needed(change: Change, row: Row[Any]) -> None:
    found = change.connection.execute(
        select(baselines.c.name)
        .join(evaluations, evaluations.c.pk == baselines.c.evaluation_pk)
        .where(evaluations.c.run_id == row.id)
        .order_by(baselines.c.name)
    ).scalar()
    if found is not None:
        raise ConflictError(
            f"The baseline {found!r} is an evaluation of the run {row.id}.",
            next_step=f"Remove the baseline first: tunix-rt baselines rm {found}",
        )
    version = change.connection.execute(
        select(models.c.name, model_versions.c.version)
        .join(model_versions, model_versions.c.model_pk == models.c.pk)
        .where(model_versions.c.source_run_id == row.id)
        .order_by(model_versions.c.pk)
    ).first()
    if version is not None:
        name = f"{version.name}:{version.version}"
        raise ConflictError(
            f"The registered model {name} comes from the run {row.id}.",
            next_step=f"Remove that version first: tunix-rt models rm {name}",
        )
    _refuse_if_trial(change, row)


def _refuse_if_trial(change: Change, row: Row[Any]) -> None:
    is_on = sweeps.c.status.in_(("queued", *sorted(ACTIVE)))
    sweep = change.connection.execute(select(sweeps.c.id).where(sweeps.c.id == row.sweep_id, is_on)).scalar()
    if sweep is not None:
        raise ConflictError(
            f"The run {row.id} is a trial of the sweep {sweep}, which goes on.",
            next_step=f"Stop the sweep first: tunix-rt tune cancel {sweep}",
        )


_CANCELLED = Note("cancelled", "Cancelled.")


def claim(
    change: Change, worker_id: str, slots: Sequence[Slot], executor: ExecutorName
) -> tuple[Lease, RunDetail] | None:
    """Take the first run that fits; None when there is none, or the queue is paused."""
    row = _first_that_fits(change, slots, executor)
    if row is None:
        return None
    attempt = row.num_attempts + 1
    token = secrets.token_hex(16)
    values = {
        "worker_id": worker_id,
        "num_attempts": attempt,
        "not_before": None,
        "started_at": row.started_at or change.now,
    }
    note = Note("claimed", f"Taken by {worker_id}.", {"worker_id": worker_id, "attempt": attempt})
    change.move(row, "running", note, lease=token, beats=0, **values)
    run = detail_of(row).model_copy(update={**values, "status": "running"})
    return Lease(run_id=row.id, token=token), run


def _first_that_fits(change: Change, slots: Sequence[Slot], executor: ExecutorName) -> Row[Any] | None:
    devices = {slot.device for slot in slots}
    # A wait that is longer than any back-off was written before the clock was set back: it is over.
    longest = change.now + timedelta(seconds=BACKOFF_CAP_S)
    asked: dict[str, Any] = {"now": change.now, "longest": longest, "executor": executor}
    if "auto" in devices:
        return change.connection.execute(_FIRST, asked).one_or_none()
    asked["devices"] = sorted(devices | {"auto"})
    return change.connection.execute(_FIRST_ON_DEVICES, asked).one_or_none()


def _queued() -> Select[Any]:
    moment = runs.c.not_before
    return (
        select(*DETAIL_COLUMNS, runs.c.pk, runs.c.num_events)
        .where(
            runs.c.status == "queued",
            runs.c.is_held.is_(False),
            runs.c.executor == bindparam("executor"),
            or_(moment.is_(None), moment <= bindparam("now"), moment > bindparam("longest")),
            not_(queue_is_paused()),
        )
        .order_by(runs.c.priority.desc(), runs.c.pk)
        .limit(1)
        .with_for_update(skip_locked=True, of=runs)
    )


# Made once: a claim spends more time on making a statement than on running it.
_FIRST = _queued()
_FIRST_ON_DEVICES = _queued().where(runs.c.device.in_(bindparam("devices", expanding=True)))


def beat(connection: Connection, tokens: Sequence[str]) -> tuple[BeatAnswer, ...]:
    """Count one beat for each lease that still holds, in one statement."""
    beating = (
        update(runs)
        .where(runs.c.lease.in_(tokens))
        .values(beats=runs.c.beats + 1)
        .returning(runs.c.lease, runs.c.status, runs.c.is_held)
    )
    return tuple(BeatAnswer(*row) for row in connection.execute(beating)) if tokens else ()


def leases(connection: Connection) -> tuple[LeaseBeat, ...]:
    """Every lease that is given out."""
    columns = (runs.c.id, runs.c.worker_id, runs.c.lease, runs.c.beats, runs.c.num_failures)
    chosen = select(*columns).where(runs.c.status.in_(ACTIVE), runs.c.lease.is_not(None))
    return tuple(LeaseBeat(*row) for row in connection.execute(chosen))


@dataclass(frozen=True)
class End:
    """How a run ended."""

    status: RunStatus
    exit_code: int | None = None
    failure: RunFailure | None = None
    figures: RunFigures | None = None


def finish(change: Change, lease: Lease, end: End, note: Note) -> bool:
    """Write the end of a run; False when the lease is lost."""
    row = change.locked_by_lease(lease)
    if row is None:
        return False
    failure = None if end.failure is None else end.failure.model_dump_json()
    figures = None if end.figures is None else end.figures.model_dump_json(exclude_none=True)
    change.move(row, end.status, note, exit_code=end.exit_code, failure=failure, figures=figures)
    return True


def requeue(
    change: Change, lease: Lease, note: Note, *, not_before: datetime | None, num_failures: int | None
) -> bool:
    """Put a run back; one that was cancelled meanwhile is cancelled. False when the lease is lost."""
    row = change.locked_by_lease(lease)
    if row is not None:
        _requeue_row(change, row, note, not_before, num_failures)
    return row is not None


def lose(
    change: Change,
    lease: Lease,
    note: Note,
    *,
    not_before: datetime | None,
    num_failures: int | None,
    failure: RunFailure | None,
) -> bool:
    """Take a run from a holder that has gone; False when the lease is another one by now."""
    row = change.locked_by_lease(lease)
    if row is None:
        return False
    if failure is not None and row.status != "cancelling":
        change.move(row, "failed", note, failure=failure.model_dump_json())
    else:
        _requeue_row(change, row, note, not_before, num_failures)
    return True


def _requeue_row(
    change: Change, row: Row[Any], note: Note, not_before: datetime | None, num_failures: int | None
) -> None:
    if row.status == "cancelling":
        change.move(row, "cancelled", _CANCELLED)
        return
    failures = row.num_failures if num_failures is None else num_failures
    change.move(row, "queued", note, not_before=not_before, num_failures=failures)


def note(change: Change, lease: Lease, what: Note) -> bool:
    """Write an event of the holder's; False when the lease is lost."""
    row = change.locked_by_lease(lease)
    if row is not None:
        change.write(row, what)
    return row is not None
