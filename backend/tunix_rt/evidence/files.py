"""Read and write bundles as directories or zip files.

Bundles are untrusted: nothing is unpacked, no link is followed, and reads are bounded.
"""

import hashlib
import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from tunix_rt.base.errors import DataError, NotFoundError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.files.copies import CHUNK_BYTES, Entry, copy_file, file_digest
from tunix_rt.evidence.types import (
    EVIDENCE_FILE,
    SUMS_FILE,
    EvidenceFile,
    EvidenceManifest,
    kind_of,
    sums_text,
)

MAX_RATIO = 100
"""Largest compression ratio of an archive that unpacks to more than `FREE_BYTES`."""
FREE_BYTES = 1 << 30
MAX_FILES = 50_000
_ENCRYPTED = 0x1
_WINDOWS_DRIVE = re.compile(r"[A-Za-z]:/")
"""`a:b` is an ordinary name; with a slash, Windows would leave the bundle."""


def _problem(entry: zipfile.ZipInfo) -> str | None:
    path = PurePosixPath(entry.filename)
    if not entry.filename:
        return "has no name"
    if entry.filename.startswith("/") or "\\" in entry.filename or _WINDOWS_DRIVE.match(entry.filename):
        return "is an absolute path or a path of another system"
    if ".." in path.parts or "\x00" in entry.orig_filename:
        return "leads out of the bundle"
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device, not a regular file"
    if entry.flag_bits & _ENCRYPTED:
        return "is encrypted"
    return None


def _common_folder(names: list[str]) -> str:
    """`run-1/` if the directory itself was zipped; empty if its files are at the top level."""
    if EVIDENCE_FILE in names:
        return ""
    folders = {name.split("/")[0] for name in names if "/" in name}
    folder = f"{min(folders)}/" if len(folders) == 1 else ""
    return folder if f"{folder}{EVIDENCE_FILE}" in names else ""


_CHUNK_BYTES = 1 << 20
_UNREADABLE = (OSError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error)
"""Errors of damaged archives and disks; zipfile reports encryption as RuntimeError."""


@dataclass(frozen=True)
class Bundle:
    """Read access to the files of a bundle."""

    name: str
    """Name of the directory or zip file."""
    sizes: dict[str, int]
    """Path -> size in bytes of every regular file."""
    problems: list[str]
    """Entries a bundle must not contain: links, devices, paths that lead out of it."""
    open: Callable[[str], IO[bytes]]
    """Opens a file by its path."""


@contextmanager
def open_bundle(path: Path) -> Iterator[Bundle]:
    """Open a bundle for reading.

    Raises:
        NotFoundError: `path` does not exist.
        DataError: It is neither a directory nor a zip file.
    """
    if path.is_dir():
        yield _open_directory(path)
        return
    if not path.is_file():
        raise NotFoundError(f"There is no bundle {path}.", next_step="Name a directory or a zip file.")
    try:
        archive = zipfile.ZipFile(path)
    except _UNREADABLE as error:
        raise DataError(
            f"{path.name} is not a zip file or is truncated: {str(error).lower().rstrip('.')}.",
            next_step="Get another copy of it, or name the directory of a bundle.",
        ) from error
    with archive:
        yield _open_zip(path, archive)


def _open_zip(path: Path, archive: zipfile.ZipFile) -> Bundle:
    """The regular files by their paths in the bundle, using only the directory of the archive."""
    entries, archive_bytes = archive.infolist(), path.stat().st_size
    unpacked = sum(entry.file_size for entry in entries)
    files: dict[str, zipfile.ZipInfo] = {}
    problems = []
    if len(entries) > MAX_FILES:
        problems.append(f"there are more than {MAX_FILES:,} entries")
    elif sum(entry.compress_size for entry in entries) > archive_bytes:
        problems.append("its entries overlap: it is a zip bomb")
    elif unpacked > max(FREE_BYTES, MAX_RATIO * archive_bytes):
        problems.append(f"{archive_bytes:,} bytes unpack to {unpacked:,}: it is a zip bomb")
    else:
        folder = _common_folder([entry.filename for entry in entries])
        for entry in entries:
            name = entry.filename.removeprefix(folder)
            problem = _problem(entry) or ("is duplicated" if name in files else None)
            if problem is not None:
                problems.append(f"the entry {entry.filename!r} {problem}")
            elif not entry.is_dir():
                files[name] = entry
    sizes = {name: entry.file_size for name, entry in files.items()}
    return Bundle(path.name, sizes, problems, lambda name: archive.open(files[name]))


