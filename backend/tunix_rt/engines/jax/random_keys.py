"""What a seed decides: independent streams of random numbers, the same in training and in generation."""

from typing import NamedTuple

import jax
from jax import Array


class RandomKeys(NamedTuple):
    """One key a use."""

    weights: Array
    adapters: Array
    steps: Array


def random_keys(seed: int) -> RandomKeys:
    """Independent streams from the one seed."""
    return RandomKeys(*jax.random.split(jax.random.key(seed), 3))
