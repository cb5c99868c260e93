"""Reflink copies, digests of large files, zip archives streamed without a temporary file."""

import fcntl
import hashlib
import io
import os
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

# Linux: the target shares the blocks of the source until one of them is written (btrfs, XFS, bcachefs).
_FICLONE = 0x40049409
_CHUNK_BYTES = 1 << 22


def copy_file(source: Path, target: IO[bytes]) -> None:
    """Copy `source` into an empty file, sharing blocks where the file system can."""
    with source.open("rb") as opened:
        try:
            fcntl.ioctl(target.fileno(), _FICLONE, opened.fileno())
        except OSError:
            shutil.copyfileobj(opened, target, _CHUNK_BYTES)


def link_file(source: Path, target: Path) -> bool:
    """Hard-link a file that no longer changes; False where the file system has no links."""
    try:
        os.link(source, target)
    except FileExistsError:
        return True  # another process created it first
    except OSError:
        return False
    return True


def file_digest(path: Path) -> str:
    """SHA-256 of a file, read in chunks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# A fixed time, so that archives of the same content are identical.
_TIME = (1980, 1, 1, 0, 0, 0)
CHUNK_BYTES = 1 << 20

Entry = tuple[str, Iterable[bytes]]
"""Path in the archive, and the chunks of the file."""


def stream_zip(entries: Iterable[Entry]) -> Iterator[bytes]:
    """The chunks of an uncompressed archive: weights hardly compress."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        for path, chunks in entries:
            info = zipfile.ZipInfo(path, _TIME)
            info.external_attr = 0o644 << 16
            # Sizes over 4 GiB must be declared before the first byte.
            with archive.open(info, "w", force_zip64=True) as entry:
                for chunk in chunks:
                    entry.write(chunk)
                    yield sink.take()
    yield sink.take()


class _Sink(io.RawIOBase):
    """A write-only file whose content is taken out chunk by chunk."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._chunks.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """Everything written since the last call."""
        taken = b"".join(self._chunks)
        self._chunks.clear()
        return taken
