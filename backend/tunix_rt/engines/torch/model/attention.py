"""Dense, SDPA, cuDNN and flash attention within segments.

A token attends to the earlier tokens of its own segment and to itself; with a window of w, to the last w of
them. Padding is segment 0 and attends only to padding, so that no row of the softmax is empty or NaN.

    segment_ids  1 1 2 2 0      mask   a . . . .
                                       a b . . .
                                       . . c . .
                                       . . c d .
                                       . . . . _

transformers calls the attention function named in its config; `register` adds ours. They take the masks of
`packed_masks`, except for varlen and flash attention, which take the bounds of the segments instead.
"""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.varlen import varlen_attn
from torch.nn.functional import pad, scaled_dot_product_attention
from transformers import AttentionInterface

from tunix_rt.engines.planning.kernels import TorchKernel

Windows = Sequence[int | None]
"""Attention window of each layer in tokens, including the token itself; None: unlimited."""
Masks = Tensor | dict[str, Tensor]

FULL, SLIDING = "full_attention", "sliding_attention"
"""The two kinds of layers in transformers."""

_MIN_CU_SEQLENS = 256
# The block size of a kernel: shorter segments do not save anything.
_MIN_MAX_SEQLEN = 128
# Finite, so that gradients through masked scores are zero and not NaN.
_MASKED = -1e30


def packed_masks(segment_ids: Tensor, windows: Windows) -> Masks:
    """Attention masks for transformers: [B, T] -> bool [B, 1, T, T], or one for each kind of layer.

    Models without windows take one mask; models with windows take a mask per kind of layer.
    """
    full = causal_mask(segment_ids, None)
    window = next((window for window in windows if window is not None), None)
    return full if window is None else {FULL: full, SLIDING: causal_mask(segment_ids, window)}


def causal_mask(segment_ids: Tensor, window: int | None) -> Tensor:
    """Which query attends to which key: [B, T] -> bool [B, 1, T, T]."""
    index = torch.arange(segment_ids.shape[1], device=segment_ids.device)
    distance = index[:, None] - index[None, :]
    is_reached = distance >= 0
    if window is not None:
        is_reached &= distance < window
    return (is_reached & (segment_ids[:, :, None] == segment_ids[:, None, :]))[:, None]


class SegmentBounds(NamedTuple):
    """Bounds of the segments of packed rows, as varlen kernels take them.

    Both sizes are rounded up, because a compiled layer is recompiled for every new size.
    """

    cu_seqlens: Tensor
    """int32: start offsets in the concatenated rows and the total length, padded with empty segments."""
    max_seqlen: int
    """Upper bound of the length of a segment."""


def segment_bounds(segment_ids: Tensor) -> SegmentBounds:
    """The bounds of rows [B, T] on the host: a device would block to report their number.

    Padding is cut into segments of at most `max_seqlen`: a kernel launches as much work for every segment as
    the longest one needs.

    Example:
        [[1, 1, 2], [1, 0, 0]] -> 0, 2, 3, 4, 6, 6, 6, … and 128
    """
    is_start = torch.ones_like(segment_ids, dtype=torch.bool)
    is_start[:, 1:] = segment_ids[:, 1:] != segment_ids[:, :-1]
    is_start, is_padding = is_start.flatten(), segment_ids.flatten() == 0
    index = torch.arange(len(is_start))
    offsets = index - index.where(is_start, 0).cummax(0).values
    examples = offsets[~is_padding]
    max_seqlen = (
        max(_MIN_MAX_SEQLEN, _power_of_two(int(examples.max()) + 1)) if len(examples) else _MIN_MAX_SEQLEN
    )
    starts = (is_start | (is_padding & (offsets % max_seqlen == 0))).nonzero().flatten().to(torch.int32)
    num_offsets = max(_MIN_CU_SEQLENS, _power_of_two(len(starts) + 1))
    return SegmentBounds(pad(starts, (0, num_offsets - len(starts)), value=len(is_start)), max_seqlen)


def _power_of_two(at_least: int) -> int:
    return 1 << (at_least - 1).bit_length()


def register(kernel: TorchKernel) -> str:
    """Register a kernel with transformers; return its name there."""
    name = f"tunix_{kernel}"
    AttentionInterface.register(name, _KERNELS[kernel])
    return name


