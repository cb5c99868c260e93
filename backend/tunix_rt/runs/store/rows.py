"""Rows to runs and back; event rows."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from pydantic import JsonValue
from pydantic_core import from_json
from sqlalchemy import ColumnElement, Connection, bindparam, insert, select

from tunix_rt.base.db.schema import as_utc, run_events, runs
from tunix_rt.runs.types import (
    NewRun,
    OutsideRun,
    OutsideStanding,
    Run,
    RunDetail,
    ServiceEvent,
    ServiceEventKind,
)

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
            "time": as_utc(time),
            "kind": kind,
            "message": message,
            "details": from_json(details),
        }
    )


_OF_A_DETAIL = ("request", "recipe", "plan")
_NOT_SHOWN = ("pk", "lease", "beats", "num_events")
_JSON = (*_OF_A_DETAIL, "failure", "figures")
_MOMENTS = ("created_at", "not_before", "queued_at", "started_at", "finished_at")
_NUM_REMEMBERED = 2_000
"""Runs: a page that is looked at again and again has the same ones."""

DETAIL_COLUMNS: tuple[ColumnElement[Any], ...] = tuple(
    column for column in runs.c if column.name not in _NOT_SHOWN
)
SUMMARY_COLUMNS: tuple[ColumnElement[Any], ...] = tuple(
    column for column in runs.c if column.name not in (*_NOT_SHOWN, *_OF_A_DETAIL)
)
# By position: to look up twenty names in every row takes longer than to check what they hold.
_DETAIL_FIELDS, _SUMMARY_FIELDS = (
    tuple("run_id" if column.name == "id" else column.name for column in columns)
    for columns in (DETAIL_COLUMNS, SUMMARY_COLUMNS)
)


@lru_cache(_NUM_REMEMBERED)
def run_of(row: tuple[Any, ...]) -> Run:
    """The run in a row of `SUMMARY_COLUMNS`, as a driver gives it. The same row is always the same run."""
    return Run.model_validate(_values(_SUMMARY_FIELDS, row))


def detail_of(row: Sequence[Any]) -> RunDetail:
    """The run in a row that begins with `DETAIL_COLUMNS`."""
    return RunDetail.model_validate(_values(_DETAIL_FIELDS, row))


def queued_row(run: NewRun, now: datetime) -> dict[str, Any]:
    """The row of a run that enters the queue."""
    request = run.request
    return {
        **_row_of_new(run),
        "created_at": now,
        "queued_at": now,
        "status": "queued",
        "priority": request.priority,
        "is_held": request.is_held,
        "device": request.device,
        "executor": request.executor,
    }


def outside_row(run: OutsideRun) -> dict[str, Any]:
    """The row of a run that never was in the queue."""
    return {
        **_row_of_new(run.new),
        "created_at": run.created_at,
        "queued_at": run.created_at,
        "started_at": run.created_at,
        "status": run.standing.status,
        "priority": 0,
        "is_held": False,
        "device": run.new.request.device,
        "executor": "direct",
        **end_values(run.standing),
    }


def end_values(standing: OutsideStanding) -> dict[str, Any]:
    """What is known at the end of a run."""
    failure, figures = standing.failure, standing.figures
    return {
        "finished_at": standing.finished_at,
        "exit_code": standing.exit_code,
        "failure": None if failure is None else failure.model_dump_json(),
        "figures": None if figures is None else figures.model_dump_json(exclude_none=True),
    }


def late_values(run: NewRun) -> dict[str, Any]:
    """What the directory of a run did not tell yet when the run was seen to begin."""
    row = _row_of_new(run)
    return {name: row[name] for name in ("recipe_name", "dataset", "engine", "request", "plan")}


def _row_of_new(run: NewRun) -> dict[str, Any]:
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
