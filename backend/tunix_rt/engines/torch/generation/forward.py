"""The decoder with a cache: whole prompts into it, then one token a row at a time."""

from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface

from tunix_rt.engines.torch.attention import (
    FULL,
    SLIDING,
    Masks,
    dense_attention,
    packed_masks,
    sdpa_attention,
)
from tunix_rt.engines.torch.generation.cache import LayerSlots, PromptSlots, RowCache, TokenSlots
from tunix_rt.engines.torch.loss import head_logits
from tunix_rt.engines.torch.model import Decoder

CACHED_ATTENTION = "tunix_cached"


def cached_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    *,
    softcap: float | None = None,
    **settings: Any,
) -> tuple[Tensor, None]:
    """Attention of prompts to themselves, or of one token a row to its row: [B, N, T, H] -> [B, T, N, H].

    The heads of one token that share a key head look at the same slots: they become queries of that key head,
    so that nobody copies the cache for each of them.
    """
    attend = sdpa_attention if softcap is None else dense_attention
    settings |= {"softcap": softcap}
    batch, num_heads, num_tokens, head_dim = query.shape
    if num_tokens > 1:
        return attend(module, query, key, value, attention_mask, **settings)
    sharing = query.reshape(batch, key.shape[1], -1, head_dim)
    attended, _ = attend(module, sharing, key, value, attention_mask, **settings)
    return attended.transpose(1, 2).reshape(batch, 1, num_heads, head_dim), None


def prepare_to_write(decoder: Decoder) -> None:
    """Let the decoder look at a cache, and keep nothing for gradients."""
    AttentionInterface.register(CACHED_ATTENTION, cached_attention)
    decoder.module.set_attn_implementation(CACHED_ATTENTION)
    decoder.module.eval().requires_grad_(requires_grad=False)


def read_prompts(decoder: Decoder, cache: RowCache, tokens: Tensor, rows: Tensor) -> None:
    """Put prompts [R, T] into the rows [R]. What fills up a prompt behind its end is never seen."""
    places = torch.arange(tokens.shape[1], device=tokens.device)[None]
    masks = packed_masks(torch.ones_like(places), decoder.architecture.layer_windows)
    _hidden(decoder, tokens, places, masks, PromptSlots(cache, rows))


def next_logits(decoder: Decoder, cache: RowCache, tokens: Tensor, positions: Tensor) -> Tensor:
    """What may follow the newest token of every row, float32 [B, V]; that token goes into the cache."""
    masks = _row_masks(decoder, cache, positions)
    hidden = _hidden(decoder, tokens[:, None], positions[:, None], masks, TokenSlots(cache, positions))
    return head_logits(hidden[:, 0], decoder.head_weight().to(hidden.dtype), decoder.final_softcap)


def _hidden(decoder: Decoder, tokens: Tensor, positions: Tensor, masks: Masks, slots: LayerSlots) -> Tensor:
    outputs = decoder.module.model(
        inputs_embeds=decoder.embed(tokens),
        position_ids=positions,
        attention_mask=masks,
        past_key_values=slots,
        use_cache=True,
    )
    hidden: Tensor = outputs.last_hidden_state
    return hidden


def _row_masks(decoder: Decoder, cache: RowCache, positions: Tensor) -> Masks:
    """The slots that the newest token of every row sees, bool [B, 1, 1, S], for each kind of layer."""
    distance = (positions[:, None] - cache.slot_numbers)[:, None, None]
    full = distance >= 0
    window = next((window for window in decoder.architecture.layer_windows if window is not None), None)
    return full if window is None else {FULL: full, SLIDING: full & (distance < window)}
