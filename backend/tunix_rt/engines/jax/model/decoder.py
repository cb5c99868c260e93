"""Embedding, layers, rotary positions, logits.

x ─ norm ─ q, k, v ─ rotate ─▶ attention ─▶ o ─ (norm) ─ + x ─ norm ─ gate, up, down ─ (norm) ─ + x
    └─────── project_heads ──────┘              └────────────────── finish_layer ────────────────────┘

Training attends within whole rows between the two halves of a layer; generation attends to its KV cache.

The output head is not applied here: the loss multiplies by `output_embedding` in chunks, so that logits of
shape [tokens, vocabulary] never exist.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import NamedSharding
from jax.typing import DTypeLike
from numpy.typing import NDArray

from tunix_rt.engines.jax.model.attention import Windows, attend
from tunix_rt.engines.jax.model.lora import project
from tunix_rt.engines.jax.model.params import Params
from tunix_rt.engines.planning.kernels import Kernel
from tunix_rt.engines.weights.architecture import Activation, Architecture
from tunix_rt.recipes.types import Remat


class Rotation(NamedTuple):
    """Rotary angles of every position: cosine and sine, each float32 [B, T, H/2]."""

    cos: Array
    sin: Array


def rotation(positions: Array, frequencies: NDArray[np.float32]) -> Rotation:
    """Rotary angles positions x frequencies: [B, T] and [H/2] -> [B, T, H/2]."""
    angles = positions.astype(jnp.float32)[..., None] * frequencies
    return Rotation(jnp.cos(angles), jnp.sin(angles))


def rotate(x: Array, by: Rotation) -> Array:
    """Apply rotary positions to the heads x [B, T, N, H]; computed in float32, returned in the dtype of x."""
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    cos, sin = by.cos[:, :, None, :], by.sin[:, :, None, :]
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1).astype(x.dtype)


def frequencies(architecture: Architecture, *, has_window: bool) -> NDArray[np.float32]:
    """Rotary frequencies of a layer with or without a window, in radians per position: [H/2]."""
    rope = architecture.local_rope if has_window and architecture.local_rope else architecture.rope
    theta, scaling = np.float32(rope.theta), rope.scaling
    exponents = np.arange(0, architecture.head_dim, 2, dtype=np.float32) / np.float32(architecture.head_dim)
    unscaled: NDArray[np.float32] = (1.0 / theta**exponents).astype(np.float32)
    if scaling is None:
        return unscaled
    slow: NDArray[np.float32] = unscaled / np.float32(scaling.factor)
    if scaling.kind == "linear":
        return slow
    # llama3: high frequencies stay, low ones are divided by the factor, and those between are interpolated.
    turns_in_context = scaling.original_max_positions * unscaled / np.float32(2 * math.pi)
    range_of_turns = scaling.high_freq_factor - scaling.low_freq_factor
    unscaled_share = np.clip((turns_in_context - scaling.low_freq_factor) / range_of_turns, 0.0, 1.0)
    mixed: NDArray[np.float32] = (unscaled_share * unscaled + (1 - unscaled_share) * slow).astype(np.float32)
    return mixed


PRODUCT = "product"
"""Name of the activations that remat keeps: outputs of projections, adapters included."""


@dataclass(frozen=True)
class Layer:
    """The weights of one layer, without a leading layer axis, and the settings to apply them."""

    architecture: Architecture
    weights: Params
    adapters: Params
    adapter_scale: float = 1.0
    adapter_dropout: float = 0.0
    dropout_key: Array | None = None

    def project(self, name: str, x: Array) -> Array:
        """Multiply x by the matrix `name`, with its adapter if it has one."""
        key = self.dropout_key
        if key is not None and name in self.adapters:
            key = jax.random.fold_in(key, sorted(self.adapters).index(name))
        product = project(
            x,
            self.weights[name],
            self.adapters.get(name),
            scale=self.adapter_scale,
            dropout=self.adapter_dropout,
            dropout_key=key,
        )
        named: Array = checkpoint_name(product, PRODUCT)
        return named

    def norm(self, name: str, x: Array) -> Array:
        """RMS norm with the weight `name`."""
        return rms_norm(x, self.weights[name], self.architecture)


def rms_norm(x: Array, weight: Array, architecture: Architecture) -> Array:
    """Root mean square norm over the last axis, computed in float32, returned in the format of x."""
    wide = x.astype(jnp.float32)
    inverse_rms = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + architecture.rms_norm_eps)
    factor = weight.astype(jnp.float32) + (1.0 if architecture.norms_add_one else 0.0)
    return (wide * inverse_rms * factor).astype(x.dtype)


def project_heads(layer: Layer, x: Array, by: Rotation) -> tuple[Array, Array, Array]:
    """Queries, keys and values of x, rotated: [B, T, D] -> [B, T, N, H], [B, T, K, H], [B, T, K, H]."""
    normed = layer.norm("attention_norm", x)
    heads_shape = (*x.shape[:2], -1, layer.architecture.head_dim)
    q, k, v = (layer.project(name, normed).reshape(heads_shape) for name in ("q", "k", "v"))
    if layer.architecture.has_qk_norm:
        q, k = layer.norm("q_norm", q), layer.norm("k_norm", k)
    return rotate(q, by), rotate(k, by), v


_ACTIVATIONS: Mapping[Activation, Callable[[Array], Array]] = {
    "gelu": partial(jax.nn.gelu, approximate=False),
    "gelu_tanh": partial(jax.nn.gelu, approximate=True),
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
}


def finish_layer(layer: Layer, x: Array, attended: Array) -> Array:
    """Add the attended heads [B, T, N, H] to x, then the MLP: the layer's output [B, T, D]."""
    has_post_norms = layer.architecture.has_post_norms
    attention = layer.project("o", attended.reshape(*attended.shape[:2], -1))
    x = x + (layer.norm("post_attention_norm", attention) if has_post_norms else attention)
    normed = layer.norm("mlp_norm", x)
    gate, up = layer.project("gate", normed), layer.project("up", normed)
    mlp = layer.project("down", _ACTIVATIONS[layer.architecture.activation](gate) * up)
    return x + (layer.norm("post_mlp_norm", mlp) if has_post_norms else mlp)


