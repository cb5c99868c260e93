"""KV cache, prefill and next-token forward pass.

Slot i of a row holds token i of that row, so slots are positions. Slots after the newest token hold zeros or
leftovers of the prompt's padding; attention masks them, and later tokens overwrite them.

    keys, values   [B, K, S, H]     of one layer; all layers are stacked as [L, ...] or kept in a list
    turned keys    [B, K, H, S]     for a CPU, which would otherwise turn all of them around for every token

Heads come before slots, so that a step multiplies one contiguous block per row and head.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from tunix_rt.engines.jax.model.attention import attend, window_of
from tunix_rt.engines.jax.model.decoder import (
    Layer,
    Rotation,
    capped,
    embed,
    finish_layer,
    head_logits,
    layer_kinds,
    project_heads,
    rms_norm,
    rotations_by_kind,
)
from tunix_rt.engines.jax.model.params import Params
from tunix_rt.engines.weights.architecture import Architecture


class LayerCache(NamedTuple):
    """Keys and values of one layer, or stacked over all layers."""

    keys: Array
    values: Array


Cache: TypeAlias = LayerCache | list[LayerCache]
"""Stacked when the program loops over the layers, a list when the layers are unrolled."""
CacheIndex: TypeAlias = tuple[Array, ...]
"""Index of a layer in its LayerCache: `(i,)` in a stack, `()` when the layer has its own."""


class Weights(NamedTuple):
    """The weights of a model on the device."""

    params: Params
    """`layers` is a list where layers are unrolled."""
    adapters: Any
    """LoRA pairs of the matrices, in the same form as `params["layers"]`; empty without an adapter."""
    head: Array | None = None
    """The output embedding as [D, V], which saves a CPU a transpose per token; None: the one in `params`."""


@dataclass(frozen=True)
class Decoder:
    """How a model is computed. Hashable: a static argument of jit."""

    architecture: Architecture
    dtype: DTypeLike
    adapter_scale: float = 1.0
    unrolls_layers: bool = False
    """Unroll the layers instead of looping: faster on CPU and GPU, where a loop copies the cache of each
    layer; slower to compile on TPU, where a loop copies nothing."""
    has_transposed_keys: bool = False
    """Layout of the keys in the cache; see the module docstring."""


def empty_cache(decoder: Decoder, batch_size: int, num_slots: int) -> Cache:
    """A cache of zeros."""
    architecture = decoder.architecture
    shape = (batch_size, architecture.num_kv_heads, num_slots, architecture.head_dim)

    def zeros(*leading: int) -> LayerCache:
        values = jnp.zeros((*leading, *shape), decoder.dtype)
        return LayerCache(jnp.zeros_like(values.mT if decoder.has_transposed_keys else values), values)

    num_layers = architecture.num_layers
    return [zeros() for _ in range(num_layers)] if decoder.unrolls_layers else zeros(num_layers)


def _write_tokens(
    decoder: Decoder, cache: LayerCache, index: CacheIndex, keys: Array, values: Array, positions: Array
) -> LayerCache:
    """Write one token per row: keys and values [B, K, H] at the slots `positions` [B]."""
    # Index every leading axis: if one is left out, XLA transposes the whole cache on GPU.
    rows, heads, dims = jnp.ogrid[tuple(slice(size) for size in keys.shape)]
    slots = positions[:, None, None]
    value_index = (*index, rows[..., 0], heads[..., 0], slots[..., 0])
    key_index = (*index, rows, heads, dims, slots) if decoder.has_transposed_keys else value_index
    return LayerCache(
        cache.keys.at[key_index].set(keys, unique_indices=True),
        cache.values.at[value_index].set(values, unique_indices=True),
    )


def _write_prompts(
    decoder: Decoder, cache: LayerCache, index: CacheIndex, keys: Array, values: Array, rows: Array
) -> LayerCache:
    """Overwrite rows with new prompts: keys and values [R, T, K, H] into the rows `rows` [R].

    The rest of each row is cleared: a NaN left by the previous text would otherwise spread, since 0 * NaN is
    NaN. A row number beyond the batch is ignored (padding of the prefill batch).
    """
    # [R, T, K, H] -> [R, K, S, H]
    missing = cache.values.shape[-2] - keys.shape[1]
    keys, values = (
        jnp.pad(heads.swapaxes(1, 2), ((0, 0), (0, 0), (0, missing), (0, 0))) for heads in (keys, values)
    )
    return LayerCache(
        cache.keys.at[*index, rows].set(keys.mT if decoder.has_transposed_keys else keys, mode="drop"),
        cache.values.at[*index, rows].set(values, mode="drop"),
    )


def _attend_to_cache(
    decoder: Decoder,
    q: Array,
    cache: LayerCache,
    index: CacheIndex,
    positions: Array,
    window: Array | int | None,
) -> Array:
    """Attention of the newest token of every row, [B, 1, N, H], to its row including itself.

    Equal to `dense_attention` with one query, without the axes of length 1 that make it twice as slow on CPU.
    """
    architecture = decoder.architecture
    keys, values = cache.keys[index], cache.values[index]
    grouped = q.reshape(*keys.shape[:2], -1, architecture.head_dim)
    product = "bkgh,bkhs->bkgs" if decoder.has_transposed_keys else "bkgh,bksh->bkgs"
    scores = jnp.einsum(product, grouped, keys, preferred_element_type=jnp.float32)
    scores *= architecture.attention_scale
    if architecture.attention_softcap is not None:
        scores = architecture.attention_softcap * jnp.tanh(scores / architecture.attention_softcap)
    distance = positions[:, None] - jnp.arange(values.shape[-2])
    is_visible = distance >= 0 if window is None else (distance >= 0) & (distance < window)
    weights = jax.nn.softmax(jnp.where(is_visible[:, None, None], scores, -jnp.inf), axis=-1)
    return jnp.einsum("bkgs,bksh->bkgh", weights.astype(values.dtype), values).reshape(q.shape)


_ApplyLayer: TypeAlias = Callable[
    [Array, Layer, Array | int, LayerCache, CacheIndex], tuple[Array, LayerCache]
]
"""(hidden states, layer, window kind, cache, index in the cache) -> (hidden states, cache)"""


def slot_rotations(decoder: Decoder, num_slots: int) -> Rotation:
    """Rotary angles of every slot for each kind of layer: [kinds, 1, S, H/2]."""
    windows, _ = layer_kinds(decoder.architecture)
    return rotations_by_kind(decoder.architecture, windows, jnp.arange(num_slots)[None])


def prefill_cache(
    decoder: Decoder, weights: Weights, cache: Cache, tokens: Array, rows: Array, rotations_by_slot: Rotation
) -> Cache:
    """The cache with prompts [R, T] in the rows [R]. Padding after a prompt is never attended to."""
    architecture = decoder.architecture
    x = embed(weights.params["embedding"], architecture, tokens, decoder.dtype)
    windows, kinds = layer_kinds(architecture)
    segment_ids = jnp.ones((1, tokens.shape[1]), jnp.int32)
    rotations = Rotation(*(angles[:, :, : tokens.shape[1]] for angles in rotations_by_slot))

    def apply(
        x: Array, layer: Layer, kind: Array | int, cache: LayerCache, index: CacheIndex
    ) -> tuple[Array, LayerCache]:
        heads = project_heads(layer, x, Rotation(rotations.cos[kind], rotations.sin[kind]))
        attended = attend(
            heads, segment_ids, architecture, windows=windows, kind=kind, kernel="dense", sharding=None
        )
        cache = _write_prompts(decoder, cache, index, *heads[1:], rows)
        return finish_layer(layer, x, attended), cache

    return _apply_layers(apply, decoder, weights, x, cache, kinds)[1]


def next_logits(
    decoder: Decoder,
    weights: Weights,
    cache: Cache,
    tokens: Array,
    positions: Array,
    rotations_by_slot: Rotation,
) -> tuple[Array, Cache]:
    """Logits after the newest token of every row, float32 [B, V], and the cache including that token."""
    architecture = decoder.architecture
    x = embed(weights.params["embedding"], architecture, tokens[:, None], decoder.dtype)
    windows, kinds = layer_kinds(architecture)
    rotations = Rotation(*(angles[:, 0, positions, None] for angles in rotations_by_slot))

    def apply(
        x: Array, layer: Layer, kind: Array | int, cache: LayerCache, index: CacheIndex
    ) -> tuple[Array, LayerCache]:
        q, k, v = project_heads(layer, x, Rotation(rotations.cos[kind], rotations.sin[kind]))
        cache = _write_tokens(decoder, cache, index, k[:, 0], v[:, 0], positions)
        window = window_of(windows, kind, cache.values.shape[-2])
        return finish_layer(layer, x, _attend_to_cache(decoder, q, cache, index, positions, window)), cache

    x, cache = _apply_layers(apply, decoder, weights, x, cache, kinds)
    hidden = rms_norm(x[:, 0], weights.params["final_norm"], architecture)
    if weights.head is None:
        return head_logits(weights.params, architecture, hidden), cache
    scores = jnp.matmul(hidden, weights.head, preferred_element_type=jnp.float32)
    return capped(scores, architecture), cache


def _apply_layers(
    apply: _ApplyLayer, decoder: Decoder, weights: Weights, x: Array, cache: Cache, kinds: tuple[int, ...]
) -> tuple[Array, Cache]:
    """Apply every layer in order, as a loop on the device or unrolled."""
    params, adapters = weights.params["layers"], weights.adapters

    def layer_of(matrices: Params, pairs: Params) -> Layer:
        return Layer(decoder.architecture, matrices, pairs, decoder.adapter_scale)

    def scan_layer(carried: tuple[Array, LayerCache], scanned: Any) -> tuple[tuple[Array, LayerCache], None]:
        matrices, pairs, kind, index = scanned
        x, cache = carried
        return apply(x, layer_of(matrices, pairs), kind, cache, (index,)), None

    if not isinstance(cache, list):
        # The cache is carried, not sliced and restacked, so that XLA updates it in place.
        layers = (params, adapters, jnp.asarray(kinds), jnp.arange(len(kinds)))
        return jax.lax.scan(scan_layer, (x, cache), layers)[0]
    caches = list(cache)
    for index, kind in enumerate(kinds):
        layer = layer_of(params[index], jax.tree.map(itemgetter(index), adapters))
        x, caches[index] = apply(x, layer, kind, caches[index], ())
    return x, caches
