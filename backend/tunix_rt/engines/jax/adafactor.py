"""Adafactor's update as the transformers library does it, for matrices that are stacked over the layers.

A matrix G [in, out] keeps the mean square of its rows and of its columns instead of all entries:

    rows [in]    columns [out]    update = G / sqrt(rows columns / mean(rows)),  then its size is limited

optax.scale_by_factored_rms would factor the two longest axes of a stack [L, in, out], keep the factors in the
format of the weights, and limit the size of a whole stack. Here every layer is a matrix of its own, as it is
in torch. There is no momentum, and updates are not scaled by the size of the weights (`scale_parameter` and
`relative_step` are off, as in the transformers Trainer): the learning rate means what it means for AdamW.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from tunix_rt.engines.jax.trees import KeyPath, is_norm
from tunix_rt.recipes.types import Adafactor

_SQUARE_EPSILON = 1e-30


class Factors(NamedTuple):
    """Mean squares of the rows [..., in] and of the columns [..., out] of a matrix."""

    rows: Array
    columns: Array


class FactoredState(NamedTuple):
    """Updates so far; for every matrix its factors, for every norm the mean square of each entry."""

    num_updates: Array
    second_moments: Any


def scale_by_adafactor(settings: Adafactor) -> optax.GradientTransformation:
    """Gradients divided by their factored root mean square, limited in size."""

    def init(params: Any) -> FactoredState:
        return FactoredState(jnp.zeros((), jnp.int32), jax.tree.map_with_path(_no_moment, params))

    def update(gradients: Any, state: FactoredState, params: Any = None) -> tuple[Any, FactoredState]:
        del params
        num_updates = state.num_updates + 1
        decay = 1.0 - num_updates.astype(jnp.float32) ** -settings.decay_rate
        leaves, structure = jax.tree.flatten(gradients)
        moments = jax.tree.leaves(state.second_moments, is_leaf=lambda node: isinstance(node, Factors))
        scaled = [
            _scaled(gradient.astype(jnp.float32), moment, decay, settings.clipping_threshold)
            for gradient, moment in zip(leaves, moments, strict=True)
        ]
        updates, new_moments = (jax.tree.unflatten(structure, part) for part in zip(*scaled, strict=True))
        return updates, FactoredState(num_updates, new_moments)

    return optax.GradientTransformation(init, update)


def _no_moment(path: KeyPath, weight: Array) -> Factors | Array:
    if is_norm(path):
        return jnp.zeros(weight.shape, jnp.float32)
    *leading, num_rows, num_columns = weight.shape
    return Factors(
        rows=jnp.zeros((*leading, num_rows), jnp.float32),
        columns=jnp.zeros((*leading, num_columns), jnp.float32),
    )


def _scaled(
    gradient: Array, moment: Factors | Array, decay: Array, clipping_threshold: float
) -> tuple[Array, Factors | Array]:
    squares = jnp.square(gradient) + _SQUARE_EPSILON
    if not isinstance(moment, Factors):
        moment = decay * moment + (1 - decay) * squares
        return _limited(gradient * jax.lax.rsqrt(moment), clipping_threshold, (-1,)), moment
    rows = decay * moment.rows + (1 - decay) * jnp.mean(squares, axis=-1)
    columns = decay * moment.columns + (1 - decay) * jnp.mean(squares, axis=-2)
    row_factors = jax.lax.rsqrt(rows / jnp.mean(rows, axis=-1, keepdims=True))
    update = gradient * row_factors[..., :, None] * jax.lax.rsqrt(columns)[..., None, :]
    return _limited(update, clipping_threshold, (-2, -1)), Factors(rows, columns)


def _limited(update: Array, threshold: float, axes: tuple[int, ...]) -> Array:
    """Scale one tensor's update down to a root mean square of `threshold`."""
    size = jnp.sqrt(jnp.mean(jnp.square(update), axis=axes, keepdims=True))
    return update / jnp.maximum(1.0, size / threshold)
