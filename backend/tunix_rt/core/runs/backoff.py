"""How long a run waits before it is tried again."""

FIRST_WAIT_S = 2.0
BACKOFF_CAP_S = 300.0
"""No retry waits longer. A moment further away than this was written by a clock that was ahead."""


def backoff_s(num_failures: int) -> float:
    """Seconds to wait after this many failures in a row.

    Example:
        1 -> 2.0, 2 -> 8.0, 3 -> 32.0
    """
    return min(FIRST_WAIT_S * 4.0 ** max(num_failures - 1, 0), BACKOFF_CAP_S)
