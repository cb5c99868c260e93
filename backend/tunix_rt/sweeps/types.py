"""Search spaces, spec, sweep, trials, states.

queued      created; started -> running
running     budget spent -> succeeded, or failed when no trial succeeded; told to stop -> cancelling
cancelling  every trial has stopped -> cancelled, unless its end comes first
cancelled   resumed -> running, with the trials that were stopped
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
    """Seconds from each claim to what ended it; a claim that holds counts up to `now`.

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
"""Each is tried on the recipe when the sweep is created."""
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
        """Values such that, if the recipe takes them, it takes all."""
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
        """Values such that, if the recipe takes them, it takes all."""
        return (self.min, self.max)

    def points(self) -> tuple[JsonValue, ...] | None:
        """None: there is no end of values between two numbers."""
        return None


class Uniform(_Range):
    """Any number from min to max."""

    type: Literal["uniform"]


class LogUniform(_Range):
    """Any number from min to max, each order of magnitude as likely as the next."""

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
    """The same, each order of magnitude as likely as the next."""

    type: Literal["lograndint"]
    min: Annotated[int, Field(ge=1)]


Parameter = Annotated[
    ChoiceSpace | Uniform | LogUniform | RandInt | LogRandInt,
    Field(discriminator="type"),
]


def num_grid_points(space: Mapping[str, Parameter]) -> int | None:
    """How many combinations there are; None when a range of numbers has no end of them.

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
_PRUNER_KEYS = ("prune_after_trials", "prune_after_percent")


class Budget(Record):
    """When a sweep has had enough: after so many trials, so much time on devices, or whichever is first."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    num_trials: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Trials, failed and pruned ones included."""
    device_minutes: Annotated[float, Field(gt=0)] | None = None
    """Minutes on a device, of all trials together. What runs when they are spent is stopped."""


