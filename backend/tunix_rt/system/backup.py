"""Back up database and home into one checked zip, and restore it.

database/<table>.jsonl   the rows
files/<path>             the home directory
manifest.json            written last: without it the archive is incomplete
"""

import hashlib
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO

from pydantic import ValidationError

from tunix_rt import __version__
from tunix_rt.base.db.engine import Database, open_engine, writing
from tunix_rt.base.db.migrate import upgrade
from tunix_rt.base.db.schema import SCHEMA_HEAD
from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError
from tunix_rt.base.files.atomic import storage_errors, write_atomically
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.system.store import (
    DUMPED,
    dump_rows,
    finish_loading,
    first_table_with_rows,
    has_tables,
    load_rows,
    snapshot,
)
from tunix_rt.system.types import ArchivedFile, ArchivedTable, BackupManifest

MANIFEST_ENTRY = "manifest.json"
_CHUNK_BYTES = 1 << 20
_PACKED_ENDINGS = frozenset({".json", ".jsonl", ".txt", ".log", ".md", ".yaml", ".html", ".csv"})
"""Text. Weights hardly compress, and compressing them takes minutes."""


def table_entry(name: str) -> str:
    """Archive entry of the rows of a table."""
    return f"database/{name}.jsonl"


def file_entry(path: str) -> str:
    """Archive entry of a file of the home directory."""
    return f"files/{path}"


