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
_EXIT_GRACE_S = 15.0


@contextmanager
def background_worker(settings: Settings) -> Iterator[None]:
    """A worker for as long as the context: its runs are saved and given back when it ends.

    It holds on by a pipe: should this process be killed, the worker notices and leaves by itself.
    """
    beside = _BackgroundWorker(settings)
    thread = threading.Thread(target=beside.supervise, daemon=True)
    thread.start()
    try:
        yield
    finally:
        beside.leave()
        thread.join()


class _BackgroundWorker:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._must_exit = threading.Event()
        self._starting = threading.Lock()
        self._worker: subprocess.Popen[bytes] | None = None

    def supervise(self) -> None:
        """Start it, and start it again, until told to leave."""
        while (worker := self._start()) is not None:
            exit_code = worker.wait()
            _close_lifeline(worker)
            if not self._must_exit.is_set():
                logger.warning("the worker ended with exit code %d and is started again", exit_code)
            self._must_exit.wait(_RESTART_S)

    def leave(self) -> None:
        """Let it go; it saves its runs first, and is ended if it does not come to an end."""
        with self._starting:
            self._must_exit.set()
        worker = self._worker
        if worker is None:
            return
        _close_lifeline(worker)
        try:
            worker.wait(self._settings.cancel_grace_s + _EXIT_GRACE_S)
        except subprocess.TimeoutExpired:
            worker.kill()

    def _start(self) -> "subprocess.Popen[bytes] | None":
        with self._starting:
            if self._must_exit.is_set():
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


def _close_lifeline(worker: "subprocess.Popen[bytes]") -> None:
    assert worker.stdin is not None
    worker.stdin.close()
