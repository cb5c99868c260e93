"""One process at a time writes into a directory."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunix_rt.core.errors import ConflictError
from tunix_rt.files.atomic import storage_errors

LOCK_FILE = ".lock"
_RETRY_S = 0.02
_GLANCE_S = 0.2
"""Whoever only asks whether a directory is held has its lock for a moment: it is not in anybody's way."""


@contextmanager
def held_directory(path: Path, what: str, *, wait_s: float = 0.0) -> Iterator[None]:
    """Make the directory and keep every other process from holding it; the lock goes with the process.

    Args:
        path: the directory.
        what: what is being written there, as in "run".
        wait_s: how long to wait for another process to let go of it.

    Raises:
        ConflictError: Another process has it.
    """
    with storage_errors(f"making the {what} directory"):
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _lock(descriptor, path, what, time.monotonic() + max(wait_s, _GLANCE_S))
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether a process is writing into the directory."""
    try:
        descriptor = os.open(path / LOCK_FILE, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def is_unused(path: Path) -> bool:
    """Whether nothing but a lock is in the directory, or there is none."""
    return not path.exists() or all(child.name == LOCK_FILE for child in path.iterdir())


def remove_if_unused(path: Path) -> None:
    """Leave no trace of what never began."""
    if path.exists() and is_unused(path):
        (path / LOCK_FILE).unlink(missing_ok=True)
        path.rmdir()


def _lock(descriptor: int, path: Path, what: str, deadline_s: float) -> None:
    while not _try_lock(descriptor):
        if time.monotonic() >= deadline_s:
            raise ConflictError(
                f"Another process is writing the {what} {path}.",
                next_step="Wait for it or stop it, or choose another directory with --output.",
            )
        time.sleep(_RETRY_S)


def _try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