class ArchiveWriter:
    """A backup that is being written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w", allowZip64=True)

    def add(self, entry: str, chunks: Iterable[bytes]) -> ArchivedFile:
        """Write an entry; returns its size and hash."""
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
    """The first bytes of a file that may be growing."""
    while size_bytes > 0 and (chunk := file.read(min(size_bytes, _CHUNK_BYTES))):
        yield chunk
        size_bytes -= len(chunk)


@contextmanager
def open_archive(path: Path) -> Iterator["ArchiveReader"]:
    """Open a backup and check its entries against its manifest.

    Raises:
        InvalidInputError: There is no such file.
        DataError: It is not a backup, or it is incomplete.
    """
    if not path.is_file():
        raise InvalidInputError(f"There is no file {path}.", next_step="Check the path.")
    try:
        with storage_errors("reading the backup"), zipfile.ZipFile(path) as opened:
            yield ArchiveReader(path, opened)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise _damaged(path, str(error)) from error


class ArchiveReader:
    """A backup that is being read; every entry is checked against its hash."""

    def __init__(self, path: Path, opened: zipfile.ZipFile) -> None:
        self._path = path
        self._zip = opened
        self.manifest = self._manifest()
        self._check_entries()

    def _manifest(self) -> BackupManifest:
        try:
            return BackupManifest.model_validate_json(self._zip.read(MANIFEST_ENTRY))
        except KeyError as error:
            raise _damaged(self._path, "it has no manifest") from error
        except ValidationError as error:
            raise _damaged(self._path, "its manifest is of another version or is damaged") from error

    def _check_entries(self) -> None:
        expected = {
            MANIFEST_ENTRY,
            *map(table_entry, self.manifest.tables),
            *map(file_entry, self.manifest.files),
        }
        found = self._zip.namelist()
        if len(found) != len(set(found)) or set(found) != expected:
            raise _damaged(self._path, "its entries do not match its manifest")
        for path in self.manifest.files:
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\\" in path:
                raise _damaged(self._path, f"the entry {path!r} points outside the home directory")

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
        """Write a file of the home directory to `target`; DataError when it does not match its hash."""
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
            raise _damaged(self._path, f"the entry {name} does not match its hash")


def _damaged(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path.name} is not a complete backup: {reason}.",
        next_step="Use another copy of it, or another backup.",
    )


OnFile = Callable[[str], None]

_PRIVATE = 0o600
_DATABASE_FILE = "tunix_rt.db"
_EXCLUDED = frozenset({"models/checkouts", "models/incoming", "hub"})
"""Links into the home, unfinished files, and files that can be downloaded again."""


def make_backup(
    home: Home, target: Path, *, with_checkpoints: bool, on_file: OnFile = lambda _path: None
) -> BackupManifest:
    """Write a backup to `target` atomically. Servers and workers may keep running.

    The database comes first, as one snapshot: every file that it refers to is on the disk by then.

    Raises:
        InvalidInputError: `target` is in the home directory.
        StorageError: The disk is full, or the database does not answer.
    """
    if target.absolute().resolve().is_relative_to(home.settings.home_dir):
        raise InvalidInputError(
            f"{target} is inside the home directory that is being backed up.",
            next_step="Write the backup elsewhere, preferably to another disk.",
        )
    with write_atomically(target, what="writing the backup", mode=_PRIVATE) as file:
        archive = ArchiveWriter(file)
        manifest = BackupManifest(
            created_at=datetime.now(UTC),
            tunix_rt_version=__version__,
            schema_revision=SCHEMA_HEAD,
            database=home.database.dialect.name,
            has_checkpoints=with_checkpoints,
            tables=_add_tables(archive, home),
            files=_add_files(archive, home.settings, with_checkpoints, on_file),
        )
        archive.finish(manifest)
    return manifest


def _add_tables(archive: ArchiveWriter, home: Home) -> dict[str, ArchivedTable]:
    added = {}
    with snapshot(home.database) as connection:
        for table in DUMPED:
            num_rows = 0

            def counted(lines: Iterator[bytes]) -> Iterator[bytes]:
                nonlocal num_rows
                for line in lines:
                    num_rows += 1
                    yield line

            entry = archive.add(table_entry(table.name), counted(dump_rows(connection, table)))
            added[table.name] = ArchivedTable(**entry.model_dump(), num_rows=num_rows)
    return added


def _add_files(
    archive: ArchiveWriter, settings: Settings, with_checkpoints: bool, on_file: OnFile
) -> dict[str, ArchivedFile]:
    added = {}
    for path in _included_files(settings.home_dir, with_checkpoints):
        on_file(path)
        with storage_errors(f"reading {path}"):
            try:
                file = (settings.home_dir / path).open("rb")
            except FileNotFoundError:
                continue  # removed meanwhile
            with file:
                status = os.fstat(file.fileno())
                entry = archive.add(file_entry(path), read_up_to(file, status.st_size))
        added[path] = entry.model_copy(update={"is_read_only": not status.st_mode & 0o200})
    return added


def _included_files(home: Path, with_checkpoints: bool) -> Iterator[str]:
    """Sorted paths of the files to back up, without locks and unfinished files."""
    for directory, subdirectories, names in os.walk(home):
        here = Path(directory).relative_to(home)
        subdirectories[:] = sorted(
            name for name in subdirectories if _includes_directory(here / name, with_checkpoints)
        )
        yield from ((here / name).as_posix() for name in sorted(names) if _includes_file(home, here / name))


def _includes_file(home: Path, path: Path) -> bool:
    is_database = len(path.parts) == 1 and path.name.startswith(_DATABASE_FILE)
    # No sockets or links, whose targets do not belong to the home.
    is_plain = (home / path).is_file() and not (home / path).is_symlink()
    return is_plain and not (is_database or path.name.startswith("."))


def _includes_directory(path: Path, with_checkpoints: bool) -> bool:
    is_unfinished = path.name.startswith(".") or ".tmp-" in path.name
    is_checkpoints = path.match("runs/*/checkpoints") and len(path.parts) == 3
    return not (is_unfinished or path.as_posix() in _EXCLUDED or (is_checkpoints and not with_checkpoints))


_DATABASE_FILES = ("tunix_rt.db", "tunix_rt.db-wal", "tunix_rt.db-shm")


def restore_backup(
    settings: Settings, source: Path, *, on_file: OnFile = lambda _path: None
) -> BackupManifest:
    """Restore a backup into the home and the database of `settings`, both of which must be empty.

    Every hash is checked before anything takes effect: files go to a temporary directory, rows into one
    transaction. A backup of an older schema is upgraded; one of SQLite can go to PostgreSQL, and back.

    Raises:
        ConflictError: The home or the database is in use.
        DataError: The backup is damaged, or of a newer version.
    """
    with open_archive(source) as archive:
        _refuse_newer(archive.manifest)
        _refuse_used_home(settings.home_dir)
        with storage_errors("creating the home directory"):
            settings.home_dir.mkdir(parents=True, exist_ok=True)
        engine = open_engine(settings.resolved_database_url)
        try:
            _refuse_used_database(engine, archive.manifest)
            archive.check_tables()
            with _staged(settings.home_dir) as staging:
                for path in archive.manifest.files:
                    on_file(path)
                    archive.extract(path, staging / path)
                _load(engine, archive, staging, settings.home_dir)
        finally:
            engine.dispose()
        return archive.manifest


def _load(database: Database, archive: ArchiveReader, staging: Path, home: Path) -> None:
    manifest = archive.manifest
    with writing(database) as connection:
        upgrade(connection, manifest.schema_revision)
        for name, table in manifest.tables.items():
            if load_rows(connection, name, archive.lines(name)) != table.num_rows:
                raise DataError(
                    f"The number of rows of {name} does not match the manifest.",
                    next_step="Use another copy of it, or another backup.",
                )
        finish_loading(connection)
        upgrade(connection, "head")
        # Within the transaction: if a file cannot be moved into place, no row is committed either.
        for path in staging.iterdir():
            path.rename(home / path.name)


@contextmanager
def _staged(home: Path) -> Iterator[Path]:
    """A temporary directory in the home, removed at the end."""
    staging = Path(tempfile.mkdtemp(dir=home, prefix=".restoring-"))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _refuse_newer(manifest: BackupManifest) -> None:
    if manifest.schema_revision > SCHEMA_HEAD:
        raise DataError(
            f"The backup has schema {manifest.schema_revision}; this version knows up to {SCHEMA_HEAD}.",
            next_step=f"Upgrade Tunix RT: the backup was written by {manifest.tunix_rt_version}.",
        )


def _refuse_used_home(home: Path) -> None:
    used = [path for path in home.iterdir() if path.name not in _DATABASE_FILES] if home.exists() else []
    used = [path for path in used if path.is_file() or any(path.iterdir())]
    if used:
        raise ConflictError(
            f"The home directory {home} is not empty: it has {min(used).name}.",
            next_step="Restore into an empty one: add --home DIR, or set TUNIX_RT_HOME.",
        )


def _refuse_used_database(database: Database, manifest: BackupManifest) -> None:
    if not has_tables(database):
        return
    used = first_table_with_rows(database)
    is_of_this_schema = manifest.schema_revision == SCHEMA_HEAD
    if used is None and is_of_this_schema:
        return
    reason = f"has rows in {used}" if used else "has tables, and the backup is of an older schema"
    raise ConflictError(
        f"The database {reason}.",
        next_step="Restore into an empty one: --home DIR with SQLite, TUNIX_RT_DATABASE_URL with PostgreSQL.",
    )
