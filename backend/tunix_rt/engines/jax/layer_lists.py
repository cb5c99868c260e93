"""Frozen layers one by one instead of stacked, for programs that are one straight text.

A slice of a stack is a copy, and the forward and the backward pass both need it: stacked, the frozen matrices
of an unrolled model would be in memory twice. Trained weights stay stacked: their copy for compute is made
once a step anyway.

    stacked   {"q": [L, in, out], ...}      one by one   [{"q": [in, out], ...}, ... L times]
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tunix_rt.engines.jax.params import Params


def abstract_unstacked(params: Params, num_layers: int) -> Params:
    """The shapes of `unstacked(params, …)`, without places."""
    layer = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), params["layers"])
    return params | {"layers": [layer for _ in range(num_layers)]}


def unstacked(params: Params, shardings: Params) -> Params:
    """The same weights with a list of layers, each where `shardings` says; the stacks are used up.

    One tensor after the other, so that no more than one exists twice.
    """
    leaves, structure = jax.tree.flatten(params["layers"])
    places = zip(*(jax.tree.leaves(layer) for layer in shardings["layers"]), strict=True)
    taken_apart = [_taken_apart(leaf, list(where)) for leaf, where in zip(leaves, places, strict=True)]
    layers = [jax.tree.unflatten(structure, layer) for layer in zip(*taken_apart, strict=True)]
    rest = {
        name: jax.device_put(value, shardings[name]) for name, value in params.items() if name != "layers"
    }
    return rest | {"layers": layers}


def _taken_apart(stack: Array, shardings: list[Any]) -> list[Array]:
    stack = jnp.asarray(stack)
    parts: list[Array] = jax.jit(lambda leaf: list(leaf), out_shardings=shardings)(stack)
    jax.block_until_ready(parts)
    stack.delete()
    return parts
