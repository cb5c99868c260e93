"""A model on its device, and the rows of a batch there.

A row that has ended idles until it is given the next prompt. Shapes never change, so that a step can be
replayed as a graph, and what a row writes does not depend on its neighbours.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from tunix_rt.core.evaluation.protocol import Decoding
from tunix_rt.engines.generation_batch import IDLE, NOT_FINITE, STEPS_PER_LOOK, Batch, Newcomers
from tunix_rt.engines.generation_rows import Room, default_rows
from tunix_rt.engines.torch.devices import TorchDevice
from tunix_rt.engines.torch.generation.cache import RowCache
from tunix_rt.engines.torch.generation.forward import next_logits, read_prompts
from tunix_rt.engines.torch.generation.graphs import replayed
from tunix_rt.engines.torch.generation.sampling import Choice, choose_tokens, draws_of
from tunix_rt.engines.torch.model import Decoder
from tunix_rt.engines.torch.out_of_memory import is_out_of_memory


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model on its device, ready to write."""

    decoder: Decoder
    place: TorchDevice
    stop_ids: frozenset[int]

    @property
    def num_devices(self) -> int:
        """Texts are written on one device."""
        return 1

    @cached_property
    def stops(self) -> Tensor:
        """The stop tokens as the device reads them."""
        return torch.tensor(sorted(self.stop_ids), dtype=torch.long, device=self.place.device)

    def default_rows(self, num_slots: int) -> int:
        """Rows of a batch when nobody says how many."""
        decoder, place = self.decoder, self.place
        weight_bytes = sum(parameter.nbytes for parameter in decoder.module.parameters())
        room = Room(place.platform, self.num_devices, place.memory_bytes, weight_bytes)
        bytes_per_number = decoder.compute_dtype.itemsize
        return default_rows(
            room, decoder.architecture, num_slots=num_slots, bytes_per_number=bytes_per_number
        )

    def batch(
        self, decoding: Decoding, *, num_rows: int, num_slots: int, steps_per_look: int = STEPS_PER_LOOK
    ) -> Batch:
        """An empty batch, with room for `num_slots` tokens a row."""
        rows = _TorchRows(self, Choice.of(decoding), num_rows, num_slots, steps_per_look)
        return Batch(rows, num_rows=num_rows, stop_ids=self.stop_ids)

    def batches(self, decoding: Decoding, *, num_rows: int, num_slots: int) -> list[Batch]:
        """One batch: torch shares its products out to all cores."""
        return [self.batch(decoding, num_rows=num_rows, num_slots=num_slots)]

    def is_out_of_memory(self, error: RuntimeError) -> bool:
        """Whether the error says that the device has no memory left."""
        return is_out_of_memory(error)


class _TorchRows:
    """`DeviceRows` on one device; [B] each beside the cache, changed in place."""

    @torch.inference_mode()
    def __init__(
        self, model: LoadedModel, choice: Choice, num_rows: int, num_slots: int, num_steps: int
    ) -> None:
        decoder, self._device = model.decoder, model.place.device
        self._model = model
        self._choice = choice
        self._num_steps = num_steps
        self._cache = RowCache(
            decoder.architecture,
            num_rows=num_rows,
            num_slots=num_slots,
            dtype=decoder.compute_dtype,
            device=self._device,
        )
        # The newest token of each row, whose keys and values are not in the cache yet, and where it stands.
        self._tokens = torch.zeros(num_rows, dtype=torch.long, device=self._device)
        self._positions = torch.zeros_like(self._tokens)
        self._lengths = torch.zeros_like(self._tokens)
        self._is_writing = torch.zeros_like(self._tokens, dtype=torch.bool)
        self._draws = torch.zeros((num_rows, 1 if choice.is_greedy else num_slots), device=self._device)
        self._next_logits = replayed(
            lambda: next_logits(decoder, self._cache, self._tokens, self._positions), self._device
        )

    @torch.inference_mode()
    def admit(self, new: Newcomers, num_rows: int) -> None:
        """Give prompts to rows that are free."""
        rows = self._long(new.rows)
        read_prompts(self._model.decoder, self._cache, self._long(new.prompts), rows)
        self._tokens[rows] = self._long(new.tokens)
        self._positions[rows] = self._long(new.positions)
        self._lengths[rows] = self._long(new.lengths)
        self._is_writing[rows] = True
        if not self._choice.is_greedy:
            self._draws[rows] = draws_of(new.keys, self._draws.shape[1]).to(self._device)

    @torch.inference_mode()
    def advance(self, num_awaited: int) -> NDArray[Any]:
        """Some more tokens of every row. The host would have to wait to know how many are free."""
        written = torch.stack([self._write_one() for _ in range(self._num_steps)])
        numbers: NDArray[Any] = written.cpu().numpy()
        return numbers

    def _write_one(self) -> Tensor:
        """One more token of every row [B]. The host does not wait for it."""
        logits = self._next_logits()
        places = self._positions + 1
        chosen = choose_tokens(self._choice, logits, self._draws_at(places))
        is_finite = logits.isfinite().all(dim=-1)
        is_stop = (chosen[:, None] == self._model.stops).any(dim=1)
        goes_on = self._is_writing & is_finite & ~is_stop & (places + 1 < self._lengths)
        written = chosen.where(is_finite, NOT_FINITE).where(self._is_writing, IDLE)
        self._tokens.copy_(chosen.where(goes_on, self._tokens))
        self._positions.copy_(places.where(goes_on, self._positions))
        self._is_writing.copy_(goes_on)
        return written

    def _draws_at(self, places: Tensor) -> Tensor:
        if self._choice.is_greedy:
            return self._draws[:, 0]
        return self._draws.gather(1, places[:, None]).squeeze(1)

    def _long(self, numbers: NDArray[Any]) -> Tensor:
        return torch.as_tensor(numbers, dtype=torch.long, device=self._device)
