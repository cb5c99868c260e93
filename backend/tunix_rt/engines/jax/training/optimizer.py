"""Schedules, AdamW, Adafactor.

Adafactor stores the mean squares of the rows and columns of a matrix gradient G [in, out] instead of those of
all entries:

    rows [in]    columns [out]    update = G / sqrt(rows columns / mean(rows)),  then its RMS is clipped

optax.scale_by_factored_rms would factor the two longest axes of a stack [L, in, out], keep the factors in the
format of the weights, and clip the RMS of a whole stack. Here every layer is a separate matrix, as in torch.
There is no momentum, and updates are not scaled by the size of the weights (`scale_parameter` and
`relative_step` are off, as in the transformers Trainer): the learning rate has the same meaning as for AdamW.

The train step clips gradients, because it reports their norm before clipping.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.typing import ArrayLike

from tunix_rt.engines.jax.model.params import KeyPath, is_norm
from tunix_rt.engines.jax.training.state import round_to
from tunix_rt.recipes.types import Adafactor, AdamW, TrainingSection

_SQUARE_EPSILON = 1e-30


LearningRate: TypeAlias = Callable[[ArrayLike], Array]


def learning_rate_at(training: TrainingSection, num_steps: int) -> LearningRate:
    """The learning rate of each update, counted from 0; no update has a learning rate of zero.

    Example:
        peak 1.0, 5 updates, 2 of them warm-up, linear down to 0 -> 1/3, 2/3, 1, 2/3, 1/3
    """
    num_warmup = training.warmup_steps
    num_decaying = max(1, num_steps - num_warmup)
    final = training.final_learning_rate_fraction

    def at(step: ArrayLike) -> Array:
        done = jnp.asarray(step, jnp.float32)
        warmup = (done + 1) / (num_warmup + 1)
        progress = jnp.clip((done - num_warmup) / num_decaying, 0.0, 1.0)
        # What is left of the peak, from 1 to 0.
        if training.schedule == "constant":
            fraction = jnp.ones_like(progress)
        elif training.schedule == "linear":
            fraction = 1 - progress
        else:
            fraction = (1 + jnp.cos(jnp.pi * progress)) / 2
        decayed = final + (1 - final) * fraction
        return training.learning_rate * jnp.where(done < num_warmup, warmup, decayed)

    return at


def make_optimizer(training: TrainingSection, num_steps: int) -> optax.GradientTransformation:
    """The optimizer: gradients to float32 updates, which are added to the weights."""
    optimizer = training.optimizer
    if isinstance(optimizer, AdamW):
        adam = optax.scale_by_adam(optimizer.beta1, optimizer.beta2, optimizer.epsilon)
        moment_dtype = jnp.dtype(training.precision.optimizer_state)
        preconditioner = _with_moment_dtype(adam, moment_dtype, training.seed)
    else:
        preconditioner = _scale_by_adafactor(optimizer)
    decay = optax.identity()
    if optimizer.weight_decay:
        decay = optax.add_decayed_weights(
            optimizer.weight_decay,
            mask=lambda params: jax.tree.map_with_path(lambda path, _: not is_norm(path), params),
        )
    learning_rate = learning_rate_at(training, num_steps)
    return optax.chain(preconditioner, decay, optax.scale_by_learning_rate(learning_rate))


def _with_moment_dtype(
    inner: optax.GradientTransformation, dtype: jnp.dtype, seed: int
) -> optax.GradientTransformation:
    """Compute in float32 and store the moments in `dtype`.

    bfloat16 moments are rounded stochastically. Rounded to nearest, 0.999 x stays x, and the second moment
    would never decrease.
    """

    def init(params: Any) -> Any:
        return _cast_floats(inner.init(params), dtype)

    def update(gradients: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        exact = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), gradients)
        updates, moments = inner.update(exact, _cast_floats(state, jnp.float32), params)
        key = jax.random.fold_in(jax.random.key(seed), moments.count)
        rounded = jax.tree.map_with_path(
            lambda path, leaf: round_to(path, leaf, dtype, key) if _is_float(leaf) else leaf, moments
        )
        return updates, rounded

    return optax.GradientTransformation(init, update)


def _cast_floats(tree: Any, dtype: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.astype(dtype) if _is_float(leaf) else leaf, tree)


def _is_float(leaf: Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jnp.floating)


class Factors(NamedTuple):
    """Mean squares of the rows [..., in] and of the columns [..., out] of a matrix."""

    rows: Array
    columns: Array


class FactoredState(NamedTuple):
    """The number of updates; factors for every matrix, and the mean square of each entry for every norm."""

    num_updates: Array
    second_moments: Any


def _scale_by_adafactor(settings: Adafactor) -> optax.GradientTransformation:
    """Gradients divided by their factored root mean square, with a clipped RMS."""

    def init(params: Any) -> FactoredState:
        return FactoredState(jnp.zeros((), jnp.int32), jax.tree.map_with_path(_zero_moment, params))

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


def _zero_moment(path: KeyPath, weight: Array) -> Factors | Array:
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
        return _clip_rms(gradient * jax.lax.rsqrt(moment), clipping_threshold, (-1,)), moment
    rows = decay * moment.rows + (1 - decay) * jnp.mean(squares, axis=-1)
    columns = decay * moment.columns + (1 - decay) * jnp.mean(squares, axis=-2)
    row_factors = jax.lax.rsqrt(rows / jnp.mean(rows, axis=-1, keepdims=True))
    update = gradient * row_factors[..., :, None] * jax.lax.rsqrt(columns)[..., None, :]
    return _clip_rms(update, clipping_threshold, (-2, -1)), Factors(rows, columns)


def _clip_rms(update: Array, threshold: float, axes: tuple[int, ...]) -> Array:
    """Scale an update down to a root mean square of `threshold`."""
    size = jnp.sqrt(jnp.mean(jnp.square(update), axis=axes, keepdims=True))
    return update / jnp.maximum(1.0, size / threshold)
