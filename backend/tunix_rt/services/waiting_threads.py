"""Work that mostly waits for others, in threads that never keep the process from ending."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TypeVar

from tunix_rt.core.errors import TunixRTError

T = TypeVar("T")
R = TypeVar("R")
Job = tuple["Future[R]", T]


@contextmanager
def in_threads(function: Callable[[T], R], items: Sequence[T], *, num_threads: int) -> Iterator[Iterator[R]]:
    """The results in the order of the items. Leaving the context drops what has not begun.

    What has begun is not waited for: a thread that hangs ends with the process. A pool of
    `concurrent.futures` would keep it alive.
    """
    jobs = [(Future[R](), item) for item in items]
    waiting: SimpleQueue[Job[R, T]] = SimpleQueue()
    for job in jobs:
        waiting.put(job)
    is_left = threading.Event()
    for _ in range(min(num_threads, len(jobs))):
        threading.Thread(target=_work, args=(function, waiting, is_left), daemon=True).start()
    try:
        yield (future.result() for future, _ in jobs)
    finally:
        is_left.set()


def _work(function: Callable[[T], R], waiting: "SimpleQueue[Job[R, T]]", is_left: threading.Event) -> None:
    while not is_left.is_set():
        try:
            future, item = waiting.get_nowait()
        except Empty:
            return
        try:
            future.set_result(function(item))
        except TunixRTError as error:
            future.set_exception(error)
        except Exception as error:
            future.set_exception(error)
            raise
