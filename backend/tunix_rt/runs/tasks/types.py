"""Task, request, progress, result."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from tunix_rt.base.records import Count, Record, Word
from tunix_rt.engines.training.types import RunFailure, RunStatus
from tunix_rt.engines.types import Decoding
from tunix_rt.models.types import ExportForm, ExportReport
from tunix_rt.runs.types import Lease

TaskKind = Literal["evaluation", "export"]
ModelWord = Annotated[str, Field(min_length=1, max_length=256)]


class _TaskOptions(Record):
    model_config = ConfigDict(use_attribute_docstrings=True)

    engine: Literal["auto", "jax", "torch"] = "auto"
    device: Literal["auto", "cpu", "gpu", "tpu"] = "auto"


class EvaluateModel(_TaskOptions):
    """Let a model answer an eval set, and judge what it writes."""

    kind: Literal["evaluation"]
    model: ModelWord
    """A registered model (`name`, `name@alias`, `name:version`) or the id of a run. Never a path."""
    eval_set: Word
    """Name of a shipped eval set or of one in the home's `evalsets/`."""
    decoding: Decoding = Decoding()
    is_lenient: bool = False
    """Also look for answers in phrases and last numbers, counted apart."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Only the first items: another eval set, and so not comparable with the whole one."""


class ExportModel(_TaskOptions):
    """Write a registered model for other programs, and prove that it is the same."""

    kind: Literal["export"]
    model: ModelWord
    """A registered model (`name`, `name@alias`, `name:version`)."""
    form: ExportForm
    """merged: a whole model; adapter: as PEFT loads it; zip: what was registered."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of merged weights. auto: as the base model has them."""


TaskRequest = Annotated[EvaluateModel | ExportModel, Field(discriminator="kind")]


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
