"""Memory and cores of this machine or container; a process pool for CPU work, threads for waiting."""

import math
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

from tunix_rt.base.errors import TunixRTError

_CGROUP = Path("/sys/fs/cgroup")


def available_memory_bytes() -> int | None:
    """What a program may still take: free memory, or what the container has left if that is less.

    None where the system does not tell.
    """
    free = _field(Path("/proc/meminfo"), "MemAvailable:")
    rooms = [room for room in (free, _container_room()) if room is not None]
    return min(rooms, default=None)


def peak_process_bytes() -> int | None:
    """The most memory that this process has used so far; None where the system does not tell."""
    return _field(Path("/proc/self/status"), "VmHWM:")


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """Cores that work for this process: those it may run on, or its container's share if that is less."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = _container_cores(cgroup)
    return allowed if share is None else max(1, min(allowed, math.ceil(share)))


def _field(path: Path, name: str) -> int | None:
    """The value of a line such as `VmHWM:   1234 kB`, in bytes."""
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return None


def _container_room() -> int | None:
    limit, used = _CGROUP / "memory.max", _CGROUP / "memory.current"
    if not limit.exists() or not used.exists():
        return None
    text = limit.read_text().strip()
    return None if text == "max" else int(text) - int(used.read_text())


def _container_cores(cgroup: Path) -> float | None:
    """The limit that `docker run --cpus` sets, in either version of control groups; None: there is none."""
    try:
        if (cgroup / "cpu.max").exists():
            quota, period = (cgroup / "cpu.max").read_text().split()
        else:
            quota = (cgroup / "cpu/cpu.cfs_quota_us").read_text()
            period = (cgroup / "cpu/cpu.cfs_period_us").read_text()
        return int(quota) / int(period) if int(quota) > 0 else None
    except (OSError, ValueError):  # no such files, or the word `max`
        return None


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
