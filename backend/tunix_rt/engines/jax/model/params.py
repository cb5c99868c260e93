"""The parameter tree: shapes, names, random initialisation, unstack layers.

engines/param_shapes.py draws it.

A slice of a stack is a copy, and the forward and the backward pass both need it: stacked, the frozen matrices
of an unrolled model would be in memory twice. Trained weights stay stacked: their copy for compute is made
once a step anyway.

    stacked   {"q": [L, in, out], ...}      one by one   [{"q": [in, out], ...}, ... L times]
"""

import itertools
import math
import zlib
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import DictKey, SequenceKey
from jax.typing import DTypeLike

from tunix_rt.engines.weights.architecture import Architecture, Shapes, param_shapes

Params: TypeAlias = dict[str, Any]


def abstract_params(architecture: Architecture, dtype: DTypeLike) -> Params:
    """Shapes and formats of the weights; nothing is allocated."""
    return _map_shapes(param_shapes(architecture), lambda _, shape: jax.ShapeDtypeStruct(shape, dtype))


def init_params(architecture: Architecture, key: Array, dtype: DTypeLike) -> Params:
    """Random weights that keep activations near 1: normal over the root of the fan-in, norms that do nothing.

    Every tensor has a key of its own, made from its name.
    """
    neutral_norm = 0.0 if architecture.norms_add_one else 1.0

    def init(name: str, shape: tuple[int, ...]) -> Array:
        if name.endswith("norm"):
            return jnp.full(shape, neutral_norm, dtype)
        fan_in = shape[-1] if name in ("embedding", "head") else shape[-2]
        noise = jax.random.normal(jax.random.fold_in(key, zlib.crc32(name.encode())), shape, jnp.float32)
        return (noise / math.sqrt(fan_in)).astype(dtype)

    return _map_shapes(param_shapes(architecture), init)


def _map_shapes(shapes: Shapes, make: Any) -> Params:
    return {
        name: _map_shapes(value, make) if isinstance(value, dict) else make(name, value)
        for name, value in shapes.items()
    }


def abstract_unstack(params: Params, num_layers: int) -> Params:
    """The shapes of `unstack(params, …)`, without places."""
    layer = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), params["layers"])
    return params | {"layers": [layer for _ in range(num_layers)]}


def unstack(params: Params, shardings: Params) -> Params:
    """The same weights with a list of layers, each where `shardings` says; the stacks are used up.

    One tensor after the other, so that no more than one exists twice.
    """
    leaves, structure = jax.tree.flatten(params["layers"])
    places = zip(*(jax.tree.leaves(layer) for layer in shardings["layers"]), strict=True)
    taken_apart = [_split_stack(leaf, list(where)) for leaf, where in zip(leaves, places, strict=True)]
    layers = [jax.tree.unflatten(structure, layer) for layer in zip(*taken_apart, strict=True)]
    rest = {
        name: jax.device_put(value, shardings[name]) for name, value in params.items() if name != "layers"
    }
    return rest | {"layers": layers}


def _split_stack(stack: Array, shardings: list[Any]) -> list[Array]:
    stack = jnp.asarray(stack)
    parts: list[Array] = jax.jit(lambda leaf: list(leaf), out_shardings=shardings)(stack)
    jax.block_until_ready(parts)
    stack.delete()
    return parts


class RandomKeys(NamedTuple):
    """One key a use."""

    weights: Array
    adapters: Array
    steps: Array


def random_keys(seed: int) -> RandomKeys:
    """Independent streams from the one seed."""
    return RandomKeys(*jax.random.split(jax.random.key(seed), 3))


KeyPath: TypeAlias = tuple[Any, ...]
"""What jax.tree.map_with_path gives beside a leaf."""


def names_of(path: KeyPath) -> tuple[str, ...]:
    """The dict keys on the way to a leaf.

    Moments of the optimizer hang below other nodes, but carry the names of the weight they belong to:

        state.optimizer_state[0].mu["layers"]["q"]  ->  ("layers", "q")
    """
    return tuple(str(key.key) for key in path if isinstance(key, DictKey))


def is_norm(path: KeyPath) -> bool:
    """Whether a leaf is, or belongs to, the weight of a norm.

    The shape does not tell: stacked over the layers, the vector of a norm has two axes like a matrix.
    """
    return any(name.endswith("norm") for name in names_of(path))


def num_matrix_axes(path: KeyPath) -> int:
    """Axes of a matrix at this place: in stacked layers a leading one walks over the layers."""
    return 3 if "layers" in names_of(path) and not _is_in_a_list_of_layers(path) else 2


def _is_in_a_list_of_layers(path: KeyPath) -> bool:
    return any(
        key == DictKey("layers") and isinstance(after, SequenceKey) for key, after in itertools.pairwise(path)
    )
