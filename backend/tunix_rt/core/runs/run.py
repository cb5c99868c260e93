"""A run as the queue keeps it: the wire format of `GET /api/tunix/runs/{id}`."""

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from tunix_rt.base.records import Count, Record
from tunix_rt.core.runs.request import ExecutorName, RunRequest
from tunix_rt.engines.training.types import RunFailure, RunFigures, RunStatus

RunExecutor = ExecutorName | Literal["direct"]
"""`direct`: by `tunix-rt train`, outside the queue; no worker ever takes it."""

ServiceEventKind = Literal[
    "submitted",
    "imported",
    "claimed",
    "started",
    "lease-lost",
    "retry",
    "requeued",
    "paused",
    "resumed",
    "priority",
    "cancel-asked",
    "stopping",
    "killed",
    "evaluating",
    "evaluated",
    "succeeded",
    "failed",
    "cancelled",
    "warning",
]


class Run(Record):
    """One run, with everything but its recipe and its plan."""

    run_id: str
    status: RunStatus
    created_at: datetime
    priority: int
    is_held: bool
    not_before: datetime | None = None
    """A retry waits until then."""
    recipe_name: str
    model: str
    dataset: str
    mode: str
    engine: str
    device: str
    executor: RunExecutor
    sweep_id: str | None = None
    num_attempts: Count
    """How often a worker has taken it."""
    num_failures: Count
    """Infrastructure failures in a row, without progress between them."""
    worker_id: str | None = None
    queued_at: datetime
    started_at: datetime | None = None
    """Of the first attempt."""
    finished_at: datetime | None = None
    exit_code: int | None = None
    failure: RunFailure | None = None
    figures: RunFigures | None = None


class RunDetail(Run):
    """A run with what was asked for, what it resolved to and what was predicted."""

    request: RunRequest
    recipe: dict[str, JsonValue]
    plan: dict[str, JsonValue] | None = None


class ServiceEvent(Record):
    """Something that the queue or a worker did with a run. The engine's own events are in its directory."""

    sequence: Count
    """Counts the service's events of a run from 0."""
    time: datetime
    kind: ServiceEventKind
    message: str
    details: dict[str, JsonValue] = Field(default_factory=dict)


class Lease(Record):
    """A worker's right to a run. It holds as long as its holder beats, and for nobody else."""

    run_id: str
    token: str
    """Every write of the worker names it: whoever lost the lease can write nothing more."""


class Claim(Record):
    """What a worker gets when it takes a run."""

    lease: Lease
    run: RunDetail
    attempt: int
    """Counts from 1."""
