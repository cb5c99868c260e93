"""The keys and values of what every row holds so far.

Slot i of a row holds its token i, so that a slot is a position, and every row has its own length. Slots
beyond the newest token hold leftovers of the prompt's padding or zeros; no mask shows them, and writing goes
over them.

    keys, values   [B, K, S, H]     of one layer

transformers asks what it calls a cache for one thing: to take the keys and values of some tokens in one
layer, and to answer with those that attention should look at. Prompts and single tokens do that differently.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from tunix_rt.engines.architecture import Architecture


class LayerSlots(Protocol):
    """What a transformers model is given as `past_key_values`."""

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object) -> tuple[Tensor, Tensor]:
        """Keep keys and values of a layer; those that its attention looks at."""


class RowCache:
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
class PromptSlots:
    """Prompts begin rows anew, and see only themselves."""

    cache: RowCache
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
class TokenSlots:
    """One token goes on in every row, and sees its row."""

    cache: RowCache
    positions: Tensor
    """Where each stands [B]."""

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object) -> tuple[Tensor, Tensor]:
        """Keys and values [B, K, 1, H] into a slot of every row; all slots of the layer."""
        stored = self.cache.keys[layer], self.cache.values[layer]
        for slots, new in zip(stored, (keys, values), strict=True):
            slots[self.cache.row_numbers, :, self.positions] = new[:, :, 0]
        return stored
