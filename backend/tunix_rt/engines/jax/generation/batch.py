"""The host's side of a batch: which prompt is in which row, and what it has written so far."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import NDArray

from tunix_rt.core.evaluation.protocol import Decoding
from tunix_rt.engines.generation import Written
from tunix_rt.engines.jax.generation.forward import Decoder, Weights
from tunix_rt.engines.jax.generation.prompt_groups import Task, next_to_admit
from tunix_rt.engines.jax.generation.sampling import Choice, noise_key
from tunix_rt.engines.jax.generation.writing import (
    IDLE,
    NOT_FINITE,
    Newcomers,
    admit,
    empty_rows,
    write_on,
)
from tunix_rt.engines.jax.sharding import ROW_AXES

# Between two looks of the host. More would leave rows idle that have ended, fewer would wait for the host.
_STEPS_PER_LOOK = 16
# Of the prompts that are read at a time: enough to keep a device busy, little enough for dense attention.
_TOKENS_PER_ADMISSION = 16_384
# A quarter of the rows is read anew at a time, so that few rows wait and few reads are half empty.
_ADMISSIONS_PER_BATCH = 4


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model on its devices."""

    decoder: Decoder
    weights: Weights
    mesh: Mesh
    stop_ids: frozenset[int]

    @property
    def num_devices(self) -> int:
        """Each of them has a copy of the weights, and its part of every batch."""
        return self.mesh.size

    @cached_property
    def stops(self) -> jax.Array:
        """The stop tokens as the device reads them; a number that no token has stands for none."""
        return jax.numpy.asarray(sorted(self.stop_ids) or [IDLE], "int32")


@dataclass(eq=False)
class _Draft:
    task: Task
    token_ids: list[int] = field(default_factory=list)

    def add(self, column: Sequence[int], stop_ids: frozenset[int]) -> Written | None:
        """Take what the row has written since the last look; the result, if it has ended."""
        prompt = self.task.prompt
        for token_id in column:
            if token_id == NOT_FINITE:
                place = len(self.token_ids)
                detail = f"The model's logits are not finite numbers at token {place} of the completion."
                return Written(prompt, failure="non-finite", detail=detail)
            if token_id in stop_ids:
                return Written(prompt, tuple(self.token_ids), has_ended=True)
            self.token_ids.append(token_id)
            if len(self.token_ids) == self.task.num_new_tokens:
                return Written(prompt, tuple(self.token_ids))
        return None


class Batch:
    """Rows of a batch that are given prompts until there are none left."""

    def __init__(self, model: LoadedModel, decoding: Decoding, *, num_rows: int, num_slots: int) -> None:
        """Make an empty batch.

        Args:
            model: What writes.
            decoding: How.
            num_rows: A multiple of the number of devices.
            num_slots: Tokens that a row can hold.
        """
        self._model = model
        self._decoding = decoding
        self._drafts: list[_Draft | None] = [None] * num_rows
        self._rows = empty_rows(model.decoder, model.mesh, num_rows, num_slots)

    def write(self, tasks: Sequence[Task]) -> Iterator[list[Written]]:
        """Complete the prompts, in this order; each list is what ended between two looks."""
        waiting = list(tasks)
        while waiting or any(self._drafts):
            while admitted := self._next_to_admit(waiting):
                self._admit(admitted)
                del waiting[: len(admitted)]
            if finished := self._advance():
                yield finished

    @property
    def _free_rows(self) -> list[int]:
        return [row for row, draft in enumerate(self._drafts) if draft is None]

    def _next_to_admit(self, waiting: Sequence[Task]) -> list[Task]:
        """The prompts to read now: as many as one program reads, or none until so many rows are free."""
        if not waiting:
            return []
        num_wanted = min(self._num_admitted(waiting[0]), len(waiting))
        return next_to_admit(waiting, num_wanted) if len(self._free_rows) >= num_wanted else []

    def _num_admitted(self, task: Task) -> int:
        """Rows of the program that reads prompts of this size."""
        num_devices = self._model.num_devices
        per_device = len(self._drafts) // num_devices
        most = max(1, _TOKENS_PER_ADMISSION // task.prompt_size)
        return min(most, max(1, per_device // _ADMISSIONS_PER_BATCH)) * num_devices

    def _admit(self, tasks: list[Task]) -> None:
        rows = self._free_rows[: len(tasks)]
        for row, task in zip(rows, tasks, strict=True):
            self._drafts[row] = _Draft(task)
        # The program has its own number of rows; those that are left over go nowhere.
        num_missing = self._num_admitted(tasks[0]) - len(tasks)
        arrays = _arrays([*tasks, *[tasks[-1]] * num_missing], self._decoding.seed)
        arrays["rows"] = np.array(rows + [len(self._drafts)] * num_missing, np.int32)
        model = self._model
        by_row = NamedSharding(model.mesh, PartitionSpec(ROW_AXES))
        new = Newcomers(**jax.device_put(arrays, by_row))
        self._rows = admit(model.decoder, model.mesh, model.weights, self._rows, new)

    def _advance(self) -> list[Written]:
        model = self._model
        self._rows, written = write_on(
            model.decoder,
            model.mesh,
            model.weights,
            self._rows,
            model.stops,
            choice=Choice.of(self._decoding),
            num_steps=_STEPS_PER_LOOK,
        )
        columns = np.asarray(written).T.tolist()
        finished = []
        for row, (draft, column) in enumerate(zip(self._drafts, columns, strict=True)):
            result = draft.add(column, model.stop_ids) if draft else None
            if result is not None:
                finished.append(result)
                self._drafts[row] = None
        return finished


def _arrays(tasks: Sequence[Task], seed: int) -> dict[str, NDArray[Any]]:
    """What the device is told of prompts, under the names of `Newcomers`."""
    return {
        "prompts": np.array([_filled_up(task) for task in tasks], np.int32),
        "tokens": np.array([task.prompt.token_ids[-1] for task in tasks], np.int32),
        "positions": np.array([task.num_prompt_tokens - 1 for task in tasks], np.int32),
        "lengths": np.array([task.length for task in tasks], np.int32),
        "keys": np.array([noise_key(task.prompt, seed) for task in tasks], np.uint32),
    }


def _filled_up(task: Task) -> list[int]:
    """The prompt at its full size, filled up with its own last token: nothing foreign enters its row."""
    token_ids = list(task.prompt.token_ids)
    return token_ids + token_ids[-1:] * (task.prompt_size - len(token_ids))
