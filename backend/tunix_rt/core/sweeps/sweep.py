"""Sweeps and trials as the store keeps them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, JsonValue, model_validator

from tunix_rt.base.records import Count, Record
from tunix_rt.core.sweeps.spec import Direction, SweepSpec
from tunix_rt.engines.training.types import RunFailure, RunStatus

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
