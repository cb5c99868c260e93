"""A task as the queue keeps it: the wire format of `GET /api/tasks/{id}`."""

from datetime import datetime
from uuid import UUID

from tunix_rt.base.records import Count, Record
from tunix_rt.core.runs.run import Lease
from tunix_rt.core.tasks.request import TaskKind, TaskRequest
from tunix_rt.engines.training.types import RunFailure, RunStatus
from tunix_rt.models.types import ExportReport


class TaskProgress(Record):
    """How far a task is, in its own words. The content of its `progress.json`."""

    stage: str
    """What it does now: `writing the answers`."""
    num_done: Count | None = None
    num_total: Count | None = None
    tokens_per_s: float | None = None


class TaskResult(Record):
    """What a task made. The content of its `result.json`, which is written last."""

    evaluation_id: UUID | None = None
    export: ExportReport | None = None


class Task(Record):
    """One task. Its states are those of a run."""

    task_id: UUID
    status: RunStatus
    created_at: datetime
    model: str
    """What the request's name meant when it was asked: `name:version`, or the id of a run."""
    request: TaskRequest
    num_attempts: Count
    """How often a worker has taken it."""
    num_failures: Count
    """How often it broke down for reasons outside of it."""
    not_before: datetime | None = None
    """A retry waits until then."""
    worker_id: str | None = None
    started_at: datetime | None = None
    """Of the first attempt."""
    finished_at: datetime | None = None
    progress: TaskProgress | None = None
    """While it is running."""
    failure: RunFailure | None = None
    result: TaskResult | None = None


class TaskClaim(Record):
    """What a worker gets when it takes a task."""

    lease: Lease
    """Its `run_id` is the id of the task."""
    task: Task


class TaskFilter(Record):
    """Which tasks are meant. Everything given must hold; nothing given means all of them."""

    kind: TaskKind | None = None
    model: str | None = None
    """`name:version`, or the id of a run."""
    status: tuple[RunStatus, ...] = ()
    """Any of these; none given means all."""


class TaskPage(Record):
    """A page of tasks, and how many there are in all."""

    data: tuple[Task, ...]
    total: Count
