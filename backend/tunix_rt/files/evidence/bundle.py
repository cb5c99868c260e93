"""A bundle that somebody gave us: a directory or a zip file, read in place and never believed.

Nothing is unpacked, no link is followed, and no more of a file is read than was asked for.
"""

import hashlib
import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from tunix_rt.base.errors import DataError, NotFoundError
from tunix_rt.files.evidence.zip_entries import ZipContents, read_entries

MAX_FILES = 50_000
_CHUNK_BYTES = 1 << 20
_UNREADABLE = (OSError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error)
"""What a damaged archive or disk answers; zipfile calls encryption a RuntimeError."""


class Bundle(Protocol):
    """Files by their paths."""

    @property
    def name(self) -> str:
        """Of the directory or the archive."""

    @property
    def sizes(self) -> dict[str, int]:
        """Path -> bytes, of every plain file."""

    @property
    def problems(self) -> list[str]:
        """What has no place in a bundle: links, devices, paths that lead out of it."""

    def open(self, path: str) -> IO[bytes]:
        """One of the files."""


@dataclass(frozen=True)
class DirectoryBundle:
    """A bundle as it was packed."""

    root: Path
    sizes: dict[str, int]
    problems: list[str]

    @property
    def name(self) -> str:
        """Of the directory."""
        return self.root.resolve().name

    def open(self, path: str) -> IO[bytes]:
        """One of the files; what became a link meanwhile is refused."""
        return open(os.open(self.root / path, os.O_RDONLY | os.O_NOFOLLOW), "rb")


@dataclass(frozen=True)
class ZipBundle:
    """A bundle in an archive."""

    path: Path
    archive: zipfile.ZipFile
    contents: ZipContents

    @property
    def name(self) -> str:
        """Of the archive."""
        return self.path.name

    @property
    def sizes(self) -> dict[str, int]:
        """As the archive announces them."""
        return {path: info.file_size for path, info in self.contents.files.items()}

    @property
    def problems(self) -> list[str]:
        """As the archive's list of entries shows them."""
        return self.contents.problems

    def open(self, path: str) -> IO[bytes]:
        """One of the files, unpacked while it is read."""
        return self.archive.open(self.contents.files[path])


@contextmanager
def open_bundle(path: Path) -> Iterator[Bundle]:
    """A bundle, open for reading.

    Raises:
        NotFoundError: There is nothing at `path`.
        DataError: It is neither a directory nor a zip file.
    """
    if path.is_dir():
        yield _directory(path)
        return
    if not path.is_file():
        raise NotFoundError(f"There is no bundle {path}.", next_step="Name a directory or a zip file.")
    try:
        archive = zipfile.ZipFile(path)
    except _UNREADABLE as error:
        raise DataError(
            f"{path.name} is no zip file, or only a part of one: {str(error).lower().rstrip('.')}.",
            next_step="Take another copy of it, or name the directory of a bundle.",
        ) from error
    with archive:
        yield ZipBundle(path, archive, read_entries(archive, path.stat().st_size, max_files=MAX_FILES))


def _directory(root: Path) -> DirectoryBundle:
    sizes: dict[str, int] = {}
    problems = []
    for folder, folders, names in os.walk(root, followlinks=False):
        here = Path(folder)
        for name in sorted((*folders, *names)):
            path = (here / name).relative_to(root).as_posix()
            status = (here / name).lstat()
            if stat.S_ISREG(status.st_mode):
                sizes[path] = status.st_size
            elif not stat.S_ISDIR(status.st_mode):
                kind = "a link" if stat.S_ISLNK(status.st_mode) else "no plain file"
                problems.append(f"{path} is {kind}")
        if len(sizes) > MAX_FILES:
            problems.append(f"there are more than {MAX_FILES:,} files")
            break
    return DirectoryBundle(root, sizes, problems)


@dataclass(frozen=True)
class Digest:
    """What was really read of a file."""

    size_bytes: int
    sha256: str


def digest_of(bundle: Bundle, path: str, *, max_bytes: int) -> Digest | str:
    """Size and hash of a file, or in words why it cannot be read. No more than `max_bytes` + 1 are read."""
    digest, size_bytes = hashlib.sha256(), 0
    try:
        with bundle.open(path) as file:
            while size_bytes <= max_bytes and (
                chunk := file.read(min(_CHUNK_BYTES, max_bytes + 1 - size_bytes))
            ):
                digest.update(chunk)
                size_bytes += len(chunk)
    except _UNREADABLE as error:
        return f"cannot be read: {error}"
    return Digest(size_bytes, digest.hexdigest())


def read_whole(bundle: Bundle, path: str, *, max_bytes: int) -> bytes:
    """A small file.

    Raises:
        DataError: It is larger than that, or cannot be read.
    """
    try:
        with bundle.open(path) as file:
            # A reader may set aside as many bytes as it is asked for.
            content = file.read(min(max_bytes, bundle.sizes[path]) + 1)
    except _UNREADABLE as error:
        raise _unreadable(path, str(error)) from error
    if len(content) > max_bytes:
        raise _unreadable(path, f"it is larger than {max_bytes:,} bytes")
    return content


def iter_lines(bundle: Bundle, path: str, *, max_bytes: int) -> Iterator[bytes]:
    """The lines of a file of any size, one in memory at a time.

    Raises:
        DataError: A line is longer than `max_bytes`, or the file cannot be read.
    """
    try:
        with bundle.open(path) as file:
            while line := file.readline(max_bytes + 1):
                if len(line) > max_bytes:
                    raise _unreadable(path, f"a line is longer than {max_bytes:,} bytes")
                yield line
    except _UNREADABLE as error:
        raise _unreadable(path, str(error)) from error


def copy_out(bundle: Bundle, path: str, target: Path) -> None:
    """Write a file of a bundle to `target`, in pieces.

    Raises:
        DataError: It cannot be read.
    """
    try:
        with bundle.open(path) as source, target.open("xb") as file:
            shutil.copyfileobj(source, file, _CHUNK_BYTES)
    except _UNREADABLE as error:
        raise _unreadable(path, str(error)) from error


def _unreadable(path: str, reason: str) -> DataError:
    return DataError(f"{path} cannot be read: {reason}.", next_step="Take another copy of the bundle.")
