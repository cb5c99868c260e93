"""Files and directories that appear whole or not at all; disk errors with advice."""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tunix_rt.base.errors import StorageError

FULL_DISK_ERRORS = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
"""Errors for a full disk, quota or file-size limit."""
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}


@contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """Turn an `OSError` into a `StorageError` with a next step.

    Args:
        what: The operation, as in "writing the dataset".
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL_DISK_ERRORS:
            raise StorageError(
                f"The disk is full or a file-size limit was reached while {what}.",
                next_step="Free space, or point TUNIX_RT_HOME to a larger disk; then run the command again.",
            ) from error
        if error.errno in _FORBIDDEN:
            raise StorageError(
                f"No permission while {what}: {error.filename or error.strerror}.",
                next_step="Check the owner and mode of TUNIX_RT_HOME, or point it to a writable directory.",
            ) from error
        raise StorageError(
            f"The operating system reported an error while {what}: {error}.",
            next_step="Check the path and the disk, then run the command again.",
        ) from error


@contextmanager
def write_atomically(path: Path, *, what: str = "writing a file", mode: int = 0o644) -> Iterator[IO[bytes]]:
    """A file that appears at `path` only when its whole content is on the disk.

    The bytes go to a temporary file in the same directory, which is synced and renamed at the end; on any
    error it is removed and `path` stays unchanged.
    """
    with storage_errors(what):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, mode)
            os.replace(temporary, path)
            sync_directory(path.parent)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def copy_atomically(source: Path, target: Path) -> None:
    """Copy a file, replacing `target` atomically."""
    with source.open("rb") as opened, write_atomically(target, what=f"writing {target.name}") as file:
        shutil.copyfileobj(opened, file)


def write_json_atomically(path: Path, value: Any, *, what: str = "writing a file") -> None:
    """Write `value` as readable JSON; NaN and infinities are refused."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    with write_atomically(path, what=what) as file:
        file.write(f"{text}\n".encode())


@contextmanager
def write_directory_atomically(path: Path, *, what: str = "writing a directory") -> Iterator[Path]:
    """A directory that appears at `path` only when its whole content is on the disk.

    Files go to a temporary directory next to it, which replaces `path` at the end; on any error it is removed
    and `path` stays unchanged. Leftovers of a killed process are removed first.
    """
    with storage_errors(what):
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f"{path.name}.tmp-"))
        try:
            yield temporary
            for written in (*temporary.rglob("*"), temporary):
                sync_directory(written)  # fsync works on files too
            os.chmod(temporary, 0o755)
            old = path.with_name(f"{path.name}.old")
            if path.exists():
                path.rename(old)
            temporary.rename(path)
            sync_directory(path.parent)
            shutil.rmtree(old, ignore_errors=True)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def _remove_leftovers(path: Path) -> None:
    old = path.with_name(f"{path.name}.old")
    if old.exists() and not path.exists():
        # Killed between the two renames: the old directory is still the valid one.
        old.rename(path)
    for leftover in [old, *path.parent.glob(f"{path.name}.tmp-*")]:
        shutil.rmtree(leftover, ignore_errors=True)


def sync_directory(directory: Path) -> None:
    """Make renames in `directory` survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
