"""A child under way, and whoever wants it to stop: shared by the attempts at runs and at tasks."""

import threading
from collections.abc import Callable

from tunix_rt.worker.executors.base import Child, ChildExit
from tunix_rt.worker.heartbeat import Heartbeat
from tunix_rt.worker.outcome import StopReason

_POLL_S = 0.2
_NOT_STARTED = ChildExit(None, detail="It was stopped before it began.")


class Steering:
    """Carries the wish to stop to the child. `ask` and `kill` may be called by any thread."""

    def __init__(self, heartbeat: Heartbeat, *, lease_s: float) -> None:
        self._heartbeat = heartbeat
        self._lease_s = lease_s
        self.reason: StopReason | None = None
        """The first reason counts; the queue knows of a later cancel by itself."""
        self._is_stopping = False
        self._must_die = False
        self._changed = threading.Event()

    def ask(self, reason: StopReason) -> None:
        """Stop it, and let it save first."""
        self.reason = self.reason or reason
        self._changed.set()

    def kill(self) -> None:
        """End it at once."""
        self._must_die = True
        self._changed.set()

    def watch(self, start: Callable[[], Child], on_stopping: Callable[[StopReason], None]) -> ChildExit:
        """Start the child and see it to its end; told when it is asked to stop."""
        if self.reason is not None or self._must_die:
            return _NOT_STARTED
        child = start()
        try:
            while (how := child.poll()) is None:
                self._steer(child, on_stopping)
                self._changed.wait(_POLL_S)
                self._changed.clear()
        finally:
            child.close()
        return how

    def _steer(self, child: Child, on_stopping: Callable[[StopReason], None]) -> None:
        # On our own clock: when others may take it, nothing of it runs here any more.
        if self._heartbeat.silence_s() > self._lease_s:
            self.ask("silence")
        if self._must_die:
            child.kill()
        elif self.reason is not None and not self._is_stopping:
            self._is_stopping = True
            child.stop()
            on_stopping(self.reason)
