"""How long a run waits before it is tried again."""

FIRST_WAIT_S = 2.0
GROWTH = 4.0
BACKOFF_CAP_S = 300.0
"""No retry waits longer. A moment further away than this was written by a clock that was ahead."""


def backoff_s(num_failures: int) -> float:
    """Seconds to wait after this many failures in a row.

    Example:
        1 -> 2.0, 2 -> 8.0, 3 -> 32.0
    """
    wait_s = FIRST_WAIT_S
    for _ in range(1, num_failures):
        wait_s = min(wait_s * GROWTH, BACKOFF_CAP_S)
    return wait_s
