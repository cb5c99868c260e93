"""The training backend of an engine: put a batch, step, evaluate, save, export; prefetched batches."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from tunix_rt.engines.training.checkpointing import ValidationHistory
from tunix_rt.tokenization.packing import Batch, Batches


@dataclass(frozen=True)
class StepFigures:
    """The measurements of a step, on the host."""

    loss: float
    """Mean over the trained tokens of the batch, before the update."""
    num_trained_tokens: int
    grad_norm: float
    """Before clipping."""
    learning_rate: float
    is_finite: bool
    """False if loss or gradient were not finite in this or an earlier step; the update was not applied."""


PendingFigures = Callable[[], StepFigures]
"""Waits for a started step and returns its figures. Called once, from another thread."""

PendingSums = Callable[[], tuple[float, float]]
"""Waits for a validation batch: the sum of its losses and the number of their tokens."""


class TrainingBackend(Protocol):
    """The weights and the optimizer state of a run, and the operations on them."""

    def put(self, batch: Batch) -> Any:
        """Copy a batch to the devices, for `step` and `loss_sums`. Called from another thread."""

    def step(self, batch: Any, index: int) -> PendingFigures:
        """Start the update with the batch of this index, without waiting for it.

        After a step that is not finite, no further update is applied.
        """

    def loss_sums(self, batch: Any) -> PendingSums:
        """Start computing the loss of a validation batch."""

    def save(self, step: int, history: ValidationHistory) -> None:
        """Write a checkpoint of the state after `step` updates while training continues.

        Raises:
            StorageError: This checkpoint or the previous one cannot be written. Earlier ones are intact.
        """

    def saved_steps(self) -> list[int]:
        """The steps with a checkpoint, ascending."""

    def wait_until_saved(self) -> None:
        """Wait until every checkpoint is on disk. Raises StorageError when one cannot be written."""

    def restore(self, step: int) -> None:
        """Replace the state by the checkpoint of a step. Raises DataError when it is damaged."""

    def export(self, directory: Path) -> None:
        """Write the weights of the state as a model directory. No step may follow."""


PREFETCH_DEPTH = 2

_Arrays = TypeVar("_Arrays")


@dataclass(frozen=True, eq=False)
class PrefetchedBatch(Generic[_Arrays]):
    """A batch on the devices."""

    index: int
    """Counted over all epochs from 0."""
    arrays: _Arrays
    num_tokens: int
    """Padding left out."""
    sha256: str
    """Of everything in the batch: equal hashes mean equal batches, in both engines."""


@contextmanager
def prefetched(
    batches: Batches, put: Callable[[Batch], _Arrays], indices: range
) -> Iterator[Iterator[PrefetchedBatch[_Arrays]]]:
    """The batches of these indices, built and copied to the devices by a thread that stays a few ahead.

    A batch depends on nothing but its index, so a resumed run sees the same ones.
    """
    # An exception of the thread takes the place of a batch; None marks the end.
    ready: queue.Queue[PrefetchedBatch[_Arrays] | Exception | None] = queue.Queue(maxsize=PREFETCH_DEPTH)
    is_closed = threading.Event()

    def offer(item: PrefetchedBatch[_Arrays] | Exception | None) -> None:
        while not is_closed.is_set():
            try:
                return ready.put(item, timeout=0.1)
            except queue.Full:
                continue

    def produce() -> None:
        try:
            for index in indices:
                if is_closed.is_set():
                    return
                batch = batches.batch(index)
                num_tokens = int((batch.segment_ids > 0).sum())
                offer(PrefetchedBatch(index, put(batch), num_tokens, batch.sha256))
            offer(None)
        except Exception as error:
            offer(error)
            raise

    def received() -> Iterator[PrefetchedBatch[_Arrays]]:
        while (item := ready.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item

    thread = threading.Thread(target=produce, name="batches", daemon=True)
    thread.start()
    try:
        yield received()
    finally:
        is_closed.set()
        thread.join()
