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
    """Fill an empty file with what is in `source`; later changes of either do not reach the other."""
    with source.open("rb") as opened:
        if not _shares_blocks(opened, target):
            shutil.copyfileobj(opened, target, _CHUNK_BYTES)


def link_file(source: Path, target: Path) -> bool:
    """Give a file that nobody writes any more a second name; False where the file system has no links."""
    try:
        os.link(source, target)
    except FileExistsError:
        return True  # another process was faster
    except OSError:
        return False
    return True


def file_digest(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return stream_digest(file)


def stream_digest(file: IO[bytes]) -> str:
    """SHA-256 of what is left of an open file, read in pieces."""
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def _shares_blocks(source: IO[bytes], target: IO[bytes]) -> bool:
    try:
        fcntl.ioctl(target.fileno(), _FICLONE, source.fileno())
    except OSError:
        return False
    return True


# Every archive of the same content is the same, whenever it is made.
_TIME = (1980, 1, 1, 0, 0, 0)
CHUNK_BYTES = 1 << 20

Entry = tuple[str, Iterable[bytes]]
"""Path in the archive, and the pieces of the file."""


def zip_chunks(entries: Iterable[Entry]) -> Iterator[bytes]:
    """The pieces of the archive, stored without packing: weights hardly become smaller."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        for path, pieces in entries:
            # Sizes beyond 4 GiB must be announced before the first byte.
            with archive.open(_info(path), "w", force_zip64=True) as entry:
                for piece in pieces:
                    entry.write(piece)
                    yield sink.take()
    yield sink.take()


def _info(path: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(path, _TIME)
    info.external_attr = 0o644 << 16
    return info


class _Sink(io.RawIOBase):
    """A file that cannot be rewound: what is written is taken away piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """What was written since the last time."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken
