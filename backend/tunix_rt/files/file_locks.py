"""Locks on open files. One is gone when every process that has the file from its opener is gone."""

import fcntl
import os
import time
from pathlib import Path

_RETRY_S = 0.02
_GLANCE_S = 0.2
"""Whoever only asks whether a file is locked has its lock for a moment: it is not in anybody's way."""


def lock(descriptor: int, *, wait_s: float = 0.0) -> bool:
    """Lock the open file, and with it all that inherit it; False when another opener has it for that long."""
    deadline_s = time.monotonic() + max(wait_s, _GLANCE_S)
    while not _try(descriptor, fcntl.LOCK_EX):
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(_RETRY_S)
    return True


def is_locked(path: Path) -> bool:
    """Whether a process has the file locked; a file that is not there is not."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _try(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
