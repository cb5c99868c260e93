"""One update from all micro-batches; validation.

    batch [accumulation, rows, T] --scan--> sum of losses, number of tokens, sum of gradients
                                  --once--> mean = sums / tokens --> norm, clipping, update

Dividing once gives the gradient of the whole batch even if micro-batches have unequal numbers of trained
tokens; a mean of their means would not.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import optax
from jax import Array

from tunix_rt.engines.jax.model.decoder import ForwardOptions, Inputs, hidden_states, output_embedding
from tunix_rt.engines.jax.training.loss import cross_entropy
from tunix_rt.engines.jax.training.optimizer import LearningRate
from tunix_rt.engines.jax.training.state import (
    NOT_DIVERGED,
    StepMetrics,
    TrainState,
    add_updates,
    cast_for_compute,
    matrix_precision,
)
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.recipes.types import TrainingSection

DeviceBatch: TypeAlias = dict[str, Array]
"""tokens, targets, loss_mask, segment_ids and positions, each [accumulation, rows, T]."""


@dataclass(frozen=True)
class StepParts:
    """The static parts of a step."""

    training: TrainingSection
    architecture: Architecture
    options: ForwardOptions
    optimizer: optax.GradientTransformation
    learning_rate: LearningRate
    gradient_shardings: Any
    """Sharding of the gradients, equal to that of the trainable weights. Without it every device would hold
    the whole sums."""


class Sums(NamedTuple):
    """Sums over micro-batches."""

    loss: Array
    num_tokens: Array
    gradients: Any


def train_step(
    parts: StepParts, state: TrainState, frozen: Any, batch: DeviceBatch
) -> tuple[TrainState, StepMetrics]:
    """The state after one update, or the same state with `diverged_at` set when a number is not finite."""
    key = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.step)
    dropout_key, rounding_key = jax.random.split(key)
    # Only the model multiplies matrices, in the forward and the backward pass.
    with matrix_precision(parts.options.compute_dtype):
        sums = _accumulate(parts, state.trainable, frozen, batch, dropout_key)
    num_tokens = jnp.maximum(sums.num_tokens, 1.0)
    squares = [jnp.sum(jnp.square(leaf.astype(jnp.float32))) for leaf in jax.tree.leaves(sums.gradients)]
    grad_norm = jnp.sqrt(sum(squares, jnp.zeros(()))) / num_tokens
    max_norm = parts.training.max_grad_norm
    clipping = (
        jnp.ones(()) if max_norm is None else jnp.minimum(1.0, max_norm / jnp.maximum(grad_norm, 1e-12))
    )
    factor = clipping / num_tokens
    gradients = jax.tree.map(lambda leaf: leaf.astype(jnp.float32) * factor, sums.gradients)
    loss = sums.loss / num_tokens

    is_finite = jnp.isfinite(loss) & jnp.isfinite(grad_norm)
    diverged_at = jnp.where((state.diverged_at == NOT_DIVERGED) & ~is_finite, state.step, state.diverged_at)
    rounding_key = rounding_key if parts.training.precision.stochastic_rounding else None
    exact = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), state.trainable)
    updates, optimizer_state = parts.optimizer.update(gradients, state.optimizer_state, exact)
    trainable = add_updates(state.trainable, updates, rounding_key)
    updated = replace(state, step=state.step + 1, trainable=trainable, optimizer_state=optimizer_state)
    is_applied = diverged_at == NOT_DIVERGED
    new = jax.tree.map(lambda after, before: jnp.where(is_applied, after, before), updated, state)
    metrics = StepMetrics(loss, sums.num_tokens, grad_norm, parts.learning_rate(state.step), diverged_at)
    return replace(new, key=state.key, diverged_at=diverged_at), metrics


def validation_step(parts: StepParts, trainable: Any, frozen: Any, batch: DeviceBatch) -> tuple[Array, Array]:
    """Sum of the losses of a batch and its number of trained tokens, without dropout."""
    weights = _compute_weights(parts, trainable)

    def add(sums: tuple[Array, Array], micro_batch: DeviceBatch) -> tuple[tuple[Array, Array], None]:
        loss, num_tokens = _loss_sum(parts, weights, frozen, micro_batch, None)
        return (sums[0] + loss, sums[1] + num_tokens), None

    with matrix_precision(parts.options.compute_dtype):
        sums, _ = jax.lax.scan(add, (jnp.zeros(()), jnp.zeros(())), batch)
    return sums


def _accumulate(parts: StepParts, trainable: Any, frozen: Any, batch: DeviceBatch, key: Array) -> Sums:
    """Sums over all micro-batches. Gradients are summed in float32; one micro-batch keeps its own format."""
    weights = _compute_weights(parts, trainable)
    num_micro_batches = batch["tokens"].shape[0]
    if num_micro_batches == 1:
        return _loss_and_gradients(parts, weights, frozen, jax.tree.map(lambda leaf: leaf[0], batch), key)

    def add(sums: Sums, scanned: tuple[DeviceBatch, Array]) -> tuple[Sums, None]:
        micro_batch, index = scanned
        new = _loss_and_gradients(parts, weights, frozen, micro_batch, jax.random.fold_in(key, index))
        return jax.tree.map(lambda total, part: total + part.astype(total.dtype), sums, new), None

    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, jnp.float32), weights)
    zeros = jax.lax.with_sharding_constraint(zeros, parts.gradient_shardings)
    start = Sums(jnp.zeros(()), jnp.zeros(()), zeros)
    sums, _ = jax.lax.scan(add, start, (batch, jnp.arange(num_micro_batches)))
    return sums


def _loss_and_gradients(
    parts: StepParts, weights: Any, frozen: Any, micro_batch: DeviceBatch, key: Array
) -> Sums:
    loss_of: Callable[..., tuple[Array, Array]] = jax.value_and_grad(
        lambda weights: _loss_sum(parts, weights, frozen, micro_batch, key), has_aux=True
    )
    (loss, num_tokens), gradients = loss_of(weights)
    gradients = jax.lax.with_sharding_constraint(gradients, parts.gradient_shardings)
    return Sums(loss, num_tokens, gradients)


def _loss_sum(
    parts: StepParts, weights: Any, frozen: Any, micro_batch: DeviceBatch, dropout_key: Array | None
) -> tuple[Array, Array]:
    params, adapters = (weights, None) if parts.training.mode == "full" else (frozen, weights)
    inputs = Inputs(micro_batch["tokens"], micro_batch["segment_ids"], micro_batch["positions"])
    key = dropout_key if parts.options.adapter_dropout > 0 else None
    hidden = hidden_states(params, adapters, parts.architecture, inputs, parts.options, dropout_key=key)
    return cross_entropy(
        hidden,
        output_embedding(params, parts.architecture),
        micro_batch["targets"],
        micro_batch["loss_mask"],
        chunk_tokens=parts.training.loss_chunk_tokens,
        softcap=parts.architecture.final_softcap,
    )


def _compute_weights(parts: StepParts, trainable: Any) -> Any:
    """The weights in the compute format: cast once per step, before they are gathered from other devices."""
    if parts.training.mode != "full":
        return trainable
    return cast_for_compute(trainable, parts.options.compute_dtype)
