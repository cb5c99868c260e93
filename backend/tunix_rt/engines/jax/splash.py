"""Splash attention, JAX's fused kernel for TPU: blocks that the mask leaves empty are never computed."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array
from jax.experimental.pallas.ops.tpu import splash_attention as splash
from jax.sharding import NamedSharding, PartitionSpec

# Blocks of 512 use the matrix unit well and fit into the fast memory with heads of 256 values.
_BLOCK_SIZES = (512, 384, 256, 128)
_HEADS_AXIS = "tensor"


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
    """As dense_attention under a causal mask: q [B, T, N, H], k and v [B, T, K, H] -> [B, T, N, H].

    Args:
        q: Queries.
        k: Keys, one head for N / K heads of queries.
        v: Values.
        segment_ids: int32 [B, T]; a token sees its own segment only.
        scale: Factor of the scores.
        window: How many tokens back a token sees, itself included; None: all.
        softcap: Bound of the scores, or None.
        sharding: Of the hidden states [B, T, D]. The compiler cannot split a kernel, so every device of the
            mesh is given its rows and heads explicitly.
        interpret: Emulate the kernel, for tests without a TPU.
    """
    attend = partial(_on_one_device, scale=scale, window=window, softcap=softcap, interpret=interpret)
    if sharding is None or sharding.mesh.size == 1:
        return attend(q, k, v, segment_ids)
    rows = sharding.spec[0]
    query_spec = PartitionSpec(rows, None, _HEADS_AXIS)
    has_shared_keys = k.shape[2] % sharding.mesh.shape[_HEADS_AXIS] != 0
    key_spec = PartitionSpec(rows) if has_shared_keys else query_spec
    # check_vma: JAX cannot tell over which axes the outputs of a kernel vary.
    mapped = jax.shard_map(
        attend,
        mesh=sharding.mesh,
        in_specs=(query_spec, key_spec, key_spec, PartitionSpec(rows)),
        out_specs=query_spec,
        check_vma=False,
    )
    attended: Array = mapped(q, k, v, segment_ids)
    return attended


def _on_one_device(
    q: Array,
    k: Array,
    v: Array,
    segment_ids: Array,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
    interpret: bool,
) -> Array:
    _, row_length, num_heads, _ = q.shape
    kernel = splash.make_splash_mha_single_device(
        splash.MultiHeadMask([_mask(row_length, window)] * num_heads),
        block_sizes=_block_sizes(row_length),
        attn_logits_soft_cap=softcap,
        interpret=interpret,
    )
    scaled = (q.astype(jnp.float32) * scale).astype(q.dtype)
    heads_first = [jnp.swapaxes(heads, 1, 2) for heads in (scaled, k, v)]
    attended: Array = jax.vmap(kernel)(*heads_first, splash.SegmentIds(segment_ids, segment_ids))
    return jnp.swapaxes(attended, 1, 2)


def _mask(row_length: int, window: int | None) -> splash.Mask:
    shape = (row_length, row_length)
    if window is None:
        return splash.CausalMask(shape)
    return splash.LocalMask(shape, window_size=(window - 1, 0), offset=0)


def _block_sizes(row_length: int) -> splash.BlockSizes:
    size = next(size for size in _BLOCK_SIZES if row_length % size == 0)
    return splash.BlockSizes(
        block_q=size,
        block_kv=size,
        block_q_dkv=size,
        block_kv_dkv=size,
        block_q_dq=size,
        block_kv_dq=size,
    )
