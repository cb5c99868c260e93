"""Search spaces, spec, sweep, trials, states.

queued      created; started -> running
running     budget spent -> succeeded, or failed if no trial succeeded; asked to stop -> cancelling
cancelling  every trial has stopped -> cancelled, unless its end comes first
cancelled   resumed -> running, with its cancelled trials
failed      resumed -> running
"""

import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from tunix_rt.base.errors import ConflictError
from tunix_rt.base.records import Count, Record
from tunix_rt.engines.training.types import RunFailure, RunStatus
from tunix_rt.runs.types import ExecutorName, Priority, ServiceEvent, ServiceEventKind

_CLAIM_ENDS: frozenset[ServiceEventKind] = frozenset(
    {"lease-lost", "retry", "requeued", "paused", "cancelled", "failed", "succeeded"}
)


def device_seconds(events: Iterable[ServiceEvent], now: datetime) -> float:
    """Seconds from each claim to its end; an active claim counts up to `now`.

    Example:
        claimed 12:00, retry 12:10, claimed 12:30, now 12:31 -> 660
    """
    total, since = 0.0, None
    for event in events:
        if event.kind == "claimed":
            since = event.time
        elif event.kind in _CLAIM_ENDS and since is not None:
            total += max((event.time - since).total_seconds(), 0.0)
            since = None
    return total if since is None else total + max((now - since).total_seconds(), 0.0)


MAX_CHOICES = 100
"""Each is checked against the recipe when the sweep is created."""
MAX_GRID_POINTS = 10_000


class ChoiceSpace(Record):
    """One of these values: numbers, words, lists."""

    type: Literal["choice"]
    values: Annotated[tuple[JsonValue, ...], Field(min_length=1, max_length=MAX_CHOICES)]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len(set(map(json.dumps, self.values))) < len(self.values):
            raise ValueError("values names a value twice")
        return self

    def ends(self) -> tuple[JsonValue, ...]:
        """Values such that a recipe that accepts them accepts all."""
        return self.values

    def points(self) -> tuple[JsonValue, ...]:
        """Every value, for a grid."""
        return self.values


class _Range(Record):
    min: float
    max: float

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.min >= self.max:
            raise ValueError("min must be below max")
        return self

    def ends(self) -> tuple[JsonValue, ...]:
        """Values such that a recipe that accepts them accepts all."""
        return (self.min, self.max)

    def points(self) -> tuple[JsonValue, ...] | None:
        """None: a continuous range has no finite grid."""
        return None


class Uniform(_Range):
    """Any number from min to max."""

    type: Literal["uniform"]


class LogUniform(_Range):
    """Any number from min to max, uniform in the logarithm."""

    type: Literal["loguniform"]
    min: Annotated[float, Field(gt=0)]


class _IntRange(_Range):
    min: int
    max: int

    def points(self) -> tuple[JsonValue, ...] | None:
        """Every whole number, for a grid."""
        return tuple(range(self.min, min(self.max, self.min + MAX_GRID_POINTS) + 1))


class RandInt(_IntRange):
    """Any whole number from min to max, both included."""

    type: Literal["randint"]


class LogRandInt(_IntRange):
    """Any whole number from min to max, uniform in the logarithm."""

    type: Literal["lograndint"]
    min: Annotated[int, Field(ge=1)]


Parameter = Annotated[
    ChoiceSpace | Uniform | LogUniform | RandInt | LogRandInt,
    Field(discriminator="type"),
]


def num_grid_points(space: Mapping[str, Parameter]) -> int | None:
    """The number of combinations; None if a range is continuous.

    Example:
        {"batch_size": ChoiceSpace(8, 16), "rank": RandInt(1, 3)} -> 6
    """
    points = [parameter.points() for parameter in space.values()]
    return None if None in points else math.prod(len(found or ()) for found in points)


