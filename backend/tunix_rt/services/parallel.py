"""Work that only computes, spread over the cores of the machine."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Protocol, TypeVar

from tunix_rt.core.errors import TunixRTError
from tunix_rt.files.host import usable_cores

MAX_WORKERS = 8
"""More would wait for the one process that writes."""

T = TypeVar("T")
R = TypeVar("R")


class Mapper(Protocol):
    """Applies a function to items and gives the results in order, lazily."""

    def __call__(self, function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        """The results, in the order of the items."""


def in_this_process(function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
    """The mapper that needs no workers."""
    return map(function, items)


@contextmanager
def worker_processes() -> Iterator[Mapper]:
    """A mapper over one worker process a core. Functions and items must be picklable.

    Only as many items as keep the workers busy are taken ahead, so memory stays bounded.
    """
    num_workers = min(usable_cores(), MAX_WORKERS)
    # "spawn": the parent holds database connections and threads, which a forked child must not share.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(num_workers, mp_context=context, initializer=_start_worker) as pool:

        def ordered(function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
            waiting = iter(items)
            running: deque[Future[R]] = deque(
                pool.submit(function, item) for item in islice(waiting, 2 * num_workers)
            )
            while running:
                yield _result_of(running.popleft())
                running.extend(pool.submit(function, item) for item in islice(waiting, 1))

        yield ordered


def _result_of(future: Future[R]) -> R:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise TunixRTError(
            "A worker process was killed, most likely for lack of memory.",
            next_step="Free memory and run the same command again; nothing is stored twice.",
        ) from error


def _start_worker() -> None:
    # Ctrl-C is the parent's to handle; a parent that was killed takes its workers with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
