"""The one place where a run changes: checked, with its event, inside the caller's transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import JsonValue
from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, select, update

from tunix_rt.base.db.schema import runs
from tunix_rt.base.errors import NotFoundError
from tunix_rt.core.runs.run import Lease, ServiceEventKind
from tunix_rt.core.runs.states import TERMINAL, require_transition
from tunix_rt.db.run_events import insert_event
from tunix_rt.engines.training.types import RunStatus

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
_CHANGING = update(runs).where(runs.c.pk == bindparam("changed_pk"))
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
        self.connection.execute(_CHANGING, changed)


def unknown_run(run_id: str) -> NotFoundError:
    """The error of a run that is not there."""
    return NotFoundError(f"There is no run {run_id!r}.", next_step="List the runs: tunix-rt runs list")
