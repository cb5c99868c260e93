"""A worker child beside the server, restarted when it dies."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tunix_rt.base.settings import Settings

logger = logging.getLogger(__name__)

_COMMAND = (sys.executable, "-m", "tunix_rt.cli", "worker", "--lifeline")
_RESTART_S = 2.0
# What a worker needs after the grace of its runs.
_LEAVING_S = 15.0


@contextmanager
def worker_beside(settings: Settings) -> Iterator[None]:
    """A worker for as long as the context: its runs are saved and given back when it ends.

    It holds on by a pipe: should this process be killed, the worker notices and leaves by itself.
    """
    beside = _WorkerBeside(settings)
    thread = threading.Thread(target=beside.keep_it_alive, daemon=True)
    thread.start()
    try:
        yield
    finally:
        beside.leave()
        thread.join()


class _WorkerBeside:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._must_leave = threading.Event()
        self._starting = threading.Lock()
        self._worker: subprocess.Popen[bytes] | None = None

    def keep_it_alive(self) -> None:
        """Start it, and start it again, until told to leave."""
        while (worker := self._started()) is not None:
            exit_code = worker.wait()
            _let_go(worker)
            if not self._must_leave.is_set():
                logger.warning("the worker ended with exit code %d and is started again", exit_code)
            self._must_leave.wait(_RESTART_S)

    def leave(self) -> None:
        """Let it go; it saves its runs first, and is ended if it does not come to an end."""
        with self._starting:
            self._must_leave.set()
        worker = self._worker
        if worker is None:
            return
        _let_go(worker)
        try:
            worker.wait(self._settings.cancel_grace_s + _LEAVING_S)
        except subprocess.TimeoutExpired:
            worker.kill()

    def _started(self) -> "subprocess.Popen[bytes] | None":
        with self._starting:
            if self._must_leave.is_set():
                return None
            # In a session of its own: Ctrl-C is for the server, which then lets the worker go in peace.
            self._worker = subprocess.Popen(
                _COMMAND, bufsize=0, stdin=subprocess.PIPE, env=self._environment(), start_new_session=True
            )
            return self._worker

    def _environment(self) -> dict[str, str]:
        # What the command line of the server changed; everything else is in the environment of both.
        settings = self._settings
        changed = {"TUNIX_RT_LOG_FORMAT": settings.log_format, "TUNIX_RT_LOG_LEVEL": settings.log_level}
        return {**os.environ, **changed}


def _let_go(worker: "subprocess.Popen[bytes]") -> None:
    assert worker.stdin is not None
    worker.stdin.close()
