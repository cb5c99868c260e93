"""A checkpoint that cannot be written: why, and what to do."""

import shutil
from pathlib import Path

from tunix_rt.base.errors import StorageError

DISK_IS_FULL = "the disk is full"


def require_room(directory: Path, num_bytes: int) -> None:
    """Refuse before anything is written: a disk that fills up half-way also stops the metrics and the log.

    Raises:
        StorageError: There is less room than the checkpoint takes.
    """
    num_free = shutil.disk_usage(directory).free
    if num_free < num_bytes:
        raise unwritable(
            directory,
            f"{DISK_IS_FULL}: it needs {num_bytes / 2**20:,.0f} MiB of {num_free / 2**20:,.0f} MiB free",
        )


def unwritable(directory: Path, reason: str) -> StorageError:
    """The error of a checkpoint that did not get to the disk."""
    return StorageError(
        f"A checkpoint cannot be written to {directory}: {reason}.",
        next_step="Free space or choose another --output; the checkpoints before it are whole, and the same "
        "command with --resume goes on from them.",
    )
