"""Dense, cuDNN and splash attention within segments.

A token attends to the earlier tokens of its own segment and to itself; with a window of w, to the last w of
them. Padding is segment 0 and attends only to padding, so that no row of the softmax is empty or NaN.

    segment_ids  1 1 2 2 0      mask   a . . . .
                                       a b . . .
                                       . . c . .
                                       . . c d .
                                       . . . . _
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.experimental.pallas.ops.tpu import splash_attention as splash
from jax.sharding import NamedSharding, PartitionSpec

from tunix_rt.engines.planning.kernels import Kernel
from tunix_rt.engines.weights.architecture import Architecture

# Blocks of 512 use the matrix unit well and, with a head dimension of 256, fit into VMEM.
_BLOCK_SIZES = (512, 384, 256, 128)
_BLOCKS = ("block_q", "block_kv", "block_q_dkv", "block_kv_dkv", "block_q_dq", "block_kv_dq")
_HEADS_AXIS = "tensor"
Windows: TypeAlias = tuple[int | None, ...]
"""Attention window of each kind of layer in tokens, including the token itself; None: unlimited."""

# Finite, so that gradients through masked scores are zero and not NaN.
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
    """Self-attention of whole rows, [B, T, N, H].

    Args:
        heads: Queries [B, T, N, H], keys and values [B, T, K, H].
        segment_ids: int32 [B, T].
        architecture: Defines the scale and the soft cap.
        windows: The distinct windows of the model.
        kind: Index of this layer's window; a traced number if one program serves every layer.
        kernel: The attention kernel.
        sharding: Sharding of the hidden states [B, T, D].
    """
    scale, softcap = architecture.attention_scale, architecture.attention_softcap
    if kernel == "splash":
        # The mask is part of the kernel, so each window has its own program.
        kernels = [
            partial(splash_attention, scale=scale, window=window, softcap=softcap, sharding=sharding)
            for window in windows
        ]
        if isinstance(kind, int):
            return kernels[kind](*heads, segment_ids)
        attended: Array = jax.lax.switch(kind, kernels, *heads, segment_ids)
        return attended
    mask = causal_mask(segment_ids, window_of(windows, kind, segment_ids.shape[1]))
    if kernel == "cudnn":
        return cudnn_attention(*heads, mask, scale=scale)
    return dense_attention(*heads, mask, scale=scale, softcap=softcap)


def window_of(windows: Windows, kind: Array | int, row_length: int) -> Array | int | None:
    """The window of one kind of layer; `row_length` instead of None if the kind is a traced number."""
    if isinstance(kind, int) or len(windows) == 1:
        return windows[kind if isinstance(kind, int) else 0]
    return jnp.asarray([row_length if window is None else window for window in windows])[kind]


def causal_mask(segment_ids: Array, window: int | Array | None) -> Array:
    """Which query attends to which key: [B, T] -> bool [B, T, T]."""
    index = jnp.arange(segment_ids.shape[1])
    distance = index[:, None] - index[None, :]
    is_visible = distance >= 0
    if window is not None:
        is_visible &= distance < window
    return is_visible & (segment_ids[:, :, None] == segment_ids[:, None, :])


def dense_attention(
    q: Array, k: Array, v: Array, mask: Array, *, scale: float, softcap: float | None
) -> Array:
    """Reference implementation: q [B, T, N, H], k and v [B, S, K, H], mask [B, T, S] -> [B, T, N, H].

    Query heads are grouped by their shared key head, so that keys and values are not repeated in memory.
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
    """Equal to dense_attention, fused by cuDNN; the mask must be causal."""
    # With is_causal, cuDNN skips the half of the blocks that the mask would empty.
    return jax.nn.dot_product_attention(
        q, k, v, mask=mask[:, None], scale=scale, is_causal=True, implementation="cudnn"
    )


def splash_attention(
    q: Array,
    k: Array,
    v: Array,
    segment_ids: Array,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
    sharding: NamedSharding | None,
    interpret: bool = False,
) -> Array:
    """Causal attention by the splash kernel: q [B, T, N, H], k and v [B, T, K, H] -> [B, T, N, H].

    Args:
        q: Queries.
        k: Keys, one head for N / K query heads.
        v: Values.
        segment_ids: int32 [B, T]; tokens attend within their segment.
        scale: Factor of the scores.
        window: Number of tokens that a token attends to, including itself; None: all earlier ones.
        softcap: Bound of the scores, or None.
        sharding: Sharding of the hidden states [B, T, D]. The compiler cannot partition a kernel, so each
            device of the mesh gets its rows and heads explicitly.
        interpret: Emulate the kernel, for tests without a TPU.
    """
    row_length = q.shape[1]
    mask: splash.Mask = splash.CausalMask((row_length, row_length))
    if window is not None:
        mask = splash.LocalMask((row_length, row_length), window_size=(window - 1, 0), offset=0)
    size = next(size for size in _BLOCK_SIZES if row_length % size == 0)
    block_sizes: dict[str, Any] = dict.fromkeys(_BLOCKS, size)

    def attend(q: Array, k: Array, v: Array, segment_ids: Array) -> Array:
        kernel = splash.make_splash_mha_single_device(
            splash.MultiHeadMask([mask] * q.shape[2]),
            block_sizes=splash.BlockSizes(**block_sizes),
            attn_logits_soft_cap=softcap,
            interpret=interpret,
        )
        scaled = (q.astype(jnp.float32) * scale).astype(q.dtype)
        heads_first = [jnp.swapaxes(heads, 1, 2) for heads in (scaled, k, v)]
        attended: Array = jax.vmap(kernel)(*heads_first, splash.SegmentIds(segment_ids, segment_ids))
        return jnp.swapaxes(attended, 1, 2)

    if sharding is None or sharding.mesh.size == 1:
        return attend(q, k, v, segment_ids)
    rows = sharding.spec[0]
    query_spec = PartitionSpec(rows, None, _HEADS_AXIS)
    has_shared_keys = k.shape[2] % sharding.mesh.shape[_HEADS_AXIS] != 0
    key_spec = PartitionSpec(rows) if has_shared_keys else query_spec
    # check_vma: JAX cannot infer over which mesh axes the outputs of a kernel vary.
    mapped: Callable[..., Array] = jax.shard_map(
        attend,
        mesh=sharding.mesh,
        in_specs=(query_spec, key_spec, key_spec, PartitionSpec(rows)),
        out_specs=query_spec,
        check_vma=False,
    )
    return mapped(q, k, v, segment_ids)
