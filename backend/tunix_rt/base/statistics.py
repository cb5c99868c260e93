"""Wilson intervals, the sign test, histogram bins."""

import math
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

MAX_BINS = 20


class Bin(BaseModel):
    """Values from `low` to under `high`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    low: float
    high: float
    count: int


def histogram(counted: Mapping[float, int]) -> tuple[Bin, ...]:
    """How often each value occurs, in at most about `MAX_BINS` bins of width 1 or more; () without values.

    Empty bins between others are included.

    Example:
        {2: 1, 4: 3} -> 2 to 3: 1, 3 to 4: 0, 4 to 5: 3
    """
    if not counted:
        return ()
    width, spread = 1.0, (max(counted) - min(counted)) / MAX_BINS
    if spread > 1:
        # The next width that is 1, 2 or 5 times a power of ten.
        power = 10.0 ** math.floor(math.log10(spread))
        width = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= spread)
    first = math.floor(min(counted) / width)
    counts = [0] * (math.floor(max(counted) / width) - first + 1)
    for value, count in counted.items():
        counts[math.floor(value / width) - first] += count
    return tuple(
        Bin(low=(first + index) * width, high=(first + index + 1) * width, count=count)
        for index, count in enumerate(counts)
    )


class Share(BaseModel):
    """A count out of n, with the 95 % interval of the rate."""

    model_config = ConfigDict(frozen=True)
    count: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The rate; 0 if n is 0."""
        return self.count / self.n if self.n else 0.0

    def __str__(self) -> str:
        return f"{self.count:,} of {self.n:,} ({self.value:.1%}, 95 % {self.low:.1%}–{self.high:.1%})"


def wilson_share(count: int, n: int) -> Share:
    """The share `count / n` with its Wilson score interval.

    Unlike the textbook interval it stays within 0 and 1 and is right for shares near either.

    Example:
        0 of 50 -> 0.0 to 0.071
    """
    low, high = wilson_interval(count / n, n) if n else (0.0, 1.0)
    return Share(count=count, n=n, low=low, high=high)


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of a rate over n observations."""
    z = 1.959964
    centre = share + z * z / (2 * n)
    margin = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # Near 0 and 1, rounding may move a bound past the rate or out of [0, 1].
    return max(0.0, min(share, (centre - margin) / scale)), min(1.0, max(share, (centre + margin) / scale))


def sign_test(num_lost: int, num_gained: int) -> float:
    """Two-sided exact p-value if losses and gains were equally likely: on paired verdicts, McNemar's test.

    Integer arithmetic: nothing overflows, and only the last division rounds.

    Example:
        1 lost, 7 gained -> 2 * (1 + 8) / 2**8 = 0.0703
    """
    num_changed = num_lost + num_gained
    ways = total = 1
    for chosen in range(min(num_lost, num_gained)):
        ways = ways * (num_changed - chosen) // (chosen + 1)
        total += ways
    return min(1.0, 2 * total / (1 << num_changed))
