"""The decoder: tokens to hidden states, scanned over layers. docs/jax-engine.md explains it.

The head is not applied here: the loss multiplies by `output_embedding` in chunks, so that logits of shape
[tokens, vocabulary] never exist.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import NamedSharding
from jax.typing import DTypeLike

from tunix_rt.config.recipe import Remat
from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.attention_kernel import Kernel
from tunix_rt.engines.jax.attention import Windows, attend
from tunix_rt.engines.jax.layers import Layer, finish_layer, project_heads, rms_norm
from tunix_rt.engines.jax.params import Params
from tunix_rt.engines.jax.rope import Rotation, frequencies, rotation


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
    x = _constrained(_embed(params["embedding"], architecture, inputs.tokens, options), options)
    windows, kinds = _layer_kinds(architecture)
    rotations = _rotations(architecture, windows, inputs.positions)
    keys = None if dropout_key is None else jax.random.split(dropout_key, architecture.num_layers)

    def apply(x: Array, scanned: tuple[Params, Params, Array, Array | None]) -> tuple[Array, None]:
        weights, layer_adapters, kind, key = scanned
        layer = Layer(
            architecture, weights, layer_adapters, options.adapter_scale, options.adapter_dropout, key
        )
        heads = project_heads(layer, x, jax.tree.map(lambda angles: angles[kind], rotations))
        attended = attend(
            heads,
            inputs.segment_ids,
            architecture,
            windows=windows,
            kind=kind,
            kernel=options.attention,
            sharding=options.activation_sharding,
        )
        return _constrained(finish_layer(layer, x, attended), options), None

    scanned = (params["layers"], (adapters or {}).get("layers", {}), kinds, keys)
    x, _ = jax.lax.scan(_rematerialised(apply, options.remat), x, scanned)
    return rms_norm(x, params["final_norm"], architecture)


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
    """All logits, float32 [B, T, V]. For generation and tests; training never makes them."""
    hidden = hidden_states(params, adapters, architecture, inputs, options)
    embedding = output_embedding(params, architecture).astype(hidden.dtype)
    scores = jnp.einsum("btd,vd->btv", hidden, embedding, preferred_element_type=jnp.float32)
    cap = architecture.final_softcap
    return scores if cap is None else cap * jnp.tanh(scores / cap)


def _embed(embedding: Array, architecture: Architecture, tokens: Array, options: ForwardOptions) -> Array:
    x = embedding[tokens].astype(options.compute_dtype)
    # The factor is rounded to the compute format before it multiplies: Gemma was trained so.
    return x * jnp.asarray(math.sqrt(x.shape[-1]), x.dtype) if architecture.scales_embedding else x


def _layer_kinds(architecture: Architecture) -> tuple[Windows, Array]:
    """The distinct windows, and which of them each layer has: (8, None, 8) -> (8, None), [0, 1, 0]."""
    windows = tuple(dict.fromkeys(architecture.layer_windows))
    return windows, jnp.asarray([windows.index(window) for window in architecture.layer_windows])


def _rotations(architecture: Architecture, windows: Windows, positions: Array) -> Rotation:
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


def _rematerialised(
    apply: Callable[..., tuple[Array, None]], remat: Remat
) -> Callable[..., tuple[Array, None]]:
    """What the backward pass computes again: nothing, all but products with weights, or the whole layer."""
    if remat == "none":
        return apply
    # Products with weights have no batch dimension; attention scores do, and are never worth keeping.
    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable if remat == "dots" else None
    return jax.checkpoint(apply, prevent_cse=False, policy=policy)
