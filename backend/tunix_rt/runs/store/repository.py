"""RunRepository."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue
from sqlalchemy import Connection, Engine, func, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import runs
from tunix_rt.base.errors import ConflictError
from tunix_rt.engines.training.types import RunFailure, RunFigures, RunStatus
from tunix_rt.runs.store import transitions as run_control
from tunix_rt.runs.store import transitions as run_leases
from tunix_rt.runs.store.reads import (
    DETAIL,
    page_of_runs,
    read_detail,
    read_events,
    read_state,
    read_summary,
)
from tunix_rt.runs.store.rows import (
    detail_of,
    end_values,
    insert_event,
    late_values,
    queued_row,
    unmanaged_row,
)
from tunix_rt.runs.store.transitions import Change, Note, unknown_run
from tunix_rt.runs.types import (
    BeatAnswer,
    Claim,
    ExecutorName,
    Lease,
    LeaseBeat,
    NewRun,
    Run,
    RunDetail,
    RunFilter,
    RunPage,
    RunState,
    ServiceEvent,
    ServiceEventKind,
    Slot,
    UnmanagedRun,
    UnmanagedStatus,
    steps_between,
)

_KINDS: dict[RunStatus, ServiceEventKind] = {
    "queued": "resumed",
    "running": "started",
    "cancelling": "cancel-asked",
    "cancelled": "cancelled",
    "failed": "failed",
    "succeeded": "succeeded",
}
# Made once: there may be thousands to add.
_INSERT = {
    name: dialect.insert(runs).on_conflict_do_nothing(index_elements=["id"]).returning(runs.c.pk)
    for name, dialect in (("sqlite", sqlite), ("postgresql", postgresql))
}
_MESSAGE = "By tunix-rt train, outside the queue."


def add_unmanaged(change: Change, run: UnmanagedRun) -> None:
    """Make a run known, unless its id is in the table already."""
    adding = _INSERT[change.connection.dialect.name]
    pk = change.connection.execute(adding, unmanaged_row(run)).scalar_one_or_none()
    if pk is not None:
        details = {"status": run.standing.status}
        insert_event(change.connection, pk, 0, change.now, "imported", f"Found. {_MESSAGE}", details)


def update_unmanaged(change: Change, run_id: str, standing: UnmanagedStatus, read: NewRun | None) -> None:
    """Let a run that is outside the queue stand where its directory says, with all that is in it by now."""
    row = change.locked(run_id)
    if row.executor != "direct" or row.status == standing.status:
        return
    for status in steps_between(row.status, standing.status):
        change.move(row, status, Note(_KINDS[status], _MESSAGE))
        row = change.locked(run_id)
    values = end_values(standing) | ({} if read is None else late_values(read))
    change.connection.execute(update(runs).where(runs.c.pk == row.pk).values(**values))


Details = Mapping[str, JsonValue]


def _utc_now() -> datetime:
    return datetime.now(UTC)


class RunRepository:
    """Runs in SQLite or PostgreSQL. Every method is one transaction.

    What a worker writes carries its lease: each of those methods says False, and writes nothing, once the
    lease does not hold any more.
    """

    def __init__(self, engine: Engine, *, now: Callable[[], datetime] = _utc_now) -> None:
        self._engine = engine
        self._now = now

    @contextmanager
    def _change(self, *, is_durable: bool = True) -> Iterator[Change]:
        with writing(self._engine, is_durable=is_durable) as connection:
            yield Change(connection, self._now())

    def add(self, run: NewRun) -> RunDetail:
        """Put a run into the queue; ConflictError when the id is taken."""
        with self._change() as change:
            _require_free(change.connection, run.run_id)
            added = insert(runs).values(**queued_row(run, change.now)).returning(runs.c.pk)
            pk = change.connection.execute(added).scalar_one()
            message = "Submitted, to wait until it is resumed." if run.request.is_held else "Submitted."
            insert_event(change.connection, pk, 0, change.now, "submitted", message)
            return _detail(change.connection, run.run_id)

    def require_free(self, run_id: str) -> None:
        """Raises ConflictError when there is a run with this id."""
        with reading(self._engine) as connection:
            _require_free(connection, run_id)

    def get(self, run_id: str) -> RunDetail:
        """The run with this id, or NotFoundError."""
        return read_detail(self._engine, run_id)

    def summary(self, run_id: str) -> Run:
        """The run without its recipe and its plan, or NotFoundError."""
        return read_summary(self._engine, run_id)

    def list(self, criteria: RunFilter, *, limit: int, offset: int) -> RunPage:
        """A page of runs, newest first, and how many fit in all."""
        return page_of_runs(self._engine, criteria, limit=limit, offset=offset)

    def status_of(self, run_id: str) -> RunState:
        """Where a run stands and how many events it has, cheaply; or NotFoundError."""
        return read_state(self._engine, run_id)

    def counts(self) -> dict[RunStatus, int]:
        """How many runs there are of each status; those that there are none of are left out."""
        counted = select(runs.c.status, func.count()).group_by(runs.c.status)
        with reading(self._engine) as connection:
            return {status: count for status, count in connection.execute(counted)}

    def num_held(self) -> int:
        """How many queued runs wait until somebody resumes them."""
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
        """What queue and workers did with a run, in order; or NotFoundError."""
        return read_events(self._engine, run_id, after=after)

    def ids(self) -> set[str]:
        """The ids of all runs."""
        with reading(self._engine) as connection:
            return set(connection.execute(select(runs.c.id)).scalars())

    def unmanaged_ids(self, status: RunStatus) -> tuple[str, ...]:
        """The ids of the runs outside the queue that stand there."""
        chosen = select(runs.c.id).where(runs.c.status == status, runs.c.executor == "direct")
        with reading(self._engine) as connection:
            return tuple(connection.execute(chosen).scalars())

    def add_unmanaged(self, found: Sequence[UnmanagedRun]) -> None:
        """Make runs of `tunix-rt train` known; those that are known already stay as they are."""
        with self._change() as change:
            for run in found:
                add_unmanaged(change, run)

    def update_unmanaged(self, run_id: str, standing: UnmanagedStatus, read: NewRun | None = None) -> None:
        """Let such a run stand where its directory, unless it is gone, says it does."""
        with self._change() as change:
            update_unmanaged(change, run_id, standing, read)

    def claim(self, worker_id: str, slots: Sequence[Slot], executor: ExecutorName = "local") -> Claim | None:
        """Take the first run that one of these free slots may have; None when there is none."""
        if not slots:
            return None
        # A power cut ends the worker too: a run whose claim is undone by it is queued, as it should be.
        with self._change(is_durable=False) as change:
            taken = run_leases.claim(change, worker_id, slots, executor)
        if taken is None:
            return None
        lease, run = taken
        return Claim(lease=lease, run=run, attempt=run.num_attempts)

    def beat(self, leases: Sequence[Lease]) -> tuple[BeatAnswer, ...]:
        """Keep leases. Those that are not among the answers are lost."""
        with writing(self._engine, is_durable=False) as connection:
            return run_leases.beat(connection, [lease.token for lease in leases])

    def leases(self) -> tuple[LeaseBeat, ...]:
        """Every lease that is given out, with its beats so far."""
        with reading(self._engine) as connection:
            return run_leases.leases(connection)

    def event(
        self, lease: Lease, kind: ServiceEventKind, message: str, details: Details | None = None
    ) -> bool:
        """Note something that the worker did."""
        with self._change() as change:
            return run_leases.note(change, lease, Note(kind, message, details))

    def start(self, lease: Lease, message: str, details: Details | None = None) -> bool:
        """Note that the engine was started."""
        return self.event(lease, "started", message, details)

    def finish(
        self,
        lease: Lease,
        status: RunStatus,
        message: str,
        *,
        exit_code: int | None = None,
        failure: RunFailure | None = None,
        figures: RunFigures | None = None,
        details: Details | None = None,
    ) -> bool:
        """Write the end: `succeeded`, `failed` or, after it was asked for, `cancelled`."""
        assert status in ("succeeded", "failed", "cancelled"), status
        end = run_leases.End(status, exit_code, failure, figures)
        with self._change() as change:
            return run_leases.finish(change, lease, end, Note(status, message, details))

    def requeue(
        self,
        lease: Lease,
        kind: ServiceEventKind,
        message: str,
        *,
        not_before: datetime | None = None,
        num_failures: int | None = None,
        details: Details | None = None,
    ) -> bool:
        """Put a run back. One that was told to stop meanwhile becomes cancelled instead.

        Args:
            lease: of the worker.
            kind: `retry` after a failure, `paused` after a pause, and so on.
            message: why.
            not_before: no worker takes it earlier.
            num_failures: in a row, with this one. None: as before.
            details: for programs.
        """
        with self._change() as change:
            return run_leases.requeue(
                change, lease, Note(kind, message, details), not_before=not_before, num_failures=num_failures
            )

    def lose(
        self,
        run_id: str,
        token: str,
        message: str,
        *,
        not_before: datetime | None = None,
        num_failures: int | None = None,
        failure: RunFailure | None = None,
    ) -> bool:
        """Take a run from a worker that has gone: back into the queue, or to its end.

        Args:
            run_id: the run.
            token: of the lease as it was observed; another by now: False, and nothing happens.
            message: how it is known that the worker has gone.
            not_before: no worker takes it earlier.
            num_failures: in a row, with this one. None: as before.
            failure: it has failed too often; say so instead of trying again.
        """
        lease, note = Lease(run_id=run_id, token=token), Note("lease-lost", message)
        with self._change() as change:
            return run_leases.lose(
                change, lease, note, not_before=not_before, num_failures=num_failures, failure=failure
            )

    def cancel(self, run_id: str) -> RunDetail:
        """Cancel a queued run at once, or ask a running one to stop. ConflictError when it has ended."""
        return self._controlled(run_control.cancel, run_id)

    def pause(self, run_id: str) -> RunDetail:
        """Make a run wait until it is resumed; a running one stops with a checkpoint."""
        return self._controlled(run_control.pause, run_id)

    def resume(self, run_id: str) -> RunDetail:
        """Let a paused run go on, or put a cancelled or failed one into the queue again."""
        return self._controlled(run_control.resume, run_id)

    def set_priority(self, run_id: str, priority: int) -> RunDetail:
        """Higher is taken first. ConflictError when the run has ended."""
        return self._controlled(run_control.set_priority, run_id, priority)

    def _controlled(self, control: Callable[..., None], run_id: str, *values: Any) -> RunDetail:
        with self._change() as change:
            control(change, run_id, *values)
            return _detail(change.connection, run_id)

    def require_removable(self, run_id: str) -> None:
        """Raises ConflictError while a run is active or needed, and says by what."""
        with self._change() as change:
            run_control.require_removable(change, run_id)

    def remove(self, run_id: str) -> None:
        """Forget a run; its directories are not touched. ConflictError while it is active or needed."""
        with self._change() as change:
            run_control.remove(change, run_id)


def _require_free(connection: Connection, run_id: str) -> None:
    taken = select(runs.c.pk).where(runs.c.id == run_id)
    if connection.execute(taken).scalar() is not None:
        raise ConflictError(f"There is a run {run_id} already.", next_step="Submit it under another name.")


def _detail(connection: Connection, run_id: str) -> RunDetail:
    row = connection.execute(DETAIL, {"run_id": run_id}).one_or_none()
    if row is None:
        raise unknown_run(run_id)
    return detail_of(row)
