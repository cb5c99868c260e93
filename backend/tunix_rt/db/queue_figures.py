"""Figures of the queue: how many runs and workers are where, and how long runs wait."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, case, extract, func, or_, select

from tunix_rt.base.db.engine import reading
from tunix_rt.base.db.schema import run_events, runs, tasks, workers
from tunix_rt.engines.training.types import RUN_STATUSES

WAIT_BUCKETS_S = (1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400)


@dataclass(frozen=True)
class QueueFigures:
    """The queue at one moment."""

    num_runs: dict[str, int]
    """By status; every status is there."""
    num_tasks: dict[str, int]
    """Evaluations and exports, likewise."""
    num_waiting: int
    """Runs that a worker could take now."""
    oldest_wait_s: float
    """How long the first of them has been waiting; 0 when none is."""
    num_within: tuple[int, ...]
    """How many runs began within each of `WAIT_BUCKETS_S` of being submitted."""
    num_begun: int
    sum_wait_s: float
    num_lease_losses: int
    num_workers: dict[str, int]
    """By status."""
    running: tuple[str, ...]
    """The ids of the runs that go on."""


def queue_figures(engine: Engine, now: datetime) -> QueueFigures:
    """Read them in one transaction."""
    with reading(engine) as connection:
        num_waiting, oldest = _waiting(connection, now)
        num_within, num_begun, sum_wait_s = _waits(connection)
        losses = select(func.count()).where(run_events.c.kind == "lease-lost")
        running = select(runs.c.id).where(runs.c.status == "running").order_by(runs.c.pk)
        return QueueFigures(
            num_runs=dict.fromkeys(RUN_STATUSES, 0) | _counts(connection, runs.c.status),
            num_tasks=dict.fromkeys(RUN_STATUSES, 0) | _counts(connection, tasks.c.status),
            num_waiting=num_waiting,
            oldest_wait_s=0.0 if oldest is None else max((now - oldest).total_seconds(), 0.0),
            num_within=num_within,
            num_begun=num_begun,
            sum_wait_s=sum_wait_s,
            num_lease_losses=int(connection.execute(losses).scalar_one()),
            num_workers=_counts(connection, workers.c.status),
            running=tuple(connection.execute(running).scalars()),
        )


def _counts(connection: Connection, column: ColumnElement[str]) -> dict[str, int]:
    rows = connection.execute(select(column, func.count()).group_by(column))
    return {value: int(count) for value, count in rows}


def _waiting(connection: Connection, now: datetime) -> tuple[int, datetime | None]:
    may_start = or_(runs.c.not_before.is_(None), runs.c.not_before <= now)
    chosen = select(func.count(), func.min(runs.c.queued_at)).where(
        runs.c.status == "queued", runs.c.is_held.is_(False), may_start
    )
    count, oldest = connection.execute(chosen).one()
    return int(count), oldest


def _waits(connection: Connection) -> tuple[tuple[int, ...], int, float]:
    wait_s: ColumnElement[Any] = extract("epoch", runs.c.started_at) - extract("epoch", runs.c.created_at)
    within = [func.coalesce(func.sum(case((wait_s <= bound, 1), else_=0)), 0) for bound in WAIT_BUCKETS_S]
    begun = select(*within, func.count(), func.coalesce(func.sum(wait_s), 0)).where(
        runs.c.started_at.is_not(None)
    )
    *counts, num_begun, sum_wait_s = connection.execute(begun).one()
    return tuple(map(int, counts)), int(num_begun), float(sum_wait_s)
