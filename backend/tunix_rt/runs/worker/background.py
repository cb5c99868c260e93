"""The worker child process of the server, restarted when it dies."""

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
# Time for a worker to exit after the grace period of its runs.
_EXIT_GRACE_S = 15.0


@contextmanager
def background_worker(settings: Settings) -> Iterator[None]:
    """Run a worker while the context is open; when it ends, the worker saves and requeues its runs.

    The worker reads from a pipe to this process: if this process is killed, the worker exits by itself.
    """
    worker = _BackgroundWorker(settings)
    thread = threading.Thread(target=worker.supervise, daemon=True)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()


class _BackgroundWorker:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._must_exit = threading.Event()
        self._starting = threading.Lock()
        self._worker: subprocess.Popen[bytes] | None = None

    def supervise(self) -> None:
        """Start the worker, and restart it whenever it ends, until `stop`."""
        # What the command line of the server changed; both share the rest of the environment.
        settings = self._settings
        changed = {"TUNIX_RT_LOG_FORMAT": settings.log_format, "TUNIX_RT_LOG_LEVEL": settings.log_level}
        environment = {**os.environ, **changed}
        while True:
            with self._starting:
                if self._must_exit.is_set():
                    return
                # In its own session: Ctrl-C is for the server, which then stops the worker.
                self._worker = worker = subprocess.Popen(
                    _COMMAND, bufsize=0, stdin=subprocess.PIPE, env=environment, start_new_session=True
                )
            exit_code = worker.wait()
            _close_lifeline(worker)
            if not self._must_exit.is_set():
                logger.warning("the worker exited with code %d and is restarted", exit_code)
            self._must_exit.wait(_RESTART_S)

    def stop(self) -> None:
        """Let the worker save its runs and exit; kill it if it does not exit in time."""
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


def _close_lifeline(worker: "subprocess.Popen[bytes]") -> None:
    assert worker.stdin is not None
    worker.stdin.close()