def dense_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    *,
    scaling: float,
    softcap: float | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Reference implementation with float32 scores: q [B, N, T, H], k and v [B, K, S, H] -> [B, T, N, H]."""
    batch, num_heads, num_queries, head_dim = query.shape
    grouped = query.reshape(batch, key.shape[1], -1, num_queries, head_dim)
    scores = (grouped @ key[:, :, None].transpose(-1, -2)).float() * scaling
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    scores = scores.masked_fill(~attention_mask[:, :, None], _MASKED)
    attended = torch.softmax(scores, dim=-1).to(value.dtype) @ value[:, :, None]
    return attended.reshape(batch, num_heads, num_queries, -1).transpose(1, 2), None


def sdpa_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    *,
    scaling: float,
    softcap: float | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """The same by torch's best SDPA kernel, which has no soft cap."""
    assert softcap is None  # planning/kernels.py picks another kernel for such a model
    num_groups = query.shape[1] // key.shape[1]
    attended = scaled_dot_product_attention(
        query,
        _repeat_kv_heads(key, num_groups),
        _repeat_kv_heads(value, num_groups),
        attn_mask=attention_mask,
        scale=scaling,
    )
    return attended.transpose(1, 2), None


def cudnn_attention(*tensors: Any, **settings: Any) -> tuple[Tensor, None]:
    """The same by cuDNN only, which raises if it does not support the inputs."""
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return sdpa_attention(*tensors, **settings)


def varlen_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: None,
    *,
    scaling: float,
    bounds: SegmentBounds,
    softcap: float | None = None,
    sliding_window: int | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """The same by torch's own flash attention, which computes only within segments."""
    assert softcap is None  # planning/kernels.py picks another kernel for such a model
    batch, num_heads, row_length, _head_dim = query.shape
    if not _SHARES_KEYS:
        key, value = (_repeat_kv_heads(heads, num_heads // heads.shape[1]) for heads in (key, value))
    q, k, v = (heads.transpose(1, 2).flatten(0, 1) for heads in (query, key, value))
    window = (-1, 0) if sliding_window is None else (sliding_window - 1, 0)
    starts, longest = bounds
    attended = varlen_attn(
        q, k, v, starts, starts, longest, longest, scale=scaling, window_size=window, **_SHARES_KEYS
    )
    assert isinstance(attended, Tensor)
    return attended.unflatten(0, (batch, row_length)), None


def flash_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: None,
    *,
    scaling: float,
    bounds: SegmentBounds,
    softcap: float | None = None,
    sliding_window: int | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """The same by flash-attn, which computes only within segments."""
    from flash_attn import flash_attn_varlen_func

    batch, _heads, row_length, _head_dim = query.shape
    q, k, v = (heads.transpose(1, 2).flatten(0, 1) for heads in (query, key, value))
    window = (-1, -1) if sliding_window is None else (sliding_window - 1, 0)
    starts, longest = bounds
    settings = {"softmax_scale": scaling, "causal": True, "window_size": window, "softcap": softcap or 0.0}
    attended = flash_attn_varlen_func(q, k, v, starts, starts, longest, longest, **settings)
    return attended.unflatten(0, (batch, row_length)), None


# Older versions of torch need keys for every query head.
_SHARES_KEYS: dict[str, Any] = (
    {"enable_gqa": True} if "enable_gqa" in signature(varlen_attn).parameters else {}
)

_KERNELS: dict[TorchKernel, Callable[..., tuple[Tensor, None]]] = {
    "dense": dense_attention,
    "sdpa": sdpa_attention,
    "cudnn": cudnn_attention,
    "varlen": varlen_attention,
    "flash": flash_attention,
}


def _repeat_kv_heads(heads: Tensor, num_groups: int) -> Tensor:
    """[B, K, S, H] -> [B, K * groups, S, H]: fused kernels with a mask do not share keys."""
    batch, num_kv_heads, length, head_dim = heads.shape
    repeated = heads[:, :, None].expand(batch, num_kv_heads, num_groups, length, head_dim)
    return repeated.reshape(batch, num_kv_heads * num_groups, length, head_dim)
