"""The keys and values of what every row holds so far.

Slot i of a row holds its token i, so that a slot is a position. Slots beyond the newest token hold leftovers
of the prompt's padding or zeros; nothing looks at them, and writing goes over them.

    keys, values   [B, K, S, H]     of one layer; of all layers with an axis [L, ...] before it, or in a list
    turned keys    [B, K, H, S]     for a CPU, which would otherwise turn all of them around for every token

Heads come before slots: then a step multiplies one contiguous block per row and head.
"""

from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from tunix_rt.engines.architecture import Architecture


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
    has_turned_keys: bool = False,
) -> Cache:
    """A cache of zeros."""
    shape = (batch_size, architecture.num_kv_heads, num_slots, architecture.head_dim)

    def zeros(*leading: int) -> LayerCache:
        values = jnp.zeros((*leading, *shape), dtype)
        return LayerCache(jnp.zeros_like(values.mT if has_turned_keys else values), values)

    return [zeros() for _ in range(architecture.num_layers)] if is_list else zeros(architecture.num_layers)


def put_tokens(
    cache: LayerCache,
    place: Place,
    keys: Array,
    values: Array,
    positions: Array,
    *,
    has_turned_keys: bool = False,
) -> LayerCache:
    """Write one token a row: keys and values [B, K, H] at the slots `positions` [B]."""
    # Every leading axis has an index: with one left out, XLA would transpose the whole cache on a GPU.
    rows, heads, numbers = jnp.ogrid[tuple(slice(size) for size in keys.shape)]
    slots = positions[:, None, None]
    where = (*place, rows[..., 0], heads[..., 0], slots[..., 0])
    of_keys = (*place, rows, heads, numbers, slots) if has_turned_keys else where
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
    has_turned_keys: bool = False,
) -> LayerCache:
    """Begin rows anew with prompts: keys and values [R, T, K, H] into the rows `rows` [R].

    The rest of the row is wiped: what is not a number would otherwise spread from the text before, since zero
    times it is not zero. A row number beyond the batch stands for nobody.
    """
    where, num_slots = (*place, rows), cache.values.shape[-2]
    new_keys = _as_rows(keys, num_slots)
    return LayerCache(
        cache.keys.at[where].set(new_keys.mT if has_turned_keys else new_keys, mode="drop"),
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
    has_turned_keys: bool = False,
) -> Array:
    """Attention of the newest token of every row, [B, 1, N, H], to its row, itself included.

    As `dense_attention` of one query, without the axes of length 1 that make it twice as slow on a CPU.
    """
    keys, values = cache.keys[place], cache.values[place]
    grouped = q.reshape(*keys.shape[:2], -1, architecture.head_dim)
    product = "bkgh,bkhs->bkgs" if has_turned_keys else "bkgh,bksh->bkgs"
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