Direction = Literal["minimize", "maximize"]
Metric = Literal["validation_loss", "loss", "score"]
SamplerName = Literal["tpe", "random", "grid"]
PrunerName = Literal["none", "median", "hyperband"]
NAME_PATTERN = r"^[a-z0-9][a-z0-9-]{0,39}$"

_DIRECTIONS: dict[Metric, Direction] = {
    "validation_loss": "minimize",
    "loss": "minimize",
    "score": "maximize",
}


class Budget(Record):
    """The limit of a sweep: a number of trials, time on devices, or whichever comes first."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    num_trials: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Trials, including failed and pruned ones."""
    device_minutes: Annotated[float, Field(gt=0)] | None = None
    """Minutes on devices, over all trials. Trials that run when they are spent are stopped."""


class SweepSpec(Record):
    """A recipe, the keys to search, and how to search them."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    """Lowercase letters, digits and dashes, at most 40; part of the ids of the sweep and its runs."""
    recipe: Annotated[str, Field(min_length=1)] | Annotated[dict[str, JsonValue], Field(min_length=1)]
    """Name of a recipe, or an inline recipe."""
    dataset: str | None = None
    """Key of the dataset. Default: the one in the recipe."""
    overrides: tuple[str, ...] = ()
    """`key=value` for every trial, as `tunix-rt train --set` takes them."""
    search_space: Annotated[dict[str, Parameter], Field(min_length=1, max_length=50)]
    """Dotted key of the recipe to its search space."""
    sampler: SamplerName = "tpe"
    """Tree-structured Parzen estimator, random search, or every combination once."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """The same seed and the same results give the same trials."""
    pruner: PrunerName = "none"
    """Stops unpromising trials while they run."""
    prune_after_trials: Annotated[int, Field(ge=1)] = 4
    """Trials that must end before `median` stops one."""
    prune_after_percent: Annotated[int, Field(ge=1, le=99)] = 10
    """Percent of its training that every trial completes before it may be stopped."""
    metric: Metric = "validation_loss"
    """The metric to optimize."""
    direction: Direction | None = None
    """Optional: losses are minimized, the score is maximized."""
    eval_set: str | None = None
    """Every trial's model is evaluated on it; `score` is the accuracy."""
    budget: Budget = Budget()
    """Optional for a grid, which ends with its last combination."""
    max_concurrent: Annotated[int, Field(ge=1, le=256)] = 1
    """Maximum number of trials that are queued or running."""
    priority: Priority = 0
    """Priority of the trials in the queue."""
    device: Literal["auto", "cpu", "gpu", "tpu"] = "auto"
    """Of every trial."""
    engine: Literal["auto", "jax", "torch"] = "auto"
    """Of every trial."""
    executor: ExecutorName = "local"
    """Where trials run."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.metric == "score" and self.eval_set is None:
            raise ValueError("the metric score needs an eval_set")
        if self.direction not in (None, self.goal):
            raise ValueError(f"the metric {self.metric} can only be {self.goal}d; remove direction")
        if self.pruner != "none" and self.metric == "score":
            raise ValueError(
                "the score is known only at the end of a trial, so it cannot prune: set pruner to none"
            )
        given = [key for key in ("prune_after_trials", "prune_after_percent") if key in self.model_fields_set]
        if self.pruner == "none" and given:
            raise ValueError(f"{given[0]} needs a pruner")
        if self.pruner == "hyperband" and "prune_after_trials" in given:
            raise ValueError("prune_after_trials is a key of the pruner median only")
        if self.sampler == "grid":
            num_points = num_grid_points(self.search_space)
            if num_points is None:
                raise ValueError(
                    "a grid needs choice or randint for every key: a continuous range has no finite grid"
                )
            if num_points > MAX_GRID_POINTS:
                raise ValueError(f"the grid has more than {MAX_GRID_POINTS:,} combinations")
        elif self.budget.num_trials is None and self.budget.device_minutes is None:
            raise ValueError("set budget.num_trials or budget.device_minutes")
        return self

    @property
    def goal(self) -> Direction:
        """Whether the metric is minimized or maximized."""
        return _DIRECTIONS[self.metric]

    @property
    def max_trials(self) -> int | None:
        """Maximum number of trials by the budget and the grid; None if only time limits it."""
        limits = [self.budget.num_trials]
        if self.sampler == "grid":
            limits.append(num_grid_points(self.search_space))
        return min((limit for limit in limits if limit is not None), default=None)


ALLOWED: dict[RunStatus, frozenset[RunStatus]] = {
    "queued": frozenset({"running", "cancelled"}),
    "running": frozenset({"cancelling", "failed", "succeeded"}),
    # A sweep that is asked to stop may have ended before the request arrives.
    "cancelling": frozenset({"cancelled", "failed", "succeeded"}),
    "cancelled": frozenset({"running"}),
    "failed": frozenset({"running"}),
    "succeeded": frozenset(),
}


def require_sweep_transition(sweep_id: str, before: RunStatus, after: RunStatus) -> None:
    """Refuse a transition that is not in the table above.

    Raises:
        ConflictError: The transition is not allowed.
    """
    if after not in ALLOWED[before]:
        raise ConflictError(
            f"The sweep {sweep_id} is {before}; it cannot become {after}.",
            next_step=f"Show it: tunix-rt tune show {sweep_id}",
        )


TrialStatus = Literal["queued", "running", "cancelled", "pruned", "failed", "succeeded"]
OPEN_TRIAL: frozenset[TrialStatus] = frozenset({"queued", "running"})


class Trial(Record):
    """One combination of values and the run that tries it."""

    number: Count
    """Counts the trials of a sweep from 0."""
    run_id: str
    params: dict[str, JsonValue]
    """Dotted key of the recipe to the value that is tried."""
    status: TrialStatus
    value: float | None = None
    """The metric at the end, or where a pruned trial was stopped."""
    error: str | None = None
    """Why there is no value, or why it was stopped."""
    created_at: datetime
    finished_at: datetime | None = None

    @model_validator(mode="after")
    def _measured_when_it_succeeded(self) -> Self:
        if self.status == "succeeded" and self.value is None:
            raise ValueError("a trial that succeeded has a value")
        return self

    @property
    def is_open(self) -> bool:
        """Whether it is queued or running."""
        return self.status in OPEN_TRIAL


class Sweep(Record):
    """A search over recipes."""

    sweep_id: str
    name: str
    status: RunStatus
    spec: SweepSpec
    recipe: dict[str, JsonValue]
    """The base of every trial: the recipe with its overrides when the sweep was created."""
    created_at: datetime
    started_at: datetime | None = None
    """Of the last start or resume."""
    finished_at: datetime | None = None
    best_run_id: str | None = None
    failure: RunFailure | None = None
    worker_id: str | None = None
    """The worker that advances it."""
    num_trials: Count = 0
    """Trials so far."""


class SweepDetail(Sweep):
    """A sweep with its trials, in the order of their start."""

    trials: tuple[Trial, ...] = ()

    @property
    def best(self) -> Trial | None:
        """The best trial so far."""
        return best_trial(self.trials, self.spec.goal)


class SweepPage(BaseModel):
    """A page of sweeps, and the total."""

    model_config = ConfigDict(frozen=True)
    data: tuple[Sweep, ...]
    total: int


def best_trial(trials: Iterable[Trial], goal: Direction) -> Trial | None:
    """The successful trial with the best value; the first of equal ones."""
    sign = 1 if goal == "minimize" else -1
    measured = [trial for trial in trials if trial.status == "succeeded"]
    return min(measured, key=lambda trial: sign * (trial.value or 0.0), default=None)


def trial_run_id(sweep_id: str, number: int) -> str:
    """The id of the run of a trial. It is fixed, so that no trial is submitted twice."""
    return f"{sweep_id}-t{number:04d}"
