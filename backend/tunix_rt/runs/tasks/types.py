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
    """Evaluate a model on an eval set."""

    kind: Literal["evaluation"]
    model: ModelWord
    """A registered model (`name`, `name@alias`, `name:version`) or the id of a run. Never a path."""
    eval_set: Word
    """Name of a shipped eval set or of one in `evalsets/` of the home."""
    decoding: Decoding = Decoding()
    is_lenient: bool = False
    """Also extract answers from phrases and last numbers, reported separately."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Only the first items: not comparable with the whole eval set."""


class ExportModel(_TaskOptions):
    """Export a registered model, and verify the export."""

    kind: Literal["export"]
    model: ModelWord
    """A registered model (`name`, `name@alias`, `name:version`)."""
    form: ExportForm
    """merged: a whole model; adapter: for PEFT; zip: the registered files."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of merged weights. auto: that of the base model."""


TaskRequest = Annotated[EvaluateModel | ExportModel, Field(discriminator="kind")]


class TaskProgress(Record):
    """The progress of a task: the content of its `progress.json`."""

    stage: str
    """The current stage: `generating answers`."""
    num_done: Count | None = None
    num_total: Count | None = None
    tokens_per_s: float | None = None


class TaskResult(Record):
    """The result of a task: the content of its `result.json`, which is written last."""

    evaluation_id: UUID | None = None
    export: ExportReport | None = None


class Task(Record):
    """One task. It has the states of a run."""

    task_id: UUID
    status: RunStatus
    created_at: datetime
    model: str
    """The model that the request resolved to: `name:version`, or the id of a run."""
    request: TaskRequest
    num_attempts: Count
    """How often a worker has claimed it."""
    num_failures: Count
    """Number of infrastructure failures."""
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
    """What a worker gets when it claims a task."""

    lease: Lease
    """Its `run_id` is the id of the task."""
    task: Task


class TaskFilter(Record):
    """A filter of tasks: all given conditions must hold; none given means all tasks."""

    kind: TaskKind | None = None
    model: str | None = None
    """`name:version`, or the id of a run."""
    status: tuple[RunStatus, ...] = ()
    """Any of these; none given means all."""
