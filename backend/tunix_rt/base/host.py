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
    """Free memory, or what is left of the container's limit if that is less.

    None if the system does not report it.
    """
    rooms = [_field(Path("/proc/meminfo"), "MemAvailable:")]
    limit, used = _CGROUP / "memory.max", _CGROUP / "memory.current"
    if limit.exists() and used.exists() and (text := limit.read_text().strip()) != "max":
        rooms.append(int(text) - int(used.read_text()))
    return min((room for room in rooms if room is not None), default=None)


def peak_process_bytes() -> int | None:
    """Peak memory of this process; None if the system does not report it."""
    return _field(Path("/proc/self/status"), "VmHWM:")


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """Cores available to this process: its CPU affinity, or the container's limit if that is less."""
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


def _container_cores(cgroup: Path) -> float | None:
    """The limit that `docker run --cpus` sets, in cgroup v1 or v2; None if unlimited."""
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
"""More would only wait for the single writing process."""

T = TypeVar("T")
R = TypeVar("R")


class Mapper(Protocol):
    """Apply a function to items and yield the results in order, lazily."""

    def __call__(self, function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        """The results, in the order of the items."""


def in_this_process(function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
    """A mapper without worker processes."""
    return map(function, items)


@contextmanager
def worker_processes() -> Iterator[Mapper]:
    """A mapper over one worker process per core. Functions and items must be picklable.

    Items are taken only as far ahead as keeps the workers busy, so memory stays bounded.
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
    # The parent handles Ctrl-C; if the parent is killed, its workers exit too.
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
    """The results in the order of the items. Exiting the context drops items that have not started.

    Running items are not awaited: a thread that hangs ends with the process, which a pool of
    `concurrent.futures` would keep alive.
    """
    jobs = [(Future[R](), item) for item in items]
    waiting: SimpleQueue[Job[R, T]] = SimpleQueue()
    for job in jobs:
        waiting.put(job)
    is_closed = threading.Event()
    for _ in range(min(num_threads, len(jobs))):
        threading.Thread(target=_work, args=(function, waiting, is_closed), daemon=True).start()
    try:
        yield (future.result() for future, _ in jobs)
    finally:
        is_closed.set()


def _work(function: Callable[[T], R], waiting: "SimpleQueue[Job[R, T]]", is_closed: threading.Event) -> None:
    while not is_closed.is_set():
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