_Weights: TypeAlias = tuple[Params, Params, Array | None]
"""(weights, adapters, dropout key) of one layer, or stacked over all layers."""
_ApplyLayer: TypeAlias = Callable[[Array, _Weights, Array | int], Array]
"""(hidden states, weights of a layer, window kind) -> hidden states"""


class Inputs(NamedTuple):
    """Inputs of a forward pass, each int32 [B, T]; see tokenization/packing.py."""

    tokens: Array
    segment_ids: Array
    positions: Array


@dataclass(frozen=True)
class ForwardOptions:
    """How the forward pass is computed. Hashable: a static argument of jit."""

    compute_dtype: DTypeLike
    remat: Remat = "none"
    attention: Kernel = "dense"
    adapter_scale: float = 1.0
    adapter_dropout: float = 0.0
    activation_sharding: NamedSharding | None = None
    """Sharding of the hidden states [B, T, D]; None leaves it to the compiler."""
    unrolls_layers: bool = False
    """Unroll the layers instead of looping. Faster on GPU, where a loop copies the activations kept for the
    backward pass into stacks; minutes slower to compile on TPU, which gains nothing."""


def hidden_states(
    params: Params,
    adapters: Params | None,
    architecture: Architecture,
    inputs: Inputs,
    options: ForwardOptions,
    *,
    dropout_key: Array | None = None,
) -> Array:
    """The last hidden states, final norm applied: [B, T] -> [B, T, D] in the compute format.

    Args:
        params: Weights in the layout of engines/jax/model/params.py; matrices may be quantised.
        adapters: LoRA pairs of the matrices, or None.
        architecture: The shape of the model.
        inputs: Tokens with their segments and positions.
        options: Formats, kernel and rematerialisation.
        dropout_key: Key of the adapter dropout in training; None disables dropout.
    """
    x = _constrain(embed(params["embedding"], architecture, inputs.tokens, options.compute_dtype), options)
    windows, kinds = layer_kinds(architecture)
    rotations = rotations_by_kind(architecture, windows, inputs.positions)

    def apply(x: Array, weights: _Weights, kind: Array | int) -> Array:
        matrices, pairs, key = weights
        layer = Layer(architecture, matrices, pairs, options.adapter_scale, options.adapter_dropout, key)
        heads = project_heads(layer, x, Rotation(rotations.cos[kind], rotations.sin[kind]))
        attended = attend(
            heads,
            inputs.segment_ids,
            architecture,
            windows=windows,
            kind=kind,
            kernel=options.attention,
            sharding=options.activation_sharding,
        )
        return _constrain(finish_layer(layer, x, attended), options)

    keys = None if dropout_key is None else jax.random.split(dropout_key, architecture.num_layers)
    stacked = (params["layers"], (adapters or {}).get("layers", {}), keys)
    x = _apply_layers(_with_remat(apply, options), x, stacked, kinds, options)
    return rms_norm(x, params["final_norm"], architecture)


