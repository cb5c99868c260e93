"""A few threads that read for the event loop.

General pools hand over work with locks that wake up and wait for each other: several times the processor time
of a small read. Here it is one queue to the threads, and the event loop's own one back.
"""

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from typing import TypeVar

_R = TypeVar("_R")


class ReadThreads:
    """Threads that are started with the first read and stay; they do not keep a process from ending."""

    def __init__(self, num_threads: int) -> None:
        self._num_threads = num_threads
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._starting = threading.Lock()
        self._threads: list[threading.Thread] = []

    async def run(self, function: Callable[[], _R]) -> _R:
        """What the function returns or raises; it sees the context of the caller."""
        if not self._threads:
            self._start()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_R] = loop.create_future()
        context = copy_context()

        def job() -> None:
            try:
                found = context.run(function)
            except BaseException as error:  # noqa: BLE001 - the caller handles it, as if it had called
                _tell(loop, answer, answer.set_exception, error)
            else:
                _tell(loop, answer, answer.set_result, found)

        self._jobs.put(job)
        return await answer

    def _start(self) -> None:
        with self._starting:
            while len(self._threads) < self._num_threads:
                thread = threading.Thread(target=self._work, name="read", daemon=True)
                thread.start()
                self._threads.append(thread)

    def _work(self) -> None:
        while True:
            self._jobs.get()()


def _tell(
    loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[_R]", tell: Callable[..., None], what: object
) -> None:
    def unless_cancelled() -> None:
        if not answer.done():
            tell(what)

    try:
        loop.call_soon_threadsafe(unless_cancelled)
    except RuntimeError:
        if not loop.is_closed():
            raise  # a closed loop has nobody who waits any more
