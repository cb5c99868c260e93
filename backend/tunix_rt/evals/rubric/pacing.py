"""When the next request may go out: after a failure, and under a limit of requests per minute."""

import threading
from datetime import datetime
from email.utils import parsedate_to_datetime

FIRST_BACKOFF_S = 1.0
LONGEST_BACKOFF_S = 30.0
LONGEST_ASKED_WAIT_S = 300.0
"""An endpoint that asks for a longer wait is not waited for."""


def backoff_s(num_failures: int, asked_s: float | None, first_s: float = FIRST_BACKOFF_S) -> float:
    """How long to wait after a failure: doubling, and never less than the endpoint asks for.

    Example:
        first failure -> 1.0, fourth -> 8.0; first with `Retry-After: 7` -> 7.0
    """
    doubled = min(first_s * 2.0 ** (num_failures - 1), LONGEST_BACKOFF_S)
    return max(doubled, asked_s or 0.0)


def retry_after_s(header: str | None, now: datetime) -> float | None:
    """The wait that a `Retry-After` header asks for, in seconds or as a date; None when it says nothing.

    Example:
        "7" -> 7.0
    """
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - now).total_seconds())
    except (ValueError, TypeError):
        return None


class RateLimit:
    """Spreads requests evenly over time, whichever thread sends them."""

    def __init__(self, requests_per_minute: float | None) -> None:
        self._gap_s = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._next_s = float("-inf")
        self._lock = threading.Lock()

    def reserve(self, now_s: float) -> float:
        """Take the next place, and say how long to wait for it.

        Example:
            60 a minute, three requests at second 100 -> 0.0, 1.0, 2.0
        """
        with self._lock:
            start_s = max(now_s, self._next_s)
            self._next_s = start_s + self._gap_s
            return start_s - now_s
