"""The decoder: tokens to hidden states, layer by layer. docs/jax-engine.md explains it.

The head is not applied here: the loss multiplies by `output_embedding` in chunks, so that logits of shape
[tokens, vocabulary] never exist.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import NamedSharding
from jax.typing import DTypeLike

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.attention_kernel import Kernel
from tunix_rt.engines.jax.attention import Windows, attend
from tunix_rt.engines.jax.layers import PRODUCT, Layer, finish_layer, project_heads, rms_norm
from tunix_rt.engines.jax.params import Params
from tunix_rt.engines.jax.rope import Rotation, frequencies, rotation
from tunix_rt.recipes.types import Remat

_Weights: TypeAlias = tuple[Params, Params, Array | None]
"""Weights, adapters and key of the dropout: of one layer, or stacked over all."""
_ApplyLayer: TypeAlias = Callable[[Array, _Weights, Array | int], Array]
"""Hidden states, the weights of a layer, and which kind of window it has -> hidden states."""


class Inputs(NamedTuple):
    """What a forward pass reads, each int32 [B, T]; engines/batching.py draws them."""

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
    """Where hidden states [B, T, D] live; None leaves it to the compiler."""
    unrolls_layers: bool = False
    """One program text per layer instead of a loop. Faster on GPU, where a loop copies what it keeps for the
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
        params: Weights, as engines/jax/params.py draws them; matrices may be quantised.
        adapters: Low-rank pairs beside the matrices, or None.
        architecture: The shape of the model.
        inputs: Tokens with their segments and positions.
        options: Formats, kernel and rematerialisation.
        dropout_key: Needed to drop inputs of adapters (training); None drops nothing.
    """
    x = _constrained(embed(params["embedding"], architecture, inputs.tokens, options.compute_dtype), options)
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
        return _constrained(finish_layer(layer, x, attended), options)

    keys = None if dropout_key is None else jax.random.split(dropout_key, architecture.num_layers)
    stacked = (params["layers"], (adapters or {}).get("layers", {}), keys)
    x = _through_layers(_rematerialised(apply, options), x, stacked, kinds, options)
    return rms_norm(x, params["final_norm"], architecture)


def embed(embedding: Array, architecture: Architecture, tokens: Array, dtype: DTypeLike) -> Array:
    """The first hidden states: [B, T] -> [B, T, D]."""
    x = embedding[tokens].astype(dtype)
    # The factor is rounded to the format of x before it multiplies: Gemma was trained so.
    return x * jnp.asarray(math.sqrt(x.shape[-1]), x.dtype) if architecture.scales_embedding else x


def output_embedding(params: Params, architecture: Architecture) -> Array:
    """The matrix [V, D] that turns hidden states into logits."""
    head: Array = params["embedding" if architecture.is_embedding_tied else "head"]
    return head


def logits(
    params: Params,
    adapters: Params | None,
    architecture: Architecture,
    inputs: Inputs,
    options: ForwardOptions,
) -> Array:
    """All logits, float32 [B, T, V]. For tests; training never makes them."""
    return head_logits(params, architecture, hidden_states(params, adapters, architecture, inputs, options))


def head_logits(params: Params, architecture: Architecture, hidden: Array) -> Array:
    """The logits of normed hidden states: [..., D] -> float32 [..., V]."""
    embedding = output_embedding(params, architecture).astype(hidden.dtype)
    scores = jnp.einsum("...d,vd->...v", hidden, embedding, preferred_element_type=jnp.float32)
    return capped(scores, architecture)


def capped(scores: Array, architecture: Architecture) -> Array:
    """The logits that the model means by the products with its head."""
    cap = architecture.final_softcap
    return scores if cap is None else cap * jnp.tanh(scores / cap)


def layer_kinds(architecture: Architecture) -> tuple[Windows, tuple[int, ...]]:
    """The distinct windows, and which of them each layer has: (8, None, 8) -> (8, None), (0, 1, 0)."""
    windows = tuple(dict.fromkeys(architecture.layer_windows))
    return windows, tuple(windows.index(window) for window in architecture.layer_windows)


def rotations_by_kind(architecture: Architecture, windows: Windows, positions: Array) -> Rotation:
    """Angles for each kind of layer: [kinds, B, T, H/2]."""
    by_kind = [
        rotation(positions, frequencies(architecture, has_window=window is not None)) for window in windows
    ]
    cos, sin = zip(*by_kind, strict=True)
    return Rotation(jnp.stack(cos), jnp.stack(sin))


def _constrained(x: Array, options: ForwardOptions) -> Array:
    if options.activation_sharding is None:
        return x
    constrained: Array = jax.lax.with_sharding_constraint(x, options.activation_sharding)
    return constrained


def _through_layers(
    apply: _ApplyLayer,
    x: Array,
    stacked: _Weights,
    kinds: tuple[int, ...],
    options: ForwardOptions,
) -> Array:
    """Apply every layer in turn, as a loop on the device or as one straight text."""
    if not options.unrolls_layers:
        x, _ = jax.lax.scan(lambda x, layer: (apply(x, *layer), None), x, (stacked, jnp.asarray(kinds)))
        return x
    layers, *others = stacked
    for index, kind in enumerate(kinds):
        # Frozen layers come as a list: engines/jax/layer_lists.py says why.
        weights = layers[index] if isinstance(layers, list) else jax.tree.map(itemgetter(index), layers)
        x = apply(x, (weights, *jax.tree.map(itemgetter(index), others)), kind)
    return x


def _rematerialised(apply: _ApplyLayer, options: ForwardOptions) -> _ApplyLayer:
    """What the backward pass computes again: nothing, all but products with weights, or the whole layer."""
    if options.remat == "none":
        return apply
    policy = jax.checkpoint_policies.save_only_these_names(PRODUCT) if options.remat == "dots" else None
    is_unrolled = options.unrolls_layers
    # A loop keeps the two passes apart; in one straight text the compiler would merge them again.
    return jax.checkpoint(
        apply, prevent_cse=is_unrolled, policy=policy, static_argnums=(2,) if is_unrolled else ()
    )
