"""A child process for libraries that may hang, take all memory, or run what an answer says as a program."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

CPU_SECONDS = 5.0
"""Of computing for one answer. Not wall time: a busy machine must not change a verdict."""
WALL_SECONDS = 300.0
"""The end of a child that waits instead of computing."""
MEMORY_BYTES = 4 << 30

R = TypeVar("R")


class VerifierError(Exception):
    """The library could not decide; the text says why."""


class Verifier:
    """Runs functions in one child process, which is started when it is needed and again when it has died."""

    def __init__(self, prepare: Callable[[], object]) -> None:
        self._prepare = prepare
        """Run once in a new child: imports take seconds and are not the answer's fault."""
        self._lock = threading.Lock()
        self._child: tuple[BaseProcess, Connection] | None = None

    def call(self, function: Callable[..., R], *arguments: object) -> R:
        """`function(*arguments)` in the child. Anything picklable goes in and comes out.

        Raises:
            VerifierError: The function raised, or the child ran into a limit.
        """
        with self._lock:
            connection = self._connection()
            try:
                connection.send((function, arguments))
                result, error = connection.recv()
            except (EOFError, OSError):
                self._forget_child()
                raise VerifierError(
                    f"needed more than {CPU_SECONDS:.0f} s of computing or {MEMORY_BYTES >> 30} GiB"
                ) from None
        if error:
            raise VerifierError(error)
        outcome: R = result
        return outcome

    def _connection(self) -> Connection:
        if self._child is None:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            # A daemon: it ends with this process, also in a worker of a pool.
            process = context.Process(target=_serve, args=(theirs, self._prepare), daemon=True)
            process.start()
            theirs.close()
            self._child = process, ours
            self._wait_until_ready(ours)
        return self._child[1]

    def _wait_until_ready(self, connection: Connection) -> None:
        try:
            connection.recv()
        except EOFError:
            self._forget_child()
            raise VerifierError("its process did not start; what it printed says why") from None

    def _forget_child(self) -> None:
        if self._child is not None:
            process, connection = self._child
            connection.close()
            process.kill()
            process.join()
        self._child = None


def _serve(connection: Connection, prepare: Callable[[], object]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare()
    connection.send("ready")
    _limit_memory()
    sys.dont_write_bytecode = True
    sys.addaudithook(_refuse_side_effects)
    with ThreadPoolExecutor(1) as thread:
        while True:
            try:
                function, arguments = connection.recv()
            except EOFError:
                return
            _set_alarms(CPU_SECONDS, WALL_SECONDS)
            # A future holds whatever was raised, and a library may raise anything.
            future = thread.submit(function, *arguments)
            error = future.exception()
            _set_alarms(0, 0)
            connection.send((None, f"{type(error).__name__}: {error}") if error else (future.result(), ""))


def _set_alarms(cpu_s: float, wall_s: float) -> None:
    """Signals that nobody handles end the process, even inside a single long multiplication."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        signal.setitimer(signal.ITIMER_REAL, wall_s)


def _limit_memory() -> None:
    """Beyond what the library has taken: on a machine of many cores its threads reserve gigabytes."""
    if sys.platform != "win32":
        import resource

        _, allowed = resource.getrlimit(resource.RLIMIT_AS)
        limit = _reserved_bytes() + MEMORY_BYTES
        limit = limit if allowed == resource.RLIM_INFINITY else min(limit, allowed)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _reserved_bytes() -> int:
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") if statm.is_file() else 0


_REFUSED = ("os.", "shutil.", "socket.", "subprocess.", "ctypes.", "pty.", "ftplib.", "urllib.")
_READING = frozenset({"os.listdir", "os.scandir", "os.walk"})


def _refuse_side_effects(event: str, arguments: tuple[Any, ...]) -> None:
    """Some verifiers evaluate an answer as Python. What it may not do: write, start, connect."""
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & writes:
        raise PermissionError("an answer may not write files")
    if event.startswith(_REFUSED) and event not in _READING:
        raise PermissionError(f"an answer may not do this: {event}")
