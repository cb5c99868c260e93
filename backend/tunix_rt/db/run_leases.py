"""Runs in the hands of workers: taken, kept, given back, lost."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, not_, or_, select, update

from tunix_rt.base.db.schema import runs
from tunix_rt.core.runs.backoff import BACKOFF_CAP_S
from tunix_rt.core.runs.request import ExecutorName
from tunix_rt.core.runs.run import Lease, RunDetail
from tunix_rt.core.runs.states import ACTIVE
from tunix_rt.core.runs.store_types import BeatAnswer, LeaseBeat
from tunix_rt.core.runs.worker import Slot
from tunix_rt.db.flags import queue_is_paused
from tunix_rt.db.run_rows import DETAIL_COLUMNS, detail_of
from tunix_rt.db.run_transitions import Change, Note
from tunix_rt.engines.training.types import RunFailure, RunFigures, RunStatus

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
        _put_back(change, row, note, not_before, num_failures)
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
        _put_back(change, row, note, not_before, num_failures)
    return True


def _put_back(
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
