"""The learning rate of each update: plain numbers, known before anything runs."""

import math
from collections.abc import Callable
from typing import TypeAlias

from tunix_rt.recipes.types import Schedule, TrainingSection

LearningRate: TypeAlias = Callable[[int], float]


def learning_rate_at(training: TrainingSection, num_steps: int) -> LearningRate:
    """The learning rate of each update, counted from 0; no update has a learning rate of zero.

    Example:
        peak 1.0, 5 updates, 2 of them warm-up, linear down to 0 -> 1/3, 2/3, 1, 2/3, 1/3
    """
    num_warmup = training.warmup_steps
    num_decaying = max(1, num_steps - num_warmup)
    final = training.final_learning_rate_fraction

    def at(step: int) -> float:
        if step < num_warmup:
            return training.learning_rate * (step + 1) / (num_warmup + 1)
        progress = min(1.0, (step - num_warmup) / num_decaying)
        return training.learning_rate * (final + (1 - final) * _remaining(training.schedule, progress))

    return at


def _remaining(schedule: Schedule, progress: float) -> float:
    """What is left of the peak after a share of the way down, from 1 to 0."""
    if schedule == "constant":
        return 1.0
    if schedule == "linear":
        return 1 - progress
    return (1 + math.cos(math.pi * progress)) / 2
