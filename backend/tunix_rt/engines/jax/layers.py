"""One layer of the decoder, in two halves around attention.

    x ─ norm ─ q, k, v ─ rotate ─▶ attention ─▶ o ─ (norm) ─ + x ─ norm ─ gate, up, down ─ (norm) ─ + x
    └─────── project_heads ──────┘              └────────────────── finish_layer ────────────────────┘

Training puts a whole row between the halves; cached generation puts its cache there.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.ad_checkpoint import checkpoint_name

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.jax.linear import project
from tunix_rt.engines.jax.params import Params
from tunix_rt.engines.jax.rope import Rotation, rotate

PRODUCT = "product"
"""Name of what remat keeps: the output of a projection, its adapter's part included."""


@dataclass(frozen=True)
class Layer:
    """The weights of one layer (no leading axis), with what is needed to apply them."""

    architecture: Architecture
    weights: Params
    adapters: Params
    adapter_scale: float = 1.0
    adapter_dropout: float = 0.0
    dropout_key: Array | None = None

    def project(self, name: str, x: Array) -> Array:
        """Multiply x by the matrix `name`, with its adapter if it has one."""
        product = project(
            x,
            self.weights[name],
            self.adapters.get(name),
            scale=self.adapter_scale,
            dropout=self.adapter_dropout,
            dropout_key=self._dropout_key(name),
        )
        named: Array = checkpoint_name(product, PRODUCT)
        return named

    def norm(self, name: str, x: Array) -> Array:
        """RMS norm with the weight `name`."""
        return rms_norm(x, self.weights[name], self.architecture)

    def _dropout_key(self, name: str) -> Array | None:
        if self.dropout_key is None or name not in self.adapters:
            return None
        return jax.random.fold_in(self.dropout_key, sorted(self.adapters).index(name))


def rms_norm(x: Array, weight: Array, architecture: Architecture) -> Array:
    """Root mean square norm over the last axis, computed in float32, returned in the format of x."""
    wide = x.astype(jnp.float32)
    inverse_rms = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + architecture.rms_norm_eps)
    factor = weight.astype(jnp.float32) + (1.0 if architecture.norms_add_one else 0.0)
    return (wide * inverse_rms * factor).astype(x.dtype)


def project_heads(layer: Layer, x: Array, by: Rotation) -> tuple[Array, Array, Array]:
    """Queries, keys and values of x, rotated: [B, T, D] -> [B, T, N, H], [B, T, K, H], [B, T, K, H]."""
    normed = layer.norm("attention_norm", x)
    q, k, v = (_split_heads(layer.project(name, normed), layer.architecture) for name in ("q", "k", "v"))
    if layer.architecture.has_qk_norm:
        q, k = layer.norm("q_norm", q), layer.norm("k_norm", k)
    return rotate(q, by), rotate(k, by), v


def finish_layer(layer: Layer, x: Array, attended: Array) -> Array:
    """Add the attended heads [B, T, N, H] to x, then the MLP: the layer's output [B, T, D]."""
    has_post_norms = layer.architecture.has_post_norms
    attention = layer.project("o", attended.reshape(*attended.shape[:2], -1))
    x = x + (layer.norm("post_attention_norm", attention) if has_post_norms else attention)
    mlp = _mlp(layer, layer.norm("mlp_norm", x))
    return x + (layer.norm("post_mlp_norm", mlp) if has_post_norms else mlp)


def _split_heads(x: Array, architecture: Architecture) -> Array:
    return x.reshape(*x.shape[:2], -1, architecture.head_dim)


def _mlp(layer: Layer, x: Array) -> Array:
    gate, up = layer.project("gate", x), layer.project("up", x)
    if layer.architecture.activation == "gelu_tanh":
        return layer.project("down", jax.nn.gelu(gate, approximate=True) * up)
    return layer.project("down", jax.nn.silu(gate) * up)
