"""Batches that are already on the device when the step asks for them."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tunix_rt.engines.batching import Batch, Batches
from tunix_rt.engines.jax.step import DeviceBatch

NUM_AHEAD = 2


@dataclass(frozen=True, eq=False)
class SentBatch:
    """A batch on the devices."""

    index: int
    """Counted over all epochs from 0."""
    arrays: DeviceBatch
    num_tokens: int
    """Padding left out."""


@contextmanager
def prefetched(
    batches: Batches, put: Callable[[Batch], DeviceBatch], indices: range
) -> Iterator[Iterator[SentBatch]]:
    """The batches of these indices, made and sent by a thread that stays a few ahead.

    Which batch is made depends on nothing but its index, so a run that is resumed sees the same ones.
    """
    # An exception of the thread travels in place of a batch; None says that there are no more.
    ready: queue.Queue[SentBatch | Exception | None] = queue.Queue(maxsize=NUM_AHEAD)
    is_left = threading.Event()

    def offer(item: SentBatch | Exception | None) -> None:
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


def _sent(index: int, batch: Batch, put: Callable[[Batch], DeviceBatch]) -> SentBatch:
    return SentBatch(index, put(batch), int((batch.segment_ids > 0).sum()))


def _taken(ready: "queue.Queue[SentBatch | Exception | None]") -> Iterator[SentBatch]:
    while (item := ready.get()) is not None:
        if isinstance(item, Exception):
            raise item
        yield item
