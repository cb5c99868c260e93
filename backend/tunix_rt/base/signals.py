"""Stop requests from signals and time limits.

Ctrl-C, SIGTERM and a terminal that closes let it stop in peace; Ctrl-C or SIGTERM once more stops it at once.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_IMPATIENT = (signal.SIGINT, signal.SIGTERM)


def stop_signals() -> tuple[signal.Signals, ...]:
    """Those that ask this process to stop; a terminal that closes only where `nohup` does not forbid it."""
    is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return _IMPATIENT if is_ignored else (*_IMPATIENT, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal came while there was nothing to finish first."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number


class StopRequest:
    """Whether the run was asked to stop, by a signal or by the time that it was given."""

    def __init__(self, stop_after_s: float | None = None) -> None:
        self.signal_number: int | None = None
        self.is_out_of_time = False
        """Set by `check_deadline` alone: nothing changes between two looks of the loop."""
        self._is_patient = False
        self._deadline_s = None if stop_after_s is None else time.monotonic() + stop_after_s

    @property
    def is_made(self) -> bool:
        """Whether the run should end now."""
        return self.signal_number is not None or self.is_out_of_time

    @property
    def reason(self) -> str:
        """Why, in a word or two."""
        if self.signal_number is not None:
            return signal.Signals(self.signal_number).name
        return "out of time"

    def check_deadline(self) -> None:
        """Notice that the time is up."""
        self.is_out_of_time |= self._deadline_s is not None and time.monotonic() >= self._deadline_s

    @contextmanager
    def finishing_steps(self) -> Iterator[None]:
        """From here on a signal is only noted: the loop asks for it between two steps."""
        self._is_patient = True
        try:
            yield
        finally:
            self._is_patient = False

    def _receive(self, signal_number: int, _frame: FrameType | None) -> None:
        # The next one kills the process even while it waits for the compiler or the device.
        for number in _IMPATIENT:
            signal.signal(number, signal.SIG_DFL)
        # Both the kernel and the shell say that a terminal closes.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.signal_number = signal_number
        if not self._is_patient:
            raise Interrupted(signal_number)


@contextmanager
def stop_requests(*, is_listening: bool = True, stop_after_s: float | None = None) -> Iterator[StopRequest]:
    """Listen for the signals, which only the main thread of a process can; the time counts from here."""
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
