"""KV cache, prefill and next-token forward pass.

Slot i of a row holds its token i, so that a slot is a position, and every row has its own length. Slots
beyond the newest token hold leftovers of the prompt's padding or zeros; no mask shows them, and writing goes
over them.

    keys, values   [B, K, S, H]     of one layer

transformers asks what it calls a cache for one thing: to take the keys and values of some tokens in one
layer, and to answer with those that attention should look at. Prompts and single tokens do that differently.
"""

from dataclasses import dataclass
from typing import Any, Protocol

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


class CacheView(Protocol):
    """What a transformers model is given as `past_key_values`."""

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object) -> tuple[Tensor, Tensor]:
        """Keep keys and values of a layer; those that its attention looks at."""


class KVCache:
    """Room for the tokens of every row, taken once."""

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
    """Prompts begin rows anew, and see only themselves."""

    cache: KVCache
    rows: Tensor
    """The row that each prompt takes [R]."""

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object) -> tuple[Tensor, Tensor]:
        """Keys and values [R, K, T, H] into the first slots of the rows.

        The rest of a row is wiped: what is not a number would otherwise spread from the text before, since
        zero times it is not zero.
        """
        for stored, new in ((self.cache.keys[layer], keys), (self.cache.values[layer], values)):
            stored.index_fill_(0, self.rows, 0)
            stored[self.rows, :, : new.shape[2]] = new
        return keys, values


@dataclass(frozen=True, eq=False)
class DecodeView:
    """One token goes on in every row, and sees its row."""

    cache: KVCache
    positions: Tensor
    """Where each stands [B]."""

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object) -> tuple[Tensor, Tensor]:
        """Keys and values [B, K, 1, H] into a slot of every row; all slots of the layer."""
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


def prepare_for_generation(decoder: Decoder) -> None:
    """Let the decoder look at a cache, and keep nothing for gradients."""
    AttentionInterface.register(CACHED_ATTENTION, cached_attention)
    decoder.module.set_attn_implementation(CACHED_ATTENTION)
    decoder.module.eval().requires_grad_(requires_grad=False)


def prefill(decoder: Decoder, cache: KVCache, tokens: Tensor, rows: Tensor) -> None:
    """Put prompts [R, T] into the rows [R]. What fills up a prompt behind its end is never seen."""
    places = torch.arange(tokens.shape[1], device=tokens.device)[None]
    masks = packed_masks(torch.ones_like(places), decoder.architecture.layer_windows)
    _hidden(decoder, tokens, places, masks, PrefillView(cache, rows))


def next_logits(decoder: Decoder, cache: KVCache, tokens: Tensor, positions: Tensor) -> Tensor:
    """What may follow the newest token of every row, float32 [B, V]; that token goes into the cache."""
    masks = _decode_masks(decoder, cache, positions)
    hidden = _hidden(decoder, tokens[:, None], positions[:, None], masks, DecodeView(cache, positions))
    return head_logits(hidden[:, 0], decoder.head_weight().to(hidden.dtype), decoder.final_softcap)


def _hidden(decoder: Decoder, tokens: Tensor, positions: Tensor, masks: Masks, slots: CacheView) -> Tensor:
    outputs = decoder.module.model(
        inputs_embeds=decoder.embed(tokens),
        position_ids=positions,
        attention_mask=masks,
        past_key_values=slots,
        use_cache=True,
    )
    hidden: Tensor = outputs.last_hidden_state
    return hidden


def _decode_masks(decoder: Decoder, cache: KVCache, positions: Tensor) -> Masks:
    """The slots that the newest token of every row sees, bool [B, 1, 1, S], for each kind of layer."""
    distance = (positions[:, None] - cache.slot_numbers)[:, None, None]
    full = distance >= 0
    window = next((window for window in decoder.architecture.layer_windows if window is not None), None)
    return full if window is None else {FULL: full, SLIDING: full & (distance < window)}
