"""KV cache, prefill and next-token forward pass.

Slot i of a row holds token i of that row, so slots are positions, and every row has its own length. Slots
after the newest token hold zeros or leftovers of the prompt's padding; masks hide them, and later tokens
overwrite them.

    keys, values   [B, K, S, H]     of one layer

transformers calls one method of a cache: `update` stores the keys and values of some tokens in one layer, and
returns those that attention should use. Prefill and decode need different views of the same cache.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface

from tunix_rt.engines.torch.model.attention import (
    FULL,
    SLIDING,
    Masks,
    dense_attention,
    packed_masks,
    sdpa_attention,
)
from tunix_rt.engines.torch.model.decoder import Decoder
from tunix_rt.engines.torch.training.loss import head_logits
from tunix_rt.engines.weights.architecture import Architecture


class KVCache:
    """Keys and values of all rows, allocated once."""

    def __init__(
        self,
        architecture: Architecture,
        *,
        num_rows: int,
        num_slots: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        shape = (num_rows, architecture.num_kv_heads, num_slots, architecture.head_dim)
        layers = range(architecture.num_layers)
        self.keys = [torch.zeros(shape, dtype=dtype, device=device) for _ in layers]
        self.values = [torch.zeros(shape, dtype=dtype, device=device) for _ in layers]
        self.row_numbers = torch.arange(num_rows, device=device)
        self.slot_numbers = torch.arange(num_slots, device=device)


@dataclass(frozen=True, eq=False)
class PrefillView:
    """Prefill: prompts overwrite rows and attend only to themselves."""

    cache: KVCache
    rows: Tensor
    """The row of each prompt [R]."""

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object) -> tuple[Tensor, Tensor]:
        """Store keys and values [R, K, T, H] in the first slots of the rows.

        The rest of each row is cleared: a NaN left by the previous text would otherwise spread, since 0 * NaN
        is NaN.
        """
        for stored, new in ((self.cache.keys[layer], keys), (self.cache.values[layer], values)):
            stored.index_fill_(0, self.rows, 0)
            stored[self.rows, :, : new.shape[2]] = new
        return keys, values


@dataclass(frozen=True, eq=False)
class DecodeView:
    """Decode: one token is added to every row and attends to that row."""

    cache: KVCache
    positions: Tensor
    """Position of each token [B]."""

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object) -> tuple[Tensor, Tensor]:
        """Store keys and values [B, K, 1, H] in one slot of every row; return all slots of the layer."""
        stored = self.cache.keys[layer], self.cache.values[layer]
        for slots, new in zip(stored, (keys, values), strict=True):
            slots[self.cache.row_numbers, :, self.positions] = new[:, :, 0]
        return stored


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
    """Attention of prompts to themselves, or of one token per row to its row: [B, N, T, H] -> [B, T, N, H].

    Query heads of one token that share a key head become queries of that head, so that the cache is not
    copied for each of them.
    """
    attend = sdpa_attention if softcap is None else dense_attention
    settings |= {"softcap": softcap}
    batch, num_heads, num_tokens, head_dim = query.shape
    if num_tokens > 1:
        return attend(module, query, key, value, attention_mask, **settings)
    grouped = query.reshape(batch, key.shape[1], -1, head_dim)
    attended, _ = attend(module, grouped, key, value, attention_mask, **settings)
    return attended.transpose(1, 2).reshape(batch, 1, num_heads, head_dim), None


def prepare_for_generation(decoder: Decoder) -> None:
    """Register cached attention and disable gradients."""
    AttentionInterface.register(CACHED_ATTENTION, cached_attention)
    decoder.module.set_attn_implementation(CACHED_ATTENTION)
    decoder.module.eval().requires_grad_(requires_grad=False)


def prefill(decoder: Decoder, cache: KVCache, tokens: Tensor, rows: Tensor) -> None:
    """Write prompts [R, T] to the rows [R]. Padding after a prompt is never attended to."""
    positions = torch.arange(tokens.shape[1], device=tokens.device)[None]
    masks = packed_masks(torch.ones_like(positions), decoder.architecture.layer_windows)
    _hidden(decoder, tokens, positions, masks, PrefillView(cache, rows))


def next_logits(decoder: Decoder, cache: KVCache, tokens: Tensor, positions: Tensor) -> Tensor:
    """Logits after the newest token of every row, float32 [B, V]; that token is added to the cache."""
    distance = (positions[:, None] - cache.slot_numbers)[:, None, None]
    masks: Masks = distance >= 0
    window = next((window for window in decoder.architecture.layer_windows if window is not None), None)
    if window is not None:
        masks = {FULL: distance >= 0, SLIDING: (distance >= 0) & (distance < window)}
    hidden = _hidden(decoder, tokens[:, None], positions[:, None], masks, DecodeView(cache, positions))
    return head_logits(
        hidden[:, 0], decoder.head_weight().to(hidden.dtype), decoder.architecture.final_softcap
    )


def _hidden(
    decoder: Decoder, tokens: Tensor, positions: Tensor, masks: Masks, slots: PrefillView | DecodeView
) -> Tensor:
    outputs = decoder.module.model(
        inputs_embeds=decoder.embed(tokens),
        position_ids=positions,
        attention_mask=masks,
        past_key_values=slots,
        use_cache=True,
    )
    hidden: Tensor = outputs.last_hidden_state
    return hidden
