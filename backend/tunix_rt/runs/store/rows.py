"""Rows to runs and back; event rows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from pydantic import JsonValue
from pydantic_core import from_json
from sqlalchemy import ColumnElement, Connection, bindparam, insert, select

from tunix_rt.base.db.schema import as_utc, run_events, runs
from tunix_rt.runs.types import (
    NewRun,
    Run,
    RunDetail,
    ServiceEvent,
    ServiceEventKind,
    UnmanagedRun,
    UnmanagedStatus,
)

# Built once: SQLAlchemy takes longer to build it than the database to run it.
_INSERT = insert(run_events)
LATER = (
    select(*(column for column in run_events.c if column.name != "run_pk"))
    .join(runs, runs.c.pk == run_events.c.run_pk)
    .where(runs.c.id == bindparam("run_id"), run_events.c.sequence > bindparam("after"))
    .order_by(run_events.c.sequence)
)
"""Events of the run `run_id` with a higher sequence than `after`, in order."""


@dataclass(frozen=True)
class NewEvent:
    """An event that is not in the database yet."""

    kind: ServiceEventKind
    message: str
    details: Mapping[str, JsonValue] | None = None


def insert_event(connection: Connection, run_pk: int, sequence: int, time: datetime, event: NewEvent) -> None:
    """Insert an event, in the transaction of the change that it records."""
    values = {
        "run_pk": run_pk,
        "sequence": sequence,
        "time": time,
        "kind": event.kind,
        # PostgreSQL holds every character but one, and a message may quote what a program printed.
        "message": event.message.replace("\x00", "\ufffd"),
        "details": json.dumps(dict(event.details or {})),
    }
    connection.execute(_INSERT, values)


def event_of(row: Sequence[Any]) -> ServiceEvent:
    """The event in a row of `LATER`."""
    sequence, time, kind, message, details = row
    return ServiceEvent(
        sequence=sequence, time=as_utc(time), kind=kind, message=message, details=from_json(details)
    )


_DETAIL_ONLY = ("request", "recipe", "plan")
_INTERNAL = ("pk", "lease", "beats", "num_events")
_JSON = (*_DETAIL_ONLY, "failure", "figures")
_MOMENTS = ("created_at", "not_before", "queued_at", "started_at", "finished_at")
_NUM_CACHED = 2_000
"""Runs. A page that is polled has the same ones."""

DETAIL_COLUMNS: tuple[ColumnElement[Any], ...] = tuple(
    column for column in runs.c if column.name not in _INTERNAL
)
SUMMARY_COLUMNS: tuple[ColumnElement[Any], ...] = tuple(
    column for column in runs.c if column.name not in (*_INTERNAL, *_DETAIL_ONLY)
)
STATE_COLUMNS: tuple[ColumnElement[Any], ...] = tuple(
    column for column in runs.c if column.name not in _DETAIL_ONLY
)
"""What a change of a run looks at: all but its large values."""
# By position: looking up twenty names per row takes longer than validating the values.
_DETAIL_FIELDS, _SUMMARY_FIELDS = (
    tuple("run_id" if column.name == "id" else column.name for column in columns)
    for columns in (DETAIL_COLUMNS, SUMMARY_COLUMNS)
)


@lru_cache(_NUM_CACHED)
def run_of(row: tuple[Any, ...]) -> Run:
    """The run in a row of `SUMMARY_COLUMNS`, as the driver returns it. Equal rows give the same object."""
    return Run.model_validate(_values(_SUMMARY_FIELDS, row))


def detail_of(row: Sequence[Any]) -> RunDetail:
    """The run in a row that begins with `DETAIL_COLUMNS`."""
    return RunDetail.model_validate(_values(_DETAIL_FIELDS, row))


def queued_row(run: NewRun, now: datetime) -> dict[str, Any]:
    """The row of a run that enters the queue."""
    request = run.request
    return {
        **_base_row(run),
        "created_at": now,
        "queued_at": now,
        "status": "queued",
        "priority": request.priority,
        "is_held": request.is_held,
        "device": request.device,
        "executor": request.executor,
    }


def unmanaged_row(run: UnmanagedRun) -> dict[str, Any]:
    """The row of an unmanaged run."""
    return {
        **_base_row(run.new),
        "created_at": run.created_at,
        "queued_at": run.created_at,
        "started_at": run.created_at,
        "status": run.current.status,
        "priority": 0,
        "is_held": False,
        "device": run.new.request.device,
        "executor": "direct",
        **end_values(run.current),
    }


def end_values(current: UnmanagedStatus) -> dict[str, Any]:
    """The columns that are known at the end of a run."""
    failure, figures = current.failure, current.figures
    return {
        "finished_at": current.finished_at,
        "exit_code": current.exit_code,
        "failure": None if failure is None else failure.model_dump_json(),
        "figures": None if figures is None else figures.model_dump_json(exclude_none=True),
    }


def late_values(run: NewRun) -> dict[str, Any]:
    """The columns that the directory of an unmanaged run may not have at its start."""
    row = _base_row(run)
    return {name: row[name] for name in ("recipe_name", "dataset", "engine", "request", "plan")}


def _base_row(run: NewRun) -> dict[str, Any]:
    return {
        "id": run.run_id,
        "recipe_name": run.recipe_name,
        "model": run.model,
        "dataset": run.dataset,
        "mode": run.mode,
        "engine": run.engine,
        "sweep_id": run.sweep_id,
        "request": run.request.model_dump_json(),
        "recipe": json.dumps(run.recipe),
        "plan": None if run.plan is None else json.dumps(run.plan),
        "num_attempts": 0,
        "num_failures": 0,
        "beats": 0,
        "num_events": 1,
    }


def _values(names: tuple[str, ...], row: Sequence[Any]) -> dict[str, Any]:
    values = dict(zip(names, row, strict=False))
    for name in _JSON:
        if values.get(name) is not None:
            values[name] = from_json(values[name])
    for name in _MOMENTS:
        values[name] = as_utc(values[name])
    return values
