"""State changes of runs: each is written with its event, in one transaction."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, select, update

from tunix_rt.base.db.schema import baselines, evaluations, model_versions, models, runs, sweeps
from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.runs.store.leases import NO_LEASE
from tunix_rt.runs.store.rows import STATE_COLUMNS, NewEvent, insert_event
from tunix_rt.runs.types import ACTIVE, TERMINAL, Lease, require_transition

_UPDATE = update(runs).where(runs.c.pk == bindparam("changed_pk"))


@dataclass(frozen=True)
class Change:
    """A transaction on runs: its connection, and the time at which everything in it happens."""

    connection: Connection
    now: datetime

    def locked(self, run_id: str) -> Row[Any]:
        """Lock the run's row until the transaction ends; NotFoundError for an unknown run."""
        row = self._locked(runs.c.id == run_id)
        if row is None:
            raise unknown_run(run_id)
        return row

    def locked_by_lease(self, lease: Lease) -> Row[Any] | None:
        """The same for the holder of a lease; None if the lease is lost."""
        return self._locked((runs.c.id == lease.run_id) & (runs.c.lease == lease.token))

    def _locked(self, condition: ColumnElement[bool]) -> Row[Any] | None:
        chosen: Select[Any] = select(*STATE_COLUMNS).where(condition).with_for_update()
        return self.connection.execute(chosen).one_or_none()

    def move(self, row: Row[Any], after: RunStatus, event: NewEvent, **values: Any) -> None:
        """Give a run another status.

        Raises:
            ConflictError: The transition is not allowed.
        """
        require_transition(row.id, row.status, after)
        if after not in ACTIVE:
            values |= NO_LEASE
        if after in TERMINAL:
            values |= {"finished_at": self.now, "is_held": False, "not_before": None}
        if after == "queued":
            values |= {"queued_at": self.now}
        self.write(row, event, status=after, **values)

    def write(self, row: Row[Any], event: NewEvent, **values: Any) -> None:
        """Change anything but the status, and record the event."""
        insert_event(self.connection, row.pk, row.num_events, self.now, event)
        changed = {**values, "num_events": row.num_events + 1, "changed_pk": row.pk}
        self.connection.execute(_UPDATE, changed)


def unknown_run(run_id: str) -> NotFoundError:
    """The error for a run that does not exist."""
    return NotFoundError(f"There is no run {run_id!r}.", next_step="List the runs: tunix-rt runs list")


def refuse_ended(row: Row[Any], *, next_step: str) -> None:
    """Raise ConflictError if the run has ended."""
    if row.status in TERMINAL:
        how = "was cancelled" if row.status == "cancelled" else row.status
        raise ConflictError(f"The run {row.id} has ended: it {how}.", next_step=next_step)


def refuse_unmanaged(row: Row[Any], what: str) -> None:
    """Raise ConflictError if `tunix-rt train` started the run and still runs it."""
    if row.executor == "direct" and row.status not in TERMINAL:
        raise ConflictError(
            f"The run {row.id} was started by tunix-rt train, outside the queue; it cannot be {what} here.",
            next_step="Stop it where it runs, with Ctrl-C: it saves a checkpoint first.",
        )


def refuse_removal(connection: Connection, row: Row[Any]) -> None:
    """Raise ConflictError if the run is active, or a baseline, a model or an active sweep needs it."""
    refuse_unmanaged(row, "removed")
    if row.status in ACTIVE:
        raise ConflictError(
            f"The run {row.id} is {row.status}.", next_step=f"Stop it first: tunix-rt runs cancel {row.id}"
        )
    baseline = connection.execute(
        select(baselines.c.name)
        .join(evaluations, evaluations.c.pk == baselines.c.evaluation_pk)
        .where(evaluations.c.run_id == row.id)
        .order_by(baselines.c.name)
    ).scalar()
    if baseline is not None:
        raise ConflictError(
            f"The baseline {baseline!r} is an evaluation of the run {row.id}.",
            next_step=f"Remove the baseline first: tunix-rt baselines rm {baseline}",
        )
    version = connection.execute(
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
    is_active = sweeps.c.status.in_(("queued", *sorted(ACTIVE)))
    sweep = connection.execute(select(sweeps.c.id).where(sweeps.c.id == row.sweep_id, is_active)).scalar()
    if sweep is not None:
        raise ConflictError(
            f"The run {row.id} is a trial of the sweep {sweep}, which has not ended.",
            next_step=f"Stop the sweep first: tunix-rt tune cancel {sweep}",
        )
