"""Causal attention within segments, and which kernel computes it.

A token sees the earlier tokens of its own segment, itself included; with a window of w, the last w of them.
Padding is segment 0 and sees only padding, so that no row of the softmax is empty and nothing becomes NaN.

    segment_ids  1 1 2 2 0      sees   a . . . .
                                       a b . . .
                                       . . c . .
                                       . . c d .
                                       . . . . _
"""

from typing import TypeAlias

import jax
import jax.numpy as jnp
from jax import Array

Windows: TypeAlias = tuple[int | None, ...]
"""Reach of each kind of layer, in tokens, itself included; None reaches back to the start."""


def causal_mask(segment_ids: Array, window: int | Array | None) -> Array:
    """[B, T] -> bool [B, T, T], query before key: who sees whom."""
    index = jnp.arange(segment_ids.shape[1])
    distance = index[:, None] - index[None, :]
    is_reached = distance >= 0
    if window is not None:
        is_reached &= distance < window
    return is_reached & (segment_ids[:, :, None] == segment_ids[:, None, :])


def dense_attention(
    q: Array, k: Array, v: Array, mask: Array, *, scale: float, softcap: float | None
) -> Array:
    """The reference: q [B, T, N, H], k and v [B, S, K, H], mask [B, T, S] -> [B, T, N, H].

    Query heads are grouped by the key head they share, so that keys and values are never repeated in memory.
    """
    batch, num_queries, num_heads, head_dim = q.shape
    num_kv_heads = k.shape[2]
    grouped = q.reshape(batch, num_queries, num_kv_heads, num_heads // num_kv_heads, head_dim)
    scores = jnp.einsum("btkgh,bskh->bkgts", grouped, k, preferred_element_type=jnp.float32) * scale
    if softcap is not None:
        scores = softcap * jnp.tanh(scores / softcap)
    scores = jnp.where(mask[:, None, None], scores, jnp.finfo(jnp.float32).min)
    weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
    return jnp.einsum("bkgts,bskh->btkgh", weights, v).reshape(q.shape)
