"""Counted values in bins of a round width, ready to be drawn."""

import math
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

MAX_BINS = 20
_ROUND = (1, 2, 5, 10)


class Bin(BaseModel):
    """Values from `low` to under `high`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    low: float
    high: float
    count: int


def histogram(counted: Mapping[float, int], *, min_width: float = 1) -> tuple[Bin, ...]:
    """The values in about `MAX_BINS` bins or fewer, empty ones in between included; none of no values.

    Args:
        counted: how often each value occurs.
        min_width: no bin is narrower; 1 for whole numbers.

    Example:
        {2: 1, 4: 3} -> 2 to 3: 1, 3 to 4: 0, 4 to 5: 3
    """
    if not counted:
        return ()
    width = max(min_width, _round_width((max(counted) - min(counted)) / MAX_BINS))
    first = math.floor(min(counted) / width)
    counts = [0] * (math.floor(max(counted) / width) - first + 1)
    for value, count in counted.items():
        counts[math.floor(value / width) - first] += count
    return tuple(
        Bin(low=(first + index) * width, high=(first + index + 1) * width, count=count)
        for index, count in enumerate(counts)
    )


def _round_width(width: float) -> float:
    """The next width that is 1, 2 or 5 times a power of ten; 0 of 0."""
    if width == 0:
        return 0
    power = 10.0 ** math.floor(math.log10(width))
    return next(factor * power for factor in _ROUND if factor * power >= width)
