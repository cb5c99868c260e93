"""Runs that went on outside the queue, brought into its table."""

from sqlalchemy import update
from sqlalchemy.dialects import postgresql, sqlite

from tunix_rt.base.db.schema import runs
from tunix_rt.core.runs.run import ServiceEventKind
from tunix_rt.core.runs.states import steps_between
from tunix_rt.core.runs.store_types import NewRun, OutsideRun, OutsideStanding
from tunix_rt.db.run_events import insert_event
from tunix_rt.db.run_rows import end_values, late_values, outside_row
from tunix_rt.db.run_transitions import Change, Note
from tunix_rt.engines.training.types import RunStatus

_KINDS: dict[RunStatus, ServiceEventKind] = {
    "queued": "resumed",
    "running": "started",
    "cancelling": "cancel-asked",
    "cancelled": "cancelled",
    "failed": "failed",
    "succeeded": "succeeded",
}
# Made once: there may be thousands to add.
_ADDING = {
    name: dialect.insert(runs).on_conflict_do_nothing(index_elements=["id"]).returning(runs.c.pk)
    for name, dialect in (("sqlite", sqlite), ("postgresql", postgresql))
}
_MESSAGE = "By tunix-rt train, outside the queue."


def add_outside(change: Change, run: OutsideRun) -> None:
    """Make a run known, unless its id is in the table already."""
    adding = _ADDING[change.connection.dialect.name]
    pk = change.connection.execute(adding, outside_row(run)).scalar_one_or_none()
    if pk is not None:
        details = {"status": run.standing.status}
        insert_event(change.connection, pk, 0, change.now, "imported", f"Found. {_MESSAGE}", details)


def follow_outside(change: Change, run_id: str, standing: OutsideStanding, read: NewRun | None) -> None:
    """Let a run that is outside the queue stand where its directory says, with all that is in it by now."""
    row = change.locked(run_id)
    if row.executor != "direct" or row.status == standing.status:
        return
    for status in steps_between(row.status, standing.status):
        change.move(row, status, Note(_KINDS[status], _MESSAGE))
        row = change.locked(run_id)
    values = end_values(standing) | ({} if read is None else late_values(read))
    change.connection.execute(update(runs).where(runs.c.pk == row.pk).values(**values))
