"""A model on its devices, and the rows of a batch there."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from numpy.typing import NDArray

from tunix_rt.core.evaluation.protocol import Decoding
from tunix_rt.engines.generation_batch import IDLE, STEPS_PER_LOOK, Batch, Newcomers
from tunix_rt.engines.generation_rows import Room, default_rows
from tunix_rt.engines.jax.devices import DeviceChoice
from tunix_rt.engines.jax.generation.cores import STEPS_OF_SMALL_MODELS, is_small_model, num_batches
from tunix_rt.engines.jax.generation.forward import Decoder, Weights
from tunix_rt.engines.jax.generation.sampling import Choice
from tunix_rt.engines.jax.generation.writing import (
    Begun,
    Rows,
    admit,
    admit_in_turn,
    empty_rows,
    write_on,
    write_until_free,
)
from tunix_rt.engines.jax.out_of_memory import is_out_of_memory
from tunix_rt.engines.jax.sharding import replicated

# XLA's library for CPUs does not say why it failed. Seen where memory was short; with fewer rows it went on.
_CPU_FAILED = "YNNPACK operation failed"


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model on its devices."""

    decoder: Decoder
    weights: Weights
    mesh: Mesh
    stop_ids: frozenset[int]
    choice: DeviceChoice

    @property
    def num_devices(self) -> int:
        """Each of them has a copy of the weights, and its part of every batch."""
        return self.mesh.size

    @property
    def is_one_cpu(self) -> bool:
        """Whether the loop over tokens runs where the program runs, so that it can end at any of them."""
        return self.choice.platform == "cpu" and self.num_devices == 1

    @cached_property
    def stops(self) -> jax.Array:
        """The stop tokens as the device reads them; a number that no token has stands for none."""
        numbers = np.asarray(sorted(self.stop_ids) or [IDLE], np.int32)
        stops: jax.Array = jax.device_put(numbers, replicated(self.mesh))
        return stops

    @property
    def weight_bytes(self) -> int:
        """What the weights take on each device."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves(self.weights))

    def default_rows(self, num_slots: int) -> int:
        """Rows of a batch over all devices when nobody says how many."""
        choice = self.choice
        room = Room(choice.platform, self.num_devices, choice.memory_bytes, self.weight_bytes)
        bytes_per_number = np.dtype(self.decoder.dtype).itemsize
        return default_rows(
            room, self.decoder.architecture, num_slots=num_slots, bytes_per_number=bytes_per_number
        )

    def batch(
        self, decoding: Decoding, *, num_rows: int, num_slots: int, steps_per_look: int = STEPS_PER_LOOK
    ) -> Batch:
        """An empty batch for prompts that come one by one, with room for `num_slots` tokens a row."""
        return self._batch(decoding, num_rows, num_slots, steps_per_look, reads_in_turn=self.is_one_cpu)

    def batches(self, decoding: Decoding, *, num_rows: int, num_slots: int) -> list[Batch]:
        """The same for many prompts, the rows of a small model shared out to the cores of a CPU."""
        is_small = self.is_one_cpu and is_small_model(self.weight_bytes)
        count = num_batches(num_rows) if is_small else 1
        num_steps = STEPS_OF_SMALL_MODELS if is_small else STEPS_PER_LOOK
        return [
            self._batch(decoding, num_rows // count, num_slots, num_steps, reads_in_turn=is_small)
            for _ in range(count)
        ]

    def _batch(
        self, decoding: Decoding, num_rows: int, num_slots: int, num_steps: int, *, reads_in_turn: bool
    ) -> Batch:
        rows = _JaxRows(self, Choice.of(decoding), num_rows, num_slots, num_steps, reads_in_turn)
        return Batch(
            rows,
            num_rows=num_rows,
            stop_ids=self.stop_ids,
            num_devices=self.num_devices,
            reads_in_turn=reads_in_turn,
        )

    def is_out_of_memory(self, error: RuntimeError) -> bool:
        """Whether the error says that a device has no memory left."""
        return is_out_of_memory(error) or _CPU_FAILED in str(error)


class _JaxRows:
    """`DeviceRows` as two programs, compiled once each."""

    def __init__(
        self,
        model: LoadedModel,
        choice: Choice,
        num_rows: int,
        num_slots: int,
        num_steps: int,
        reads_in_turn: bool,
    ) -> None:
        self._model = model
        self._reads_in_turn = reads_in_turn
        self._num_steps = num_steps
        self._choice = choice
        self._num_rows = num_rows
        self._rows: Rows = empty_rows(model.decoder, model.mesh, num_rows, num_slots)

    def admit(self, new: Newcomers, num_rows: int) -> None:
        """Give prompts to rows that are free."""
        model = self._model
        begun = Begun(**self._filled_up(new, num_rows))
        if self._reads_in_turn:
            num_new = np.int32(len(new.rows))
            self._rows = admit_in_turn(model.decoder, model.mesh, model.weights, self._rows, begun, num_new)
        else:
            self._rows = admit(model.decoder, model.mesh, model.weights, self._rows, begun)

    def advance(self, num_awaited: int) -> NDArray[Any]:
        """Some more tokens of every row."""
        model = self._model
        if model.is_one_cpu:
            self._rows, written = write_until_free(
                model.decoder,
                model.mesh,
                model.weights,
                self._rows,
                model.stops,
                np.int32(num_awaited),
                choice=self._choice,
                num_steps=self._num_steps,
            )
            tokens = np.asarray(written)
            made: NDArray[Any] = tokens[(tokens != IDLE).any(axis=1)]
            return made
        self._rows, written = write_on(
            model.decoder,
            model.mesh,
            model.weights,
            self._rows,
            model.stops,
            choice=self._choice,
            num_steps=self._num_steps,
        )
        return np.asarray(written)

    def _filled_up(self, new: Newcomers, num_rows: int) -> dict[str, Any]:
        """The program has its own number of rows; those that are left over go nowhere."""
        num_missing = num_rows - len(new.rows)
        if not num_missing:
            return new._asdict()
        arrays = {
            name: np.concatenate([array, np.repeat(array[-1:], num_missing, axis=0)])
            for name, array in new._asdict().items()
        }
        arrays["rows"][len(new.rows) :] = self._num_rows
        return arrays
