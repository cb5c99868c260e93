"""Seeded chance that gives the same draws on every machine and Python version."""

import hashlib
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def derived_seed(*parts: object) -> int:
    """One seed from what names an item, so that items do not depend on how many came before them."""
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big")


class Dice:
    """Draws made from `Random.random()` alone: the one method whose sequence Python promises to keep."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.between(0, len(items) - 1)]

    def sample(self, items: Sequence[T], size: int) -> list[T]:
        """That many different items, in random order."""
        return self.shuffled(items)[:size]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in random order (Fisher-Yates)."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = self.between(0, last)
            result[last], result[other] = result[other], result[last]
        return result

    def chance(self, percent: int) -> bool:
        """True in about that many of a hundred draws."""
        return self.between(1, 100) <= percent
