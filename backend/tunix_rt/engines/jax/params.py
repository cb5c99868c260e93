"""The weights of a decoder: a nested dict, layer tensors stacked on a leading axis so that scan walks them.

Matrices are [in, out]. V vocabulary, D hidden, N heads, K key/value heads, H head size, F width of the MLP:

    embedding   [V, D]
    layers      attention_norm [L, D]    q [L, D, N*H]    k, v [L, D, K*H]    o [L, N*H, D]
                mlp_norm       [L, D]    gate, up [L, D, F]                   down [L, F, D]
                post_attention_norm, post_mlp_norm [L, D]    q_norm, k_norm [L, H]  (some families)
    final_norm  [D]
    head        [V, D]                   where it is not tied to the embedding
"""

import math
import zlib
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from tunix_rt.engines.architecture import Architecture

Params: TypeAlias = dict[str, Any]
Shapes: TypeAlias = dict[str, Any]
"""As Params, with a tuple of sizes at every leaf."""


def param_shapes(architecture: Architecture) -> Shapes:
    """The shape of every weight, in the layout drawn above."""
    vocab_size, hidden_size = architecture.vocab_size, architecture.hidden_size
    layers = {
        name: (architecture.num_layers, *shape)
        for name, shape in (architecture.matrix_shapes | _norm_shapes(architecture)).items()
    }
    shapes = {"embedding": (vocab_size, hidden_size), "layers": layers, "final_norm": (hidden_size,)}
    return shapes if architecture.is_embedding_tied else shapes | {"head": (vocab_size, hidden_size)}


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


def _norm_shapes(architecture: Architecture) -> dict[str, tuple[int]]:
    names = ["attention_norm", "mlp_norm"]
    names += ["post_attention_norm", "post_mlp_norm"] if architecture.has_post_norms else []
    head_norms = ["q_norm", "k_norm"] if architecture.has_qk_norm else []
    return {name: (architecture.hidden_size,) for name in names} | {
        name: (architecture.head_dim,) for name in head_norms
    }


def _map_shapes(shapes: Shapes, make: Any) -> Params:
    return {
        name: _map_shapes(value, make) if isinstance(value, dict) else make(name, value)
        for name, value in shapes.items()
    }
