"""What queue and workers did with a run, one row an event."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import JsonValue
from pydantic_core import from_json
from sqlalchemy import Connection, bindparam, insert, select

from tunix_rt.base.db.schema import as_moment, run_events, runs
from tunix_rt.core.runs.run import ServiceEvent, ServiceEventKind

# Made once: SQLAlchemy takes longer to make it than the database to run it.
_ADDING = insert(run_events)
LATER = (
    select(*(column for column in run_events.c if column.name != "run_pk"))
    .join(runs, runs.c.pk == run_events.c.run_pk)
    .where(runs.c.id == bindparam("run_id"), run_events.c.sequence > bindparam("after"))
    .order_by(run_events.c.sequence)
)
"""Events of the run `run_id` with a higher sequence than `after`, in order."""


def insert_event(
    connection: Connection,
    run_pk: int,
    sequence: int,
    time: datetime,
    kind: ServiceEventKind,
    message: str,
    details: Mapping[str, JsonValue] | None = None,
) -> None:
    """Write an event in the transaction of what it tells of."""
    values = {
        "run_pk": run_pk,
        "sequence": sequence,
        "time": time,
        "kind": kind,
        # PostgreSQL holds every character but one, and a message may quote what a program printed.
        "message": message.replace("\x00", "\ufffd"),
        "details": json.dumps(dict(details or {})),
    }
    connection.execute(_ADDING, values)


def event_of(row: Sequence[Any]) -> ServiceEvent:
    """The event in a row of `LATER`."""
    sequence, time, kind, message, details = row
    return ServiceEvent.model_validate(
        {
            "sequence": sequence,
            "time": as_moment(time),
            "kind": kind,
            "message": message,
            "details": from_json(details),
        }
    )
