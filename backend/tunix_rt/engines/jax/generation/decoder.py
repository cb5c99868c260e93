"""KV cache, prefill and next-token forward pass.

Slot i of a row holds its token i, so that a slot is a position. Slots beyond the newest token hold leftovers
of the prompt's padding or zeros; nothing looks at them, and writing goes over them.

    keys, values   [B, K, S, H]     of one layer; of all layers with an axis [L, ...] before it, or in a list
    turned keys    [B, K, H, S]     for a CPU, which would otherwise turn all of them around for every token

Heads come before slots: then a step multiplies one contiguous block per row and head.
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
    """Of one layer, or stacked over all."""

    keys: Array
    values: Array


Cache: TypeAlias = LayerCache | list[LayerCache]
"""Stacked where a loop walks over the layers, a list where they are one straight text."""
Place: TypeAlias = tuple[Array, ...]
"""Where a layer lies in its LayerCache: `(i,)` in a stack, `()` in one of its own."""


def empty_cache(
    architecture: Architecture,
    batch_size: int,
    num_slots: int,
    dtype: DTypeLike,
    *,
    is_list: bool,
    has_transposed_keys: bool = False,
) -> Cache:
    """A cache of zeros."""
    shape = (batch_size, architecture.num_kv_heads, num_slots, architecture.head_dim)

    def zeros(*leading: int) -> LayerCache:
        values = jnp.zeros((*leading, *shape), dtype)
        return LayerCache(jnp.zeros_like(values.mT if has_transposed_keys else values), values)

    return [zeros() for _ in range(architecture.num_layers)] if is_list else zeros(architecture.num_layers)


def put_tokens(
    cache: LayerCache,
    place: Place,
    keys: Array,
    values: Array,
    positions: Array,
    *,
    has_transposed_keys: bool = False,
) -> LayerCache:
    """Write one token a row: keys and values [B, K, H] at the slots `positions` [B]."""
    # Every leading axis has an index: with one left out, XLA would transpose the whole cache on a GPU.
    rows, heads, numbers = jnp.ogrid[tuple(slice(size) for size in keys.shape)]
    slots = positions[:, None, None]
    where = (*place, rows[..., 0], heads[..., 0], slots[..., 0])
    of_keys = (*place, rows, heads, numbers, slots) if has_transposed_keys else where
    return LayerCache(
        cache.keys.at[of_keys].set(keys, unique_indices=True),
        cache.values.at[where].set(values, unique_indices=True),
    )


def put_prompts(
    cache: LayerCache,
    place: Place,
    keys: Array,
    values: Array,
    rows: Array,
    *,
    has_transposed_keys: bool = False,
) -> LayerCache:
    """Begin rows anew with prompts: keys and values [R, T, K, H] into the rows `rows` [R].

    The rest of the row is wiped: what is not a number would otherwise spread from the text before, since zero
    times it is not zero. A row number beyond the batch stands for nobody.
    """
    where, num_slots = (*place, rows), cache.values.shape[-2]
    new_keys = _as_rows(keys, num_slots)
    return LayerCache(
        cache.keys.at[where].set(new_keys.mT if has_transposed_keys else new_keys, mode="drop"),
        cache.values.at[where].set(_as_rows(values, num_slots), mode="drop"),
    )


def attend_to_cache(
    q: Array,
    cache: LayerCache,
    place: Place,
    positions: Array,
    window: Array | int | None,
    architecture: Architecture,
    *,
    has_transposed_keys: bool = False,
) -> Array:
    """Attention of the newest token of every row, [B, 1, N, H], to its row, itself included.

    As `dense_attention` of one query, without the axes of length 1 that make it twice as slow on a CPU.
    """
    keys, values = cache.keys[place], cache.values[place]
    grouped = q.reshape(*keys.shape[:2], -1, architecture.head_dim)
    product = "bkgh,bkhs->bkgs" if has_transposed_keys else "bkgh,bksh->bkgs"
    scores = jnp.einsum(product, grouped, keys, preferred_element_type=jnp.float32)
    scores *= architecture.attention_scale
    if architecture.attention_softcap is not None:
        scores = architecture.attention_softcap * jnp.tanh(scores / architecture.attention_softcap)
    is_reached = _is_reached(positions, window, values.shape[-2])
    weights = jax.nn.softmax(jnp.where(is_reached[:, None, None], scores, -jnp.inf), axis=-1)
    return jnp.einsum("bkgs,bksh->bkgh", weights.astype(values.dtype), values).reshape(q.shape)


def _is_reached(positions: Array, window: Array | int | None, num_slots: int) -> Array:
    """Which slots the newest token sees: bool [B, S]."""
    distance = positions[:, None] - jnp.arange(num_slots)
    return distance >= 0 if window is None else (distance >= 0) & (distance < window)


def _as_rows(heads: Array, num_slots: int) -> Array:
    """[R, T, K, H] -> [R, K, S, H], zeros after the prompt."""
    missing = num_slots - heads.shape[1]
    return jnp.pad(heads.swapaxes(1, 2), ((0, 0), (0, 0), (0, missing), (0, 0)))


_ApplyLayer: TypeAlias = Callable[[Array, Layer, Array | int, LayerCache, Place], tuple[Array, LayerCache]]
"""Hidden states, a layer, which kind of window it has, its cache and its place there -> both after it."""


class Weights(NamedTuple):
    """What a model computes with."""

    params: Params
    """`layers` is a list where layers are unrolled."""
    adapters: Any
    """Pairs beside the matrices, in the same form as `params["layers"]`; empty without an adapter."""
    head: Array | None = None
    """The output embedding as [D, V]: a CPU would turn it around for every token. None: as in `params`."""


@dataclass(frozen=True)
class Decoder:
    """How a model computes. Hashable: a static argument of jit."""

    architecture: Architecture
    dtype: DTypeLike
    adapter_scale: float = 1.0
    unrolls_layers: bool = False
    """One program text per layer instead of a loop: faster on CPU and GPU, where a loop copies the cache of
    the layer that it visits; slower to compile on TPU, where a loop copies nothing."""
    has_transposed_keys: bool = False
    """How keys lie in the cache; cache.py says why."""


def rotations_of_slots(decoder: Decoder, num_slots: int) -> Rotation:
    """Angles of every slot, for each kind of layer: [kinds, 1, S, H/2]."""
    windows, _ = layer_kinds(decoder.architecture)
    return rotations_by_kind(decoder.architecture, windows, jnp.arange(num_slots)[None])


def read_prompts(
    decoder: Decoder, weights: Weights, cache: Cache, tokens: Array, rows: Array, of_slots: Rotation
) -> Cache:
    """The cache with prompts [R, T] in the rows [R]. What fills up a prompt behind its end is never seen."""
    architecture = decoder.architecture
    x = embed(weights.params["embedding"], architecture, tokens, decoder.dtype)
    windows, kinds = layer_kinds(architecture)
    segment_ids = jnp.ones((1, tokens.shape[1]), jnp.int32)
    rotations = Rotation(*(numbers[:, :, : tokens.shape[1]] for numbers in of_slots))

    def apply(
        x: Array, layer: Layer, kind: Array | int, cache: LayerCache, place: Place
    ) -> tuple[Array, LayerCache]:
        heads = project_heads(layer, x, Rotation(rotations.cos[kind], rotations.sin[kind]))
        attended = attend(
            heads, segment_ids, architecture, windows=windows, kind=kind, kernel="dense", sharding=None
        )
        cache = put_prompts(cache, place, *heads[1:], rows, has_transposed_keys=decoder.has_transposed_keys)
        return finish_layer(layer, x, attended), cache

    return _through_layers(apply, decoder, weights, x, cache, kinds)[1]


def next_logits(
    decoder: Decoder, weights: Weights, cache: Cache, tokens: Array, positions: Array, of_slots: Rotation
) -> tuple[Array, Cache]:
    """What may follow the newest token of every row, float32 [B, V], and the cache with that token in it."""
    architecture = decoder.architecture
    x = embed(weights.params["embedding"], architecture, tokens[:, None], decoder.dtype)
    windows, kinds = layer_kinds(architecture)
    rotations = Rotation(*(numbers[:, 0, positions, None] for numbers in of_slots))

    def apply(
        x: Array, layer: Layer, kind: Array | int, cache: LayerCache, place: Place
    ) -> tuple[Array, LayerCache]:
        q, k, v = project_heads(layer, x, Rotation(rotations.cos[kind], rotations.sin[kind]))
        turned = decoder.has_transposed_keys
        cache = put_tokens(cache, place, k[:, 0], v[:, 0], positions, has_transposed_keys=turned)
        window = window_of(windows, kind, cache.values.shape[-2])
        attended = attend_to_cache(
            q, cache, place, positions, window, architecture, has_transposed_keys=turned
        )
        return finish_layer(layer, x, attended), cache

    x, cache = _through_layers(apply, decoder, weights, x, cache, kinds)
    hidden = rms_norm(x[:, 0], weights.params["final_norm"], architecture)
    if weights.head is None:
        return head_logits(weights.params, architecture, hidden), cache
    scores = jnp.matmul(hidden, weights.head, preferred_element_type=jnp.float32)
    return capped(scores, architecture), cache


def _through_layers(
    apply: _ApplyLayer, decoder: Decoder, weights: Weights, x: Array, cache: Cache, kinds: tuple[int, ...]
) -> tuple[Array, Cache]:
    """Apply every layer in turn, as a loop on the device or as one straight text."""
    params, adapters = weights.params["layers"], weights.adapters

    def layer_of(matrices: Params, pairs: Params) -> Layer:
        return Layer(decoder.architecture, matrices, pairs, decoder.adapter_scale)

    def visit(carried: tuple[Array, LayerCache], one: Any) -> tuple[tuple[Array, LayerCache], None]:
        matrices, pairs, kind, index = one
        x, cache = carried
        return apply(x, layer_of(matrices, pairs), kind, cache, (index,)), None

    if not isinstance(cache, list):
        # The cache is carried along, not sliced and put together again: then it is changed in place.
        layers = (params, adapters, jnp.asarray(kinds), jnp.arange(len(kinds)))
        return jax.lax.scan(visit, (x, cache), layers)[0]
    caches = list(cache)
    for index, kind in enumerate(kinds):
        layer = layer_of(params[index], jax.tree.map(itemgetter(index), adapters))
        x, caches[index] = apply(x, layer, kind, caches[index], ())
    return x, caches
