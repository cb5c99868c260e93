"""The training state, number formats and stochastic rounding.

- full, weights float32: master weights, cast once per step to the compute format.
- full, weights bfloat16: the stored weights are used directly. New weights are rounded to the nearest
  bfloat16, so an update below 1/512 of a weight is lost every time.
- full, weights bfloat16 with stochastic_rounding: rounded up or down at random, which is unbiased.
- lora, qlora: float32 adapters; frozen weights are cast layer by layer.
"""

import zlib
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.tree_util import keystr
from jax.typing import DTypeLike

from tunix_rt.engines.jax.model.params import KeyPath, is_norm, names_of

_DROPPED_BITS = 16
"""bfloat16 is the upper half of float32."""


def matrix_precision(dtype: DTypeLike) -> AbstractContextManager[None]:
    """A context for tracing in which float32 matrix products run in full float32.

    By default, TPUs round the inputs to bfloat16 and GPUs to 10 bits of mantissa.
    """
    if jnp.dtype(dtype) != jnp.float32:
        return nullcontext()
    exact: AbstractContextManager[None] = jax.default_matmul_precision("highest")
    return exact


def cast_for_compute(weights: Any, dtype: Any) -> Any:
    """Cast the matrices of the layers to the compute format.

    Norms keep their stored format, because they compute in float32; so does the embedding, because the
    gradients of all positions of a frequent token are summed in its format.
    """
    return jax.tree.map_with_path(
        lambda path, leaf: leaf if is_norm(path) or "layers" not in names_of(path) else leaf.astype(dtype),
        weights,
    )


def round_stochastically(values: Array, key: Array) -> Array:
    """Round float32 to one of the two neighbours in bfloat16, the nearer one with the higher probability.

    Example:
        1.00195 lies a quarter of the way from 1.0 to 1.0078: it becomes 1.0078 with probability 1/4.
    """
    bits = jax.lax.bitcast_convert_type(values, jnp.uint32)
    noise = jax.random.bits(key, values.shape, jnp.uint16).astype(jnp.uint32)
    rounded = jax.lax.bitcast_convert_type((bits + noise) >> _DROPPED_BITS << _DROPPED_BITS, jnp.float32)
    return jnp.where(jnp.isfinite(values), rounded, values).astype(jnp.bfloat16)


def add_updates(weights: Any, updates: Any, rounding_key: Array | None) -> Any:
    """Weights plus updates, summed in float32 and rounded once: stochastically when a key is given."""
    return jax.tree.map_with_path(
        lambda path, weight, update: round_to(
            path, weight.astype(jnp.float32) + update, weight.dtype, rounding_key
        ),
        weights,
        updates,
    )


def round_to(path: KeyPath, values: Array, dtype: Any, key: Array | None) -> Array:
    """Cast `values` to `dtype`, rounding stochastically if a key is given and bits are lost, else to nearest.

    Every tensor has its own noise, derived from its path.
    """
    if key is None or dtype != jnp.bfloat16:
        return values.astype(dtype)
    return round_stochastically(values, jax.random.fold_in(key, zlib.crc32(keystr(path).encode())))


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
    """Raw data of the random key. It never changes: each step folds its number into it."""
    diverged_at: Array
    """The first update with a non-finite loss or gradient, or -1. No update is applied from then on."""


class StepMetrics(NamedTuple):
    """Scalars on the device; reading one blocks until the step is done."""

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
