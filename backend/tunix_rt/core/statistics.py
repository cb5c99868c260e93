"""Honest numbers: a share never goes without its n and its interval."""

import math

from pydantic import BaseModel, ConfigDict


class Share(BaseModel):
    """How many of how many, with the 95 % interval of the share."""

    model_config = ConfigDict(frozen=True)
    count: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself; 0 of 0 is 0."""
        return self.count / self.n if self.n else 0.0

    def __str__(self) -> str:
        return f"{self.count:,} of {self.n:,} ({self.value:.1%}, 95 % {self.low:.1%}–{self.high:.1%})"


def wilson_share(count: int, n: int, *, z: float = 1.959964) -> Share:
    """The share `count / n` with its Wilson score interval.

    Unlike the textbook interval it stays within 0 and 1 and is right for shares near either.

    Example:
        0 of 50 -> 0.0 to 0.071
    """
    if n == 0:
        return Share(count=0, n=0, low=0.0, high=1.0)
    share = count / n
    centre = share + z * z / (2 * n)
    margin = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return Share(
        count=count, n=n, low=max(0.0, (centre - margin) / scale), high=min(1.0, (centre + margin) / scale)
    )
