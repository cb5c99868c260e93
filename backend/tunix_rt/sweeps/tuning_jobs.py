"""Sweeps in the schemas of /api/tuning."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tunix_rt.base.records import Pagination, flat
from tunix_rt.engines.training.types import RunFailure, RunStatus
from tunix_rt.models.types import Alias, ModelName, Note
from tunix_rt.runs.types import ExecutorName, Priority
from tunix_rt.sweeps.create import as_override, parse_sweep
from tunix_rt.sweeps.service import best_recipe_text, require_best
from tunix_rt.sweeps.types import (
    Metric,
    Parameter,
    PrunerName,
    SamplerName,
    Sweep,
    SweepDetail,
    SweepSpec,
    TrialStatus,
)

DEFAULT_RECIPE: dict[str, JsonValue] = {
    "data": {"row_length": 2048},
    "training": {"num_epochs": 3, "batch_size": 8, "learning_rate": 2e-5},
}
"""The recipe of a job with a model and no recipe."""
_MESSAGES: dict[RunStatus, str] = {
    "queued": "Waits until it is started.",
    "running": "A worker takes it up at its next poll.",
    "cancelling": "Its trials are asked to stop.",
    "cancelled": "Cancelled; it can be resumed.",
    "failed": "Failed.",
    "succeeded": "Succeeded.",
}
_GOALS = {"min": "minimize", "max": "maximize"}


class NewTuningJob(BaseModel):
    """The body of `POST /api/tuning/jobs`."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    name: str
    dataset_key: str | None = None
    """Default: the one in the recipe."""
    base_model_id: Annotated[str, Field(min_length=1)] | None = None
    """Built-in model or hub id. Default: the one in the recipe; one of the two is required."""
    recipe: str | dict[str, JsonValue] | None = None
    """Name of a recipe, or an inline recipe. Default: three epochs at batch size 8."""
    overrides: tuple[str, ...] = ()
    """`key=value` for every trial."""
    search_space: dict[str, Parameter]
    """Dotted key of the recipe to its search space."""
    metric_name: Metric = "score"
    metric_mode: Literal["min", "max"] | None = None
    """Optional: losses are minimized, the score is maximized."""
    eval_set: str | None = None
    """Every trial's model is evaluated on it; required by the metric score."""
    num_samples: Annotated[int, Field(ge=1)] | None = None
    """Number of trials. Required without `device_minutes`, unless the sampler is grid."""
    device_minutes: Annotated[float, Field(gt=0)] | None = None
    max_concurrent_trials: Annotated[int, Field(ge=1)] = 1
    sampler: SamplerName = "tpe"
    seed: int = 0
    pruner: PrunerName = "none"
    priority: Priority = 0
    device: Literal["auto", "cpu", "gpu", "tpu"] = "auto"
    engine: Literal["auto", "jax", "torch"] = "auto"
    executor: ExecutorName = "local"

    def spec(self) -> SweepSpec:
        """The sweep of this job.

        Raises:
            InvalidInputError: It is not a valid sweep.
        """
        values = self.model_dump(mode="json", include=set(SweepSpec.model_fields))
        model = [] if self.base_model_id is None else [as_override("model.name", self.base_model_id)]
        values |= {
            "recipe": DEFAULT_RECIPE if self.recipe is None else self.recipe,
            "dataset": self.dataset_key,
            "overrides": [*self.overrides, *model],
            "metric": self.metric_name,
            "direction": None if self.metric_mode is None else _GOALS[self.metric_mode],
            "budget": {"num_trials": self.num_samples, "device_minutes": self.device_minutes},
            "max_concurrent": self.max_concurrent_trials,
        }
        return parse_sweep(values, what="the job")


class TuningTrial(BaseModel):
    """One trial of a job."""

    id: str
    tuning_job_id: str
    run_id: str
    params: dict[str, JsonValue]
    status: TrialStatus
    metric_value: float | None = None
    error: str | None = None
    created_at: datetime
    completed_at: datetime | None = None


class TuningJob(BaseModel):
    """A sweep."""

    id: str
    name: str
    status: RunStatus
    dataset_key: str
    base_model_id: str
    metric_name: Metric
    metric_mode: Literal["min", "max"]
    num_samples: int | None = None
    """Maximum number of trials; absent if only device-minutes limit it."""
    num_trials: int
    """Trials so far."""
    max_concurrent_trials: int
    spec: SweepSpec
    best_run_id: str | None = None
    failure: RunFailure | None = None
    created_at: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None


class TuningJobDetail(TuningJob):
    """A sweep with its trials."""

    best_params: dict[str, JsonValue] | None = None
    best_value: float | None = None
    trials: tuple[TuningTrial, ...]


class TuningJobList(BaseModel):
    """A page of sweeps."""

    data: tuple[TuningJob, ...]
    pagination: Pagination


class TrialList(BaseModel):
    """The trials of a sweep."""

    data: tuple[TuningTrial, ...]


class JobStatus(BaseModel):
    """The response of `start`, `cancel` and `resume`."""

    job_id: str
    status: RunStatus
    message: str


class PromoteRequest(BaseModel):
    """The name under which to register the model of the best trial."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: ModelName
    alias: Alias | None = None
    notes: Note = ""


class BestRecipe(BaseModel):
    """The recipe of the best trial."""

    run_id: str
    params: dict[str, JsonValue]
    value: float
    recipe_yaml: str


def job_status(sweep: Sweep) -> JobStatus:
    """The status of a sweep, and what comes next."""
    return JobStatus(job_id=sweep.sweep_id, status=sweep.status, message=_MESSAGES[sweep.status])


def best_of(sweep: SweepDetail) -> BestRecipe:
    """The best trial and its recipe; ConflictError when no trial has succeeded."""
    best = require_best(sweep)
    assert best.value is not None
    text = best_recipe_text(sweep)
    return BestRecipe(run_id=best.run_id, params=best.params, value=best.value, recipe_yaml=text)


def job_detail(sweep: SweepDetail) -> TuningJobDetail:
    """A sweep with its trials."""
    best = {} if sweep.best is None else {"best_params": sweep.best.params, "best_value": sweep.best.value}
    return TuningJobDetail.model_validate(dict(job_of(sweep)) | best | {"trials": trials_of(sweep)})


def trials_of(sweep: SweepDetail) -> tuple[TuningTrial, ...]:
    """The trials in the order of their start."""
    return tuple(
        TuningTrial(
            id=f"{sweep.sweep_id}:{trial.number}",
            tuning_job_id=sweep.sweep_id,
            metric_value=trial.value,
            completed_at=trial.finished_at,
            **trial.model_dump(include={"run_id", "params", "status", "error", "created_at"}),
        )
        for trial in sweep.trials
    )


def job_of(sweep: Sweep) -> TuningJob:
    """A sweep without its trials."""
    recipe = flat(sweep.recipe)
    same = ("name", "status", "spec", "best_run_id", "failure", "created_at", "started_at", "num_trials")
    return TuningJob.model_validate(
        {
            **{name: getattr(sweep, name) for name in same},
            "id": sweep.sweep_id,
            "dataset_key": str(recipe.get("data.dataset", "")),
            "base_model_id": str(recipe.get("model.name", "")),
            "metric_name": sweep.spec.metric,
            "metric_mode": sweep.spec.goal.removesuffix("imize"),
            "num_samples": sweep.spec.max_trials,
            "max_concurrent_trials": sweep.spec.max_concurrent,
            "completed_at": sweep.finished_at,
        }
    )