def _open_directory(root: Path) -> Bundle:
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
                kind = "a link" if stat.S_ISLNK(status.st_mode) else "not a regular file"
                problems.append(f"{path} is {kind}")
        if len(sizes) > MAX_FILES:
            problems.append(f"there are more than {MAX_FILES:,} files")
            break

    def open_file(path: str) -> IO[bytes]:
        # A file that was replaced by a link meanwhile is refused.
        return open(os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW), "rb")

    return Bundle(root.resolve().name, sizes, problems, open_file)


@dataclass(frozen=True)
class Digest:
    """Size and hash of the bytes that were read."""

    size_bytes: int
    sha256: str


def digest_of(bundle: Bundle, path: str, *, max_bytes: int) -> Digest | str:
    """Size and hash of a file, or why it cannot be read. At most `max_bytes` + 1 bytes are read."""
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
    """The content of a small file.

    Raises:
        DataError: It is larger than `max_bytes`, or cannot be read.
    """
    try:
        with bundle.open(path) as file:
            # Never request more than the file has: readers may allocate a buffer of that size.
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
    """Copy a file of a bundle to `target` in chunks.

    Raises:
        DataError: It cannot be read.
    """
    try:
        with bundle.open(path) as source, target.open("xb") as file:
            shutil.copyfileobj(source, file, _CHUNK_BYTES)
    except _UNREADABLE as error:
        raise _unreadable(path, str(error)) from error


def _unreadable(path: str, reason: str) -> DataError:
    return DataError(f"{path} cannot be read: {reason}.", next_step="Get another copy of the bundle.")


_ACTION = "packing the evidence"


class BundleWriter:
    """Writes a bundle to an empty directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._files: dict[str, EvidenceFile] = {}

    @property
    def files(self) -> tuple[EvidenceFile, ...]:
        """The files written so far, sorted by path."""
        return tuple(self._files[path] for path in sorted(self._files))

    def add(self, path: str, content: bytes | Path) -> None:
        """Add a file with this content, or a copy of a file; later changes of the source do not affect it."""
        kind = kind_of(path)
        assert kind is not None, f"{path} does not belong in a bundle"
        target = self.directory / path
        with storage_errors(_ACTION):
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                copy_file(content, file) if isinstance(content, Path) else file.write(content)
            self._files[path] = EvidenceFile(
                path=path,
                size_bytes=target.stat().st_size,
                sha256=file_digest(target),
                proves=kind.proves,
                content_schema=kind.content_schema,
            )

    def finish(self, manifest: EvidenceManifest) -> None:
        """Write the manifest."""
        with storage_errors(_ACTION):
            (self.directory / EVIDENCE_FILE).write_bytes(manifest.to_bytes())

    def write_sums(self) -> None:
        """Write the checksums of all files; must come last, after any signature."""
        paths = sorted(path for path in self.directory.rglob("*") if path.is_file())
        hashes = {path.relative_to(self.directory).as_posix(): file_digest(path) for path in paths}
        hashes.pop(SUMS_FILE, None)
        with storage_errors(_ACTION):
            (self.directory / SUMS_FILE).write_bytes(sums_text(hashes))


def bundle_entries(directory: Path) -> Iterator[Entry]:
    """The files of a packed bundle as entries of a zip."""
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        yield path.relative_to(directory).as_posix(), _pieces(path)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            yield piece
