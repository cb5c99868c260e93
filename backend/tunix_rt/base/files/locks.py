"""File locks, and one writer per directory."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunix_rt.base.errors import ConflictError
from tunix_rt.base.files.atomic import storage_errors

_RETRY_S = 0.02
_PROBE_S = 0.2
"""`is_locked` takes the lock for a moment, which must not fail other openers."""


def lock(descriptor: int, *, wait_s: float = 0.0) -> bool:
    """Lock the open file for all processes that inherit it; False if it stays locked by another opener."""
    deadline_s = time.monotonic() + max(wait_s, _PROBE_S)
    while not _try(descriptor, fcntl.LOCK_EX):
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(_RETRY_S)
    return True


def is_locked(path: Path) -> bool:
    """Whether a process has locked the file; False if it does not exist."""
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


LOCK_FILE = ".lock"


@contextmanager
def held_directory(path: Path, what: str, *, wait_s: float = 0.0) -> Iterator[None]:
    """Create the directory and lock it against other processes; the lock ends with the process.

    Args:
        path: The directory.
        what: Its content, such as "run".
        wait_s: How long to wait for another process to release it.

    Raises:
        ConflictError: Another process holds the lock.
    """
    with storage_errors(f"creating the {what} directory"):
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not lock(descriptor, wait_s=wait_s):
            raise ConflictError(
                f"Another process is writing the {what} {path}.",
                next_step="Wait for it or stop it, or choose another directory with --output.",
            )
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether a process is writing into the directory."""
    return is_locked(path / LOCK_FILE)


def is_unused(path: Path) -> bool:
    """Whether the directory does not exist or contains only the lock file."""
    return not path.exists() or all(child.name == LOCK_FILE for child in path.iterdir())


def remove_if_unused(path: Path) -> None:
    """Remove a directory that contains only the lock file."""
    if path.exists() and is_unused(path):
        (path / LOCK_FILE).unlink(missing_ok=True)
        path.rmdir()
