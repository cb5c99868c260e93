"""The weights of a decoder: a nested dict, layer tensors stacked on a leading axis so that scan walks them.

engines/param_shapes.py draws it.
"""

import math
import zlib
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.param_shapes import Shapes, param_shapes

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
