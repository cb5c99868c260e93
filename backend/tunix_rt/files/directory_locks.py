"""One process at a time writes into a directory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunix_rt.core.errors import ConflictError
from tunix_rt.files.atomic import storage_errors
from tunix_rt.files.file_locks import is_locked, lock

LOCK_FILE = ".lock"


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
    """Whether nothing but a lock is in the directory, or there is none."""
    return not path.exists() or all(child.name == LOCK_FILE for child in path.iterdir())


def remove_if_unused(path: Path) -> None:
    """Leave no trace of what never began."""
    if path.exists() and is_unused(path):
        (path / LOCK_FILE).unlink(missing_ok=True)
        path.rmdir()
