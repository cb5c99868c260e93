"""What somebody asks for when they start a sweep: the content of a sweep's YAML file."""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from tunix_rt.base.records import Record
from tunix_rt.core.sweeps.search_space import MAX_GRID_POINTS, Parameter, num_grid_points
from tunix_rt.runs.types import ExecutorName, Priority

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
