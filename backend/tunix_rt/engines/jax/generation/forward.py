"""The decoder with a cache: whole prompts into it, then one token a row at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.jax.attention import attend, window_of
from tunix_rt.engines.jax.generation.cache import (
    Cache,
    LayerCache,
    Place,
    attend_to_cache,
    put_prompts,
    put_tokens,
)
from tunix_rt.engines.jax.layers import Layer, finish_layer, project_heads, rms_norm
from tunix_rt.engines.jax.model import capped, embed, head_logits, layer_kinds, rotations_by_kind
from tunix_rt.engines.jax.params import Params
from tunix_rt.engines.jax.rope import Rotation

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
    has_turned_keys: bool = False
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
        cache = put_prompts(cache, place, *heads[1:], rows, has_turned_keys=decoder.has_turned_keys)
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
        turned = decoder.has_turned_keys
        cache = put_tokens(cache, place, k[:, 0], v[:, 0], positions, has_turned_keys=turned)
        window = window_of(windows, kind, cache.values.shape[-2])
        attended = attend_to_cache(q, cache, place, positions, window, architecture, has_turned_keys=turned)
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
