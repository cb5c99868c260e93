"""What a sweep may try for one key of the recipe."""

import json
import math
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator

from tunix_rt.base.records import Record

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