def embed(embedding: Array, architecture: Architecture, tokens: Array, dtype: DTypeLike) -> Array:
    """The first hidden states: [B, T] -> [B, T, D]."""
    x = embedding[tokens].astype(dtype)
    # Gemma was trained with the factor rounded to the dtype of x.
    return x * jnp.asarray(math.sqrt(x.shape[-1]), x.dtype) if architecture.scales_embedding else x


def output_embedding(params: Params, architecture: Architecture) -> Array:
    """The matrix [V, D] that turns hidden states into logits."""
    head: Array = params["embedding" if architecture.is_embedding_tied else "head"]
    return head


def head_logits(params: Params, architecture: Architecture, hidden: Array) -> Array:
    """The logits of normed hidden states: [..., D] -> float32 [..., V]."""
    embedding = output_embedding(params, architecture).astype(hidden.dtype)
    scores = jnp.einsum("...d,vd->...v", hidden, embedding, preferred_element_type=jnp.float32)
    return capped(scores, architecture)


def capped(scores: Array, architecture: Architecture) -> Array:
    """Apply the final soft cap to the logits, if the model has one."""
    cap = architecture.final_softcap
    return scores if cap is None else cap * jnp.tanh(scores / cap)


def layer_kinds(architecture: Architecture) -> tuple[Windows, tuple[int, ...]]:
    """The distinct windows, and the index of each layer's window: (8, None, 8) -> (8, None), (0, 1, 0)."""
    windows = tuple(dict.fromkeys(architecture.layer_windows))
    return windows, tuple(windows.index(window) for window in architecture.layer_windows)


def rotations_by_kind(architecture: Architecture, windows: Windows, positions: Array) -> Rotation:
    """Rotary angles for each kind of layer: [kinds, B, T, H/2]."""
    by_kind = [
        rotation(positions, frequencies(architecture, has_window=window is not None)) for window in windows
    ]
    cos, sin = zip(*by_kind, strict=True)
    return Rotation(jnp.stack(cos), jnp.stack(sin))


def _constrain(x: Array, options: ForwardOptions) -> Array:
    if options.activation_sharding is None:
        return x
    constrained: Array = jax.lax.with_sharding_constraint(x, options.activation_sharding)
    return constrained


def _apply_layers(
    apply: _ApplyLayer,
    x: Array,
    stacked: _Weights,
    kinds: tuple[int, ...],
    options: ForwardOptions,
) -> Array:
    """Apply every layer in order, as a loop on the device or unrolled."""
    if not options.unrolls_layers:
        x, _ = jax.lax.scan(lambda x, layer: (apply(x, *layer), None), x, (stacked, jnp.asarray(kinds)))
        return x
    layers, *others = stacked
    for index, kind in enumerate(kinds):
        # Frozen layers come as a list: see engines/jax/model/params.py.
        weights = layers[index] if isinstance(layers, list) else jax.tree.map(itemgetter(index), layers)
        x = apply(x, (weights, *jax.tree.map(itemgetter(index), others)), kind)
    return x


def _with_remat(apply: _ApplyLayer, options: ForwardOptions) -> _ApplyLayer:
    """Recompute in the backward pass: nothing, everything but products with weights, or the whole layer."""
    if options.remat == "none":
        return apply
    policy = jax.checkpoint_policies.save_only_these_names(PRODUCT) if options.remat == "dots" else None
    is_unrolled = options.unrolls_layers
    # A loop keeps the two passes apart; in unrolled layers the compiler would merge them again.
    return jax.checkpoint(
        apply, prevent_cse=is_unrolled, policy=policy, static_argnums=(2,) if is_unrolled else ()
    )
