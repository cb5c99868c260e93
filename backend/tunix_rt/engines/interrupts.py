"""Ctrl-C and SIGTERM: once to stop in peace, twice to stop at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A signal came while there was nothing to finish first."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number


class StopRequest:
    """Whether the run was asked to stop."""

    def __init__(self) -> None:
        self.signal_number: int | None = None
        self._is_patient = False

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
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        self.signal_number = signal_number
        if not self._is_patient:
            raise Interrupted(signal_number)


@contextmanager
def stop_requests(*, is_listening: bool = True) -> Iterator[StopRequest]:
    """Listen for the signals; only the main thread of a process can."""
    request = StopRequest()
    if not is_listening or threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request._receive) for number in SIGNALS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
