"""Batches that write side by side, each in a thread of its own.

A batch that has room takes the next prompts, whatever the others do, and none waits for another one. What a
prompt becomes does not depend on the batch that takes it.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event
from typing import TypeAlias

from tunix_rt.engines.generation import Written
from tunix_rt.engines.generation_batch import Batch, Waiting
from tunix_rt.engines.generation_tasks import Task

Report: TypeAlias = list[Written] | BaseException | None
"""What ended between two looks at a batch, why it failed, or that it has nothing left to do."""


def write_side_by_side(batches: Sequence[Batch], tasks: Sequence[Task]) -> Iterator[list[Written]]:
    """Complete the prompts, the first ones first; each list is what ended between two looks at a batch."""
    if len(batches) == 1:
        yield from batches[0].write(Waiting(tasks))
        return
    num_rows = sum(batch.num_free for batch in batches)
    # Dealt out in turn, so that few prompts are shared evenly; the rest is taken by whoever has room.
    first, waiting = tasks[:num_rows], Waiting(tasks[num_rows:])
    reports: SimpleQueue[Report] = SimpleQueue()
    start, stop = Event(), Event()
    with ThreadPoolExecutor(len(batches), "batch") as threads:
        try:
            for number, batch in enumerate(batches):
                share = Waiting(first[number :: len(batches)])
                threads.submit(_write, batch, share, waiting, reports, start, stop)
            # Not one by one: a thread that begins to work keeps the next one from being started.
            start.set()
            yield from _results(reports, len(batches))
        finally:
            stop.set()
            start.set()


def _write(
    batch: Batch, share: Waiting, waiting: Waiting, reports: "SimpleQueue[Report]", start: Event, stop: Event
) -> None:
    start.wait()
    try:
        while batch.take(share):
            pass
        for finished in batch.write(waiting):
            reports.put(finished)
            if stop.is_set():
                return
        reports.put(None)
    except BaseException as error:
        reports.put(error)
        raise


def _results(reports: "SimpleQueue[Report]", num_batches: int) -> Iterator[list[Written]]:
    while num_batches:
        report = reports.get()
        if isinstance(report, BaseException):
            try:
                raise report
            finally:
                del report  # it would hold on to itself, and to the rows that did not fit
        if report is None:
            num_batches -= 1
        else:
            yield report
