"""Rotary positions: each pair (i, i + H/2) of a head is turned by an angle that grows with the position."""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from tunix_rt.engines.architecture import Architecture, RopeScaling


class Rotation(NamedTuple):
    """Angles of every position: cosine and sine, each [B, T, H/2] in float32."""

    cos: Array
    sin: Array


def rotation(positions: Array, frequencies: NDArray[np.float32]) -> Rotation:
    """The angles positions x frequencies: [B, T] and [H/2] -> [B, T, H/2]."""
    angles = positions.astype(jnp.float32)[..., None] * frequencies
    return Rotation(jnp.cos(angles), jnp.sin(angles))


def rotate(x: Array, by: Rotation) -> Array:
    """Turn the heads x [B, T, N, H]; computed in float32, returned in the format of x."""
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    cos, sin = by.cos[:, :, None, :], by.sin[:, :, None, :]
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1).astype(x.dtype)


def frequencies(architecture: Architecture, *, has_window: bool) -> NDArray[np.float32]:
    """Turns per position of each pair of a head, as a layer with or without a window uses them: [H/2]."""
    if has_window and architecture.local_rope_theta is not None:
        return _unscaled(architecture.local_rope_theta, architecture.head_dim)
    unscaled = _unscaled(architecture.rope_theta, architecture.head_dim)
    return _scaled(unscaled, architecture.rope_scaling)


def _unscaled(theta: float, head_dim: int) -> NDArray[np.float32]:
    exponents = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    return (1.0 / np.float32(theta) ** exponents).astype(np.float32)


def _scaled(unscaled: NDArray[np.float32], scaling: RopeScaling | None) -> NDArray[np.float32]:
    if scaling is None:
        return unscaled
    slow: NDArray[np.float32] = unscaled / np.float32(scaling.factor)
    if scaling.kind == "linear":
        return slow
    # llama3: fast pairs stay, slow ones are stretched, and those between are mixed.
    turns_in_context = scaling.original_max_positions * unscaled / np.float32(2 * math.pi)
    range_of_turns = scaling.high_freq_factor - scaling.low_freq_factor
    share_kept = np.clip((turns_in_context - scaling.low_freq_factor) / range_of_turns, 0.0, 1.0)
    mixed: NDArray[np.float32] = (share_kept * unscaled + (1 - share_kept) * slow).astype(np.float32)
    return mixed
