"""What a training step changes: the whole of it is one tree, and the whole of it is in a checkpoint."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

NOT_DIVERGED = -1


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["step", "trainable", "optimizer_state", "key", "diverged_at"],
    meta_fields=[],
)
@dataclass(frozen=True)
class TrainState:
    """The state after `step` updates."""

    step: Array
    trainable: Any
    """All weights, or the adapters."""
    optimizer_state: Any
    key: Array
    """Raw data of the random key. It never changes: what a step draws follows from it and from `step`."""
    diverged_at: Array
    """The update that met a loss or gradient that is not finite, or -1. No update is applied from then on."""


class StepMetrics(NamedTuple):
    """Scalars on the device; reading one waits for the step."""

    loss: Array
    """Mean over the trained tokens of the batch, before the update."""
    num_trained_tokens: Array
    grad_norm: Array
    """Before clipping."""
    learning_rate: Array
    diverged_at: Array


def initial_state(trainable: Any, optimizer: optax.GradientTransformation, key: Array) -> TrainState:
    """The state before the first update."""
    return TrainState(
        step=jnp.zeros((), jnp.int32),
        trainable=trainable,
        optimizer_state=optimizer.init(trainable),
        key=jax.random.key_data(key),
        diverged_at=jnp.full((), NOT_DIVERGED, jnp.int32),
    )


def without_divergence(state: TrainState) -> TrainState:
    """The state before the bad step, free to go on."""
    return replace(state, diverged_at=jnp.full_like(state.diverged_at, NOT_DIVERGED))
