"""Stop requests from signals and time limits.

Ctrl-C, SIGTERM and a closed terminal request a graceful stop; a second Ctrl-C or SIGTERM kills the process.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_KILLING = (signal.SIGINT, signal.SIGTERM)


def stop_signals() -> tuple[signal.Signals, ...]:
    """Signals that request a stop; SIGHUP only if `nohup` does not ignore it."""
    is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return _KILLING if is_ignored else (*_KILLING, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal arrived outside `finishing_steps`."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number


class StopRequest:
    """Whether the run should stop, because of a signal or its time limit."""

    def __init__(self, stop_after_s: float | None = None) -> None:
        self.signal_number: int | None = None
        self.is_out_of_time = False
        """Set only by `check_deadline`, so that it does not change between two checks of the loop."""
        self._finishes_steps = False
        self._deadline_s = None if stop_after_s is None else time.monotonic() + stop_after_s

    @property
    def is_made(self) -> bool:
        """Whether the run should end now."""
        return self.signal_number is not None or self.is_out_of_time

    @property
    def reason(self) -> str:
        """The signal's name, or "out of time"."""
        if self.signal_number is not None:
            return signal.Signals(self.signal_number).name
        return "out of time"

    def check_deadline(self) -> None:
        """Set `is_out_of_time` once the deadline has passed."""
        self.is_out_of_time |= self._deadline_s is not None and time.monotonic() >= self._deadline_s

    @contextmanager
    def finishing_steps(self) -> Iterator[None]:
        """Record signals instead of raising; the loop checks for them between steps."""
        self._finishes_steps = True
        try:
            yield
        finally:
            self._finishes_steps = False

    def _receive(self, signal_number: int, _frame: FrameType | None) -> None:
        # The next signal kills the process, even while it waits for the compiler or the device.
        for number in _KILLING:
            signal.signal(number, signal.SIG_DFL)
        # SIGHUP may arrive twice when a terminal closes: from the kernel and from the shell.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.signal_number = signal_number
        if not self._finishes_steps:
            raise Interrupted(signal_number)


@contextmanager
def stop_requests(*, is_listening: bool = True, stop_after_s: float | None = None) -> Iterator[StopRequest]:
    """Handle stop signals (main thread only) and start the time limit."""
    request = StopRequest(stop_after_s)
    if not is_listening or threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request._receive) for number in stop_signals()}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
