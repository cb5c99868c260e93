"""Backups on disk: a zip file whose entries are hashed on the way in and checked on the way out.

database/<table>.jsonl   the rows
files/<path>             the home directory
manifest.json            last: without it the archive is not whole
"""

import hashlib
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from pydantic import ValidationError

from tunix_rt.base.errors import DataError, InvalidInputError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.core.backup import ArchivedFile, BackupManifest

MANIFEST_ENTRY = "manifest.json"
_CHUNK_BYTES = 1 << 20
_PACKED_ENDINGS = frozenset({".json", ".jsonl", ".txt", ".log", ".md", ".yaml", ".html", ".csv"})
"""Text. Weights hardly become smaller, and packing them takes minutes."""


def table_entry(name: str) -> str:
    """Where the rows of a table are."""
    return f"database/{name}.jsonl"


def file_entry(path: str) -> str:
    """Where a file of the home directory is."""
    return f"files/{path}"


class ArchiveWriter:
    """A backup that is being written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w", allowZip64=True)

    def add(self, entry: str, chunks: Iterable[bytes]) -> ArchivedFile:
        """Write an entry from its pieces; what went in."""
        packed = PurePosixPath(entry).suffix in _PACKED_ENDINGS
        info = zipfile.ZipInfo(entry)
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        digest, size_bytes = hashlib.sha256(), 0
        with self._zip.open(info, "w", force_zip64=True) as target:
            for chunk in chunks:
                target.write(chunk)
                digest.update(chunk)
                size_bytes += len(chunk)
        return ArchivedFile(size_bytes=size_bytes, sha256=digest.hexdigest())

    def finish(self, manifest: BackupManifest) -> None:
        """Write the manifest and close."""
        self._zip.writestr(MANIFEST_ENTRY, manifest.model_dump_json(indent=2, exclude_none=True))
        self._zip.close()


def read_up_to(file: IO[bytes], size_bytes: int) -> Iterator[bytes]:
    """The file as it was when its size was taken: it may be growing."""
    while size_bytes > 0 and (chunk := file.read(min(size_bytes, _CHUNK_BYTES))):
        yield chunk
        size_bytes -= len(chunk)


@contextmanager
def open_archive(path: Path) -> Iterator["ArchiveReader"]:
    """A backup, its manifest read and its entries compared with it.

    Raises:
        InvalidInputError: There is no such file.
        DataError: It is no backup, or not a whole one.
    """
    if not path.is_file():
        raise InvalidInputError(f"There is no file {path}.", next_step="Check the path.")
    try:
        with storage_errors("reading the backup"), zipfile.ZipFile(path) as opened:
            yield ArchiveReader(path, opened)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise _damaged(path, str(error)) from error


class ArchiveReader:
    """A backup that is being read. Nothing of it is believed before its hash is right."""

    def __init__(self, path: Path, opened: zipfile.ZipFile) -> None:
        self._path = path
        self._zip = opened
        self.manifest = self._manifest()
        self._refuse_other_entries()

    def _manifest(self) -> BackupManifest:
        try:
            return BackupManifest.model_validate_json(self._zip.read(MANIFEST_ENTRY))
        except KeyError as error:
            raise _damaged(self._path, "it has no manifest") from error
        except ValidationError as error:
            raise _damaged(self._path, "its manifest is of another version or is damaged") from error

    def _refuse_other_entries(self) -> None:
        expected = {
            MANIFEST_ENTRY,
            *map(table_entry, self.manifest.tables),
            *map(file_entry, self.manifest.files),
        }
        found = self._zip.namelist()
        if len(found) != len(set(found)) or set(found) != expected:
            raise _damaged(self._path, "its entries are not those of its manifest")
        for path in self.manifest.files:
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\\" in path:
                raise _damaged(self._path, f"the entry {path!r} leads out of the home directory")

    def check_tables(self) -> None:
        """DataError when the rows of a table are not what was written."""
        for name, entry in self.manifest.tables.items():
            with self._zip.open(table_entry(name)) as source:
                digest = hashlib.file_digest(source, "sha256").hexdigest()  # type: ignore[arg-type]
            self._check(table_entry(name), entry, digest)

    def lines(self, table: str) -> Iterator[bytes]:
        """The rows of a table that was checked."""
        with self._zip.open(table_entry(table)) as source:
            yield from source

    def extract(self, path: str, target: Path) -> None:
        """Write a file of the home directory to `target`; DataError when it is not what was written."""
        entry = self.manifest.files[path]
        target.parent.mkdir(parents=True, exist_ok=True)
        with self._zip.open(file_entry(path)) as source, target.open("xb") as file:
            shutil.copyfileobj(source, file, _CHUNK_BYTES)
        with target.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self._check(file_entry(path), entry, digest)
        if entry.is_read_only:
            target.chmod(0o444)

    def _check(self, name: str, entry: ArchivedFile, sha256: str) -> None:
        if entry.sha256 != sha256:
            raise _damaged(self._path, f"the entry {name} is not what was written")


def _damaged(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path.name} is no whole backup: {reason}.", next_step="Take another copy of it, or another backup."
    )
