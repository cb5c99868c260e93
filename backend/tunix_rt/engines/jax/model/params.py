"""The parameter tree: shapes, names, random initialisation and unstacked layers.

`param_shapes` in engines/weights/architecture.py defines the tree.

    stacked   {"q": [L, in, out], ...}      unstacked   [{"q": [in, out], ...}, ... L times]

A slice of a stack is a copy that both the forward and the backward pass need, so the stacked frozen matrices
of an unrolled model would be in memory twice. Trained weights stay stacked, because they are copied to the
compute format once per step anyway.
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
    """Random weights that keep activations near 1: normal with std 1 / sqrt(fan-in), and neutral norms.

    Every tensor has its own key, derived from its name.
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
    """The shapes of `unstack(params, …)`, without shardings."""
    layer = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), params["layers"])
    return params | {"layers": [layer for _ in range(num_layers)]}


def unstack(params: Params, shardings: Params) -> Params:
    """The same weights with a list of layers, sharded as `shardings` says; the stacks are deleted.

    Tensors are unstacked one by one, so that at most one exists twice.
    """
    leaves, structure = jax.tree.flatten(params["layers"])
    by_leaf = zip(*(jax.tree.leaves(layer) for layer in shardings["layers"]), strict=True)
    split = []
    for leaf, targets in zip(leaves, by_leaf, strict=True):
        stack = jnp.asarray(leaf)
        split_stack = jax.jit(lambda stack: list(stack), out_shardings=list(targets))
        split.append(jax.block_until_ready(split_stack(stack)))
        stack.delete()
    layers = [jax.tree.unflatten(structure, layer) for layer in zip(*split, strict=True)]
    rest = {
        name: jax.device_put(value, shardings[name]) for name, value in params.items() if name != "layers"
    }
    return rest | {"layers": layers}


class RandomKeys(NamedTuple):
    """One key per purpose."""

    weights: Array
    adapters: Array
    steps: Array


def random_keys(seed: int) -> RandomKeys:
    """Independent keys from one seed."""
    return RandomKeys(*jax.random.split(jax.random.key(seed), 3))


KeyPath: TypeAlias = tuple[Any, ...]
"""The key path that jax.tree.map_with_path passes with a leaf."""


def names_of(path: KeyPath) -> tuple[str, ...]:
    """The dict keys on the path to a leaf.

    Optimizer moments are nested in other nodes, but keep the names of the weight they belong to:

        state.optimizer_state[0].mu["layers"]["q"]  ->  ("layers", "q")
    """
    return tuple(str(key.key) for key in path if isinstance(key, DictKey))


def is_norm(path: KeyPath) -> bool:
    """Whether a leaf is, or belongs to, the weight of a norm.

    The shape is not enough: stacked over the layers, the vector of a norm has two axes like a matrix.
    """
    return any(name.endswith("norm") for name in names_of(path))


def num_matrix_axes(path: KeyPath) -> int:
    """Axes of a matrix at this path: 3 in stacked layers, which have a leading layer axis, else 2."""
    is_in_list = any(
        key == DictKey("layers") and isinstance(after, SequenceKey) for key, after in itertools.pairwise(path)
    )
    return 3 if "layers" in names_of(path) and not is_in_list else 2
