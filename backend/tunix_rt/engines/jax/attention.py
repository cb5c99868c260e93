"""Causal attention within segments, by any kernel. engines/attention_kernel.py says which one.

A token sees the earlier tokens of its own segment, itself included; with a window of w, the last w of them.
Padding is segment 0 and sees only padding, so that no row of the softmax is empty and nothing becomes NaN.

    segment_ids  1 1 2 2 0      sees   a . . . .
                                       a b . . .
                                       . . c . .
                                       . . c d .
                                       . . . . _
"""

from functools import partial
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import NamedSharding

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.attention_kernel import Kernel
from tunix_rt.engines.jax.splash import splash_attention

Windows: TypeAlias = tuple[int | None, ...]
"""Reach of each kind of layer, in tokens, itself included; None reaches back to the start."""

# Finite, so that a gradient through it is zero and not NaN.
_MASKED = -1e30


def attend(
    heads: tuple[Array, Array, Array],
    segment_ids: Array,
    architecture: Architecture,
    *,
    windows: Windows,
    kind: Array | int,
    kernel: Kernel,
    sharding: NamedSharding | None,
) -> Array:
    """Attention of whole rows to themselves, [B, T, N, H].

    Args:
        heads: Queries [B, T, N, H], keys and values [B, T, K, H].
        segment_ids: int32 [B, T].
        architecture: Gives the scale and the soft cap.
        windows: The windows that layers of this model have.
        kind: Which of them this layer has; a number on the device where one program serves every layer.
        kernel: What computes it.
        sharding: Of the hidden states [B, T, D].
    """
    scale, softcap = architecture.attention_scale, architecture.attention_softcap
    if kernel == "splash":
        # The kernel is built around its mask, so that each window is a program of its own.
        each = [
            partial(splash_attention, scale=scale, window=window, softcap=softcap, sharding=sharding)
            for window in windows
        ]
        if isinstance(kind, int):
            return each[kind](*heads, segment_ids)
        attended: Array = jax.lax.switch(kind, each, *heads, segment_ids)
        return attended
    mask = causal_mask(segment_ids, window_of(windows, kind, segment_ids.shape[1]))
    if kernel == "cudnn":
        return cudnn_attention(*heads, mask, scale=scale)
    return dense_attention(*heads, mask, scale=scale, softcap=softcap)


def window_of(windows: Windows, kind: Array | int, row_length: int) -> Array | int | None:
    """The reach of one kind of layer; of a kind that only the device knows, at most `row_length`."""
    if isinstance(kind, int) or len(windows) == 1:
        return windows[kind if isinstance(kind, int) else 0]
    return jnp.asarray([row_length if window is None else window for window in windows])[kind]


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
    scores = jnp.where(mask[:, None, None], scores, _MASKED)
    weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
    return jnp.einsum("bkgts,bskh->btkgh", weights, v).reshape(q.shape)


def cudnn_attention(q: Array, k: Array, v: Array, mask: Array, *, scale: float) -> Array:
    """As dense_attention, fused by cuDNN; the mask must be a causal one."""
    # Causal as well as masked: cuDNN then leaves out the half of the blocks that the mask would empty.
    return jax.nn.dot_product_attention(
        q, k, v, mask=mask[:, None], scale=scale, is_causal=True, implementation="cudnn"
    )
