"""Batches that are already on the device when the step asks for them."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from tunix_rt.tokenization.packing import Batch, Batches

NUM_AHEAD = 2

_Arrays = TypeVar("_Arrays")


@dataclass(frozen=True, eq=False)
class SentBatch(Generic[_Arrays]):
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
) -> Iterator[Iterator[SentBatch[_Arrays]]]:
    """The batches of these indices, made and sent by a thread that stays a few ahead.

    Which batch is made depends on nothing but its index, so a run that is resumed sees the same ones.
    """
    # An exception of the thread travels in place of a batch; None says that there are no more.
    ready: queue.Queue[SentBatch[_Arrays] | Exception | None] = queue.Queue(maxsize=NUM_AHEAD)
    is_left = threading.Event()

    def offer(item: SentBatch[_Arrays] | Exception | None) -> None:
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


def _sent(index: int, batch: Batch, put: Callable[[Batch], _Arrays]) -> SentBatch[_Arrays]:
    return SentBatch(index, put(batch), int((batch.segment_ids > 0).sum()), batch.sha256)


def _taken(ready: "queue.Queue[SentBatch[_Arrays] | Exception | None]") -> Iterator[SentBatch[_Arrays]]:
    while (item := ready.get()) is not None:
        if isinstance(item, Exception):
            raise item
        yield item