class SweepSpec(Record):
    """A recipe, the keys of it that are searched, and how."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    """Small letters, digits and dashes, at most 40; becomes part of the ids of sweep and runs."""
    recipe: str | dict[str, JsonValue]
    """Name of a recipe, or the recipe itself."""
    dataset: str | None = None
    """Key of the dataset. Default: the recipe's."""
    overrides: tuple[str, ...] = ()
    """`key=value` for every trial, as `tunix-rt train --set` takes them."""
    search_space: Annotated[dict[str, Parameter], Field(min_length=1, max_length=50)]
    """Dotted key of the recipe to what may be tried for it."""
    sampler: SamplerName = "tpe"
    """Tree-structured Parzen estimator, chance, or every combination once."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """The same seed and the same results give the same trials."""
    pruner: PrunerName = "none"
    """Who stops trials that look hopeless while they run."""
    prune_after_trials: Annotated[int, Field(ge=1)] = 4
    """Trials that must have ended before `median` stops one."""
    prune_after_percent: Annotated[int, Field(ge=1, le=99)] = 10
    """Share of its training that every trial is given."""
    metric: Metric = "validation_loss"
    """What makes one trial better than another."""
    direction: Direction | None = None
    """Only for those who like to say it: losses are minimized, the score is maximized."""
    eval_set: str | None = None
    """Each trial's model is evaluated on it; `score` is the accuracy there."""
    budget: Budget = Budget()
    """A grid needs none: it ends with its last combination."""
    max_concurrent: Annotated[int, Field(ge=1, le=256)] = 1
    """Trials that are queued or run at one time."""
    priority: Priority = 0
    """Of the trials in the queue."""
    device: Literal["auto", "cpu", "gpu", "tpu"] = "auto"
    """Of every trial."""
    engine: Literal["auto", "jax", "torch"] = "auto"
    """Of every trial."""
    executor: ExecutorName = "local"
    """Where trials run."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for problem in (self._metric_problem(), self._pruner_problem(), self._budget_problem()):
            if problem is not None:
                raise ValueError(problem)
        return self

    def _metric_problem(self) -> str | None:
        if self.metric == "score" and self.eval_set is None:
            return "the metric score needs an eval_set"
        if self.direction not in (None, self.goal):
            return f"the metric {self.metric} can only be {self.goal}d; remove direction"
        return None

    def _pruner_problem(self) -> str | None:
        if self.pruner != "none" and self.metric == "score":
            return "a score is known only at the end, so nothing can be pruned by it: set pruner to none"
        given = [key for key in _PRUNER_KEYS if key in self.model_fields_set]
        if self.pruner == "none" and given:
            return f"{given[0]} needs a pruner"
        if self.pruner == "hyperband" and "prune_after_trials" in given:
            return "prune_after_trials is a key of the pruner median only"
        return None

    def _budget_problem(self) -> str | None:
        if self.sampler != "grid":
            is_endless = self.budget.num_trials is None and self.budget.device_minutes is None
            return "give budget.num_trials or budget.device_minutes" if is_endless else None
        num_points = num_grid_points(self.search_space)
        if num_points is None:
            return "a grid needs choice or randint for every key: a range of numbers has no end of points"
        if num_points > MAX_GRID_POINTS:
            return f"the grid has more than {MAX_GRID_POINTS:,} combinations"
        return None

    @property
    def goal(self) -> Direction:
        """Whether less or more of the metric is better."""
        return _DIRECTIONS[self.metric]

    @property
    def max_trials(self) -> int | None:
        """The most trials that the budget and the grid allow; None: time decides."""
        limits = [self.budget.num_trials]
        if self.sampler == "grid":
            limits.append(num_grid_points(self.search_space))
        return min((limit for limit in limits if limit is not None), default=None)


ALLOWED: dict[RunStatus, frozenset[RunStatus]] = {
    "queued": frozenset({"running", "cancelled"}),
    "running": frozenset({"cancelling", "failed", "succeeded"}),
    # A sweep that is told to stop may have reached its end before it hears of it.
    "cancelling": frozenset({"cancelled", "failed", "succeeded"}),
    "cancelled": frozenset({"running"}),
    "failed": frozenset({"running"}),
    "succeeded": frozenset(),
}


def require_sweep_transition(sweep_id: str, before: RunStatus, after: RunStatus) -> None:
    """Refuse a step that the picture above does not have.

    Raises:
        ConflictError: The sweep cannot go there from where it stands.
    """
    if after not in ALLOWED[before]:
        raise ConflictError(
            f"The sweep {sweep_id} is {before}; it cannot become {after}.",
            next_step=f"Look at it first: tunix-rt tune show {sweep_id}",
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
    """The metric at the end; of a pruned trial, where it was stopped."""
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
        """Whether something is still to come."""
        return self.status in OPEN_TRIAL


class Sweep(Record):
    """A search over recipes."""

    sweep_id: str
    name: str
    status: RunStatus
    spec: SweepSpec
    recipe: dict[str, JsonValue]
    """What every trial starts from: the recipe with its overrides, as it was when the sweep was created."""
    created_at: datetime
    started_at: datetime | None = None
    """Of the last start or resume."""
    finished_at: datetime | None = None
    best_run_id: str | None = None
    failure: RunFailure | None = None
    worker_id: str | None = None
    """The worker that looks after it."""
    num_trials: Count = 0
    """Trials so far."""


class SweepDetail(Sweep):
    """A sweep with its trials, in the order in which they began."""

    trials: tuple[Trial, ...] = ()

    @property
    def best(self) -> Trial | None:
        """The best trial so far."""
        return best_trial(self.trials, self.spec.goal)


class SweepPage(BaseModel):
    """A page of sweeps, and how many there are."""

    model_config = ConfigDict(frozen=True)
    data: tuple[Sweep, ...]
    total: int


def best_trial(trials: Iterable[Trial], goal: Direction) -> Trial | None:
    """The trial that succeeded with the best value, the first of equal ones."""
    sign = 1 if goal == "minimize" else -1
    measured = [trial for trial in trials if trial.status == "succeeded"]
    return min(measured, key=lambda trial: sign * (trial.value or 0.0), default=None)


def trial_run_id(sweep_id: str, number: int) -> str:
    """The id of a trial's run. It is fixed, so that no trial can be submitted twice."""
    return f"{sweep_id}-t{number:04d}"
