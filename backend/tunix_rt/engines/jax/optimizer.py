"""The optimizers of a recipe, built from optax: learning rate, AdamW, Adafactor, weight decay.

Clipping is the step's: it reports the norm of the gradients before it clips them.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jax.typing import ArrayLike

from tunix_rt.engines.jax.adafactor import scale_by_adafactor
from tunix_rt.engines.jax.precision import rounded
from tunix_rt.engines.jax.trees import is_norm
from tunix_rt.recipes.types import AdamW, Schedule, TrainingSection

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
        rising = (done + 1) / (num_warmup + 1)
        progress = jnp.clip((done - num_warmup) / num_decaying, 0.0, 1.0)
        falling = final + (1 - final) * _remaining(training.schedule, progress)
        return training.learning_rate * jnp.where(done < num_warmup, rising, falling)

    return at


def _remaining(schedule: Schedule, progress: Array) -> Array:
    """What is left of the peak after a share of the way down, from 1 to 0."""
    if schedule == "constant":
        return jnp.ones_like(progress)
    if schedule == "linear":
        return 1 - progress
    return (1 + jnp.cos(jnp.pi * progress)) / 2


def make_optimizer(training: TrainingSection, num_steps: int) -> optax.GradientTransformation:
    """Gradients to float32 updates that are added to the weights."""
    weight_decay = training.optimizer.weight_decay
    return optax.chain(
        _scaling(training),
        optax.add_decayed_weights(weight_decay, mask=_is_matrix) if weight_decay else optax.identity(),
        optax.scale_by_learning_rate(learning_rate_at(training, num_steps)),
    )


def _is_matrix(params: Any) -> Any:
    return jax.tree.map_with_path(lambda path, _: not is_norm(path), params)


def _scaling(training: TrainingSection) -> optax.GradientTransformation:
    optimizer = training.optimizer
    if not isinstance(optimizer, AdamW):
        return scale_by_adafactor(optimizer)
    adam = optax.scale_by_adam(optimizer.beta1, optimizer.beta2, optimizer.epsilon)
    return _with_moments_in(adam, jnp.dtype(training.precision.optimizer_state), training.seed)


def _with_moments_in(
    inner: optax.GradientTransformation, dtype: jnp.dtype, seed: int
) -> optax.GradientTransformation:
    """Compute in float32 and keep the moments in `dtype`.

    bfloat16 moments are rounded stochastically. To the nearest, 0.999 of a number is the number itself: the
    second moment would never go down again.
    """

    def init(params: Any) -> Any:
        return _floats_as(inner.init(params), dtype)

    def update(gradients: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        exact = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), gradients)
        updates, moments = inner.update(exact, _floats_as(state, jnp.float32), params)
        key = jax.random.fold_in(jax.random.key(seed), moments.count)
        return updates, _rounded_moments(moments, dtype, key)

    return optax.GradientTransformation(init, update)


def _rounded_moments(moments: Any, dtype: jnp.dtype, key: Array) -> Any:
    return jax.tree.map_with_path(
        lambda path, leaf: rounded(path, leaf, dtype, key) if _is_float(leaf) else leaf, moments
    )


def _floats_as(tree: Any, dtype: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.astype(dtype) if _is_float(leaf) else leaf, tree)


def _is_float(leaf: Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jnp.floating)
