"""What the loop asks of an engine: put a batch, step, evaluate, save; prefetched batches."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from tunix_rt.engines.training.checkpointing import ValidationHistory
from tunix_rt.tokenization.packing import Batch, Batches


@dataclass(frozen=True)
class StepFigures:
    """What a step measured, on the host."""

    loss: float
    """Mean over the trained tokens of the batch, before the update."""
    num_trained_tokens: int
    grad_norm: float
    """Before clipping."""
    learning_rate: float
    is_finite: bool
    """False: loss or gradient were not finite, here or in an earlier step, and the update was not applied."""


PendingFigures = Callable[[], StepFigures]
"""Waits for a step that was started, and reads what it measured. Called once, by another thread."""

PendingSums = Callable[[], tuple[float, float]]
"""Waits for a batch of a validation: the sum of its losses, and the number of tokens that they are of."""


class TrainingBackend(Protocol):
    """A model that learns. Its weights and the state of its optimizer change from step to step."""

    def put(self, batch: Batch) -> Any:
        """The batch on the devices, as `learn` and `loss_sums` take it. Called by another thread."""

    def step(self, sent: Any, index: int) -> PendingFigures:
        """Start the update with the batch of this index, without waiting for it.

        After a step that is not finite, no update is applied any more.
        """

    def loss_sums(self, sent: Any) -> PendingSums:
        """Start to compute the loss of a batch that is not learned from."""

    def save(self, step: int, history: ValidationHistory) -> None:
        """Write a checkpoint of the state after `step` updates while the training goes on.

        Raises:
            StorageError: This one, or the one before it, cannot be written. Earlier ones are whole.
        """

    def saved_steps(self) -> list[int]:
        """The steps that have a checkpoint, ascending."""

    def wait_until_saved(self) -> None:
        """Wait until every checkpoint is on the disk. Raises StorageError when it cannot get there."""


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
    """Of everything in the batch: two engines that were given the same have the same."""


@contextmanager
def prefetched(
    batches: Batches, put: Callable[[Batch], _Arrays], indices: range
) -> Iterator[Iterator[PrefetchedBatch[_Arrays]]]:
    """The batches of these indices, made and sent by a thread that stays a few ahead.

    Which batch is made depends on nothing but its index, so a run that is resumed sees the same ones.
    """
    # An exception of the thread travels in place of a batch; None says that there are no more.
    ready: queue.Queue[PrefetchedBatch[_Arrays] | Exception | None] = queue.Queue(maxsize=PREFETCH_DEPTH)
    is_left = threading.Event()

    def offer(item: PrefetchedBatch[_Arrays] | Exception | None) -> None:
        while not is_left.is_set():
            try:
                return ready.put(item, timeout=0.1)
            except queue.Full:
                continue

    def produce() -> None:
        try:
            for index in indices:
                if is_left.is_set():
                    return
                offer(_sent(index, batches.batch(index), put))
            offer(None)
        except Exception as error:
            offer(error)
            raise

    thread = threading.Thread(target=produce, name="batches", daemon=True)
    thread.start()
    try:
        yield _taken(ready)
    finally:
        is_left.set()
        thread.join()


def _sent(index: int, batch: Batch, put: Callable[[Batch], _Arrays]) -> PrefetchedBatch[_Arrays]:
    return PrefetchedBatch(index, put(batch), int((batch.segment_ids > 0).sum()), batch.sha256)


def _taken(
    ready: "queue.Queue[PrefetchedBatch[_Arrays] | Exception | None]",
) -> Iterator[PrefetchedBatch[_Arrays]]:
    while (item := ready.get()) is not None:
        if isinstance(item, Exception):
            raise item
        yield item
