"""Checksums of arrays where they live: exact, and the same however the arrays are split over devices."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

_WORDS = {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32}


@jax.jit
def tree_checksums(tree: Any) -> Array:
    """One 32-bit checksum for each array of a tree, in the order of its leaves.

    Every element is mixed with its position, and the results are added up modulo 2**32: an addition of
    integers gives the same sum in any order.
    """
    return jnp.stack([_checksum(leaf) for leaf in jax.tree.leaves(tree)])


def _checksum(array: Array) -> Array:
    words = jax.lax.bitcast_convert_type(array, _WORDS[array.dtype.itemsize]).astype(jnp.uint32)
    return _mixed(words ^ _mixed(_positions(array.shape))).sum(dtype=jnp.uint32)


def _positions(shape: tuple[int, ...]) -> Array:
    """[2, 3] -> [[0, 1, 2], [3, 4, 5]], without reshaping, which would gather what is split."""
    positions = jnp.zeros(shape, jnp.uint32)
    stride = 1
    for axis in reversed(range(len(shape))):
        positions += jax.lax.broadcasted_iota(jnp.uint32, shape, axis) * jnp.uint32(stride % 2**32)
        stride *= shape[axis]
    return positions


def _mixed(words: Array) -> Array:
    """The finaliser of MurmurHash3: one to one, and each bit in depends on every bit out."""
    words = (words ^ (words >> 16)) * jnp.uint32(0x85EBCA6B)
    words = (words ^ (words >> 13)) * jnp.uint32(0xC2B2AE35)
    return words ^ (words >> 16)
