"""Back up database and home into one checked zip, and restore it.

database/<table>.jsonl   the rows
files/<path>             the home directory
manifest.json            written last: without it the archive is incomplete
"""

import hashlib
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
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


def _add(archive: zipfile.ZipFile, entry: str, chunks: Iterable[bytes]) -> tuple[ArchivedFile, int]:
    """Write an entry; returns its size and hash, and the number of chunks."""
    packed = PurePosixPath(entry).suffix in _PACKED_ENDINGS
    info = zipfile.ZipInfo(entry)
    info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    digest, size_bytes, num_chunks = hashlib.sha256(), 0, 0
    with archive.open(info, "w", force_zip64=True) as target:
        for chunk in chunks:
            target.write(chunk)
            digest.update(chunk)
            size_bytes += len(chunk)
            num_chunks += 1
    return ArchivedFile(size_bytes=size_bytes, sha256=digest.hexdigest()), num_chunks


def read_up_to(file: IO[bytes], size_bytes: int) -> Iterator[bytes]:
    """The first bytes of a file that may be growing."""
    while size_bytes > 0 and (chunk := file.read(min(size_bytes, _CHUNK_BYTES))):
        yield chunk
        size_bytes -= len(chunk)


@contextmanager
def open_archive(path: Path) -> Iterator[tuple[zipfile.ZipFile, BackupManifest]]:
    """Open a backup and check its entries against its manifest. Within it, a BadZipFile becomes a DataError.

    Raises:
        InvalidInputError: There is no such file.
        DataError: It is not a backup, or it is incomplete.
    """
    if not path.is_file():
        raise InvalidInputError(f"There is no file {path}.", next_step="Check the path.")
    try:
        with storage_errors("reading the backup"), zipfile.ZipFile(path) as archive:
            yield archive, _read_manifest(archive)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise DataError(
            f"{path.name} is not a complete backup: {error}.",
            next_step="Use another copy of it, or another backup.",
        ) from error


def _read_manifest(archive: zipfile.ZipFile) -> BackupManifest:
    try:
        manifest = BackupManifest.model_validate_json(archive.read(MANIFEST_ENTRY))
    except KeyError as error:
        raise zipfile.BadZipFile("it has no manifest") from error
    except ValidationError as error:
        raise zipfile.BadZipFile("its manifest is of another version or is damaged") from error
    expected = {MANIFEST_ENTRY, *map(table_entry, manifest.tables), *map(file_entry, manifest.files)}
    found = archive.namelist()
    if len(found) != len(set(found)) or set(found) != expected:
        raise zipfile.BadZipFile("its entries do not match its manifest")
    for path in manifest.files:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\\" in path:
            raise zipfile.BadZipFile(f"the entry {path!r} points outside the home directory")
    return manifest


def _extract(archive: zipfile.ZipFile, path: str, entry: ArchivedFile, target: Path) -> None:
    """Write a file of the home directory to `target`, and check it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(file_entry(path)) as source, target.open("xb") as file:
        shutil.copyfileobj(source, file, _CHUNK_BYTES)
    with target.open("rb") as file:
        _check_hash(file, entry, file_entry(path))
    if entry.is_read_only:
        target.chmod(0o444)


def _check_hash(source: IO[bytes], entry: ArchivedFile, name: str) -> None:
    if hashlib.file_digest(source, "sha256").hexdigest() != entry.sha256:  # type: ignore[arg-type]
        raise zipfile.BadZipFile(f"the entry {name} does not match its hash")


OnFile = Callable[[str], None]

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
    # It contains hashes of tokens and all data, so only its owner may read it.
    with write_atomically(target, what="writing the backup", mode=0o600) as file:
        with zipfile.ZipFile(file, "w") as archive:
            manifest = BackupManifest(
                created_at=datetime.now(UTC),
                tunix_rt_version=__version__,
                schema_revision=SCHEMA_HEAD,
                database=home.database.dialect.name,
                has_checkpoints=with_checkpoints,
                tables=_add_tables(archive, home.database),
                files=_add_files(archive, home.settings.home_dir, with_checkpoints, on_file),
            )
            archive.writestr(MANIFEST_ENTRY, manifest.model_dump_json(indent=2, exclude_none=True))
    return manifest


def _add_tables(archive: zipfile.ZipFile, database: Database) -> dict[str, ArchivedTable]:
    added = {}
    with snapshot(database) as connection:
        for table in DUMPED:
            entry, num_rows = _add(archive, table_entry(table.name), dump_rows(connection, table))
            added[table.name] = ArchivedTable(**entry.model_dump(), num_rows=num_rows)
    return added


def _add_files(
    archive: zipfile.ZipFile, home: Path, with_checkpoints: bool, on_file: OnFile
) -> dict[str, ArchivedFile]:
    added = {}
    for path in _included_files(home, with_checkpoints):
        on_file(path)
        with storage_errors(f"reading {path}"):
            try:
                file = (home / path).open("rb")
            except FileNotFoundError:
                continue  # removed meanwhile
            with file:
                status = os.fstat(file.fileno())
                entry, _ = _add(archive, file_entry(path), read_up_to(file, status.st_size))
        added[path] = entry.model_copy(update={"is_read_only": not status.st_mode & 0o200})
    return added


def _included_files(home: Path, with_checkpoints: bool) -> Iterator[str]:
    """Sorted paths of the files to back up, without locks and unfinished files."""
    for directory, subdirectories, names in os.walk(home):
        here = Path(directory).relative_to(home)
        subdirectories[:] = sorted(
            name for name in subdirectories if _includes_directory(here / name, with_checkpoints)
        )
        for name in sorted(names):
            file = Path(directory, name)
            is_database = here == Path() and name.startswith(_DATABASE_FILE)
            # No sockets or links, whose targets do not belong to the home.
            is_plain = file.is_file() and not file.is_symlink()
            if is_plain and not (is_database or name.startswith(".")):
                yield (here / name).as_posix()


def _includes_directory(path: Path, with_checkpoints: bool) -> bool:
    is_unfinished = path.name.startswith(".") or ".tmp-" in path.name
    is_checkpoints = path.match("runs/*/checkpoints") and len(path.parts) == 3
    return not (is_unfinished or path.as_posix() in _EXCLUDED or (is_checkpoints and not with_checkpoints))


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
    with open_archive(source) as (archive, manifest):
        if manifest.schema_revision > SCHEMA_HEAD:
            raise DataError(
                f"The backup has schema {manifest.schema_revision}; this version knows up to {SCHEMA_HEAD}.",
                next_step=f"Upgrade Tunix RT: the backup was written by {manifest.tunix_rt_version}.",
            )
        _refuse_used_home(settings.home_dir)
        with storage_errors("creating the home directory"):
            settings.home_dir.mkdir(parents=True, exist_ok=True)
        engine = open_engine(settings.resolved_database_url)
        try:
            _refuse_used_database(engine, manifest)
            for name, table in manifest.tables.items():
                with archive.open(table_entry(name)) as rows:
                    _check_hash(rows, table, table_entry(name))
            with TemporaryDirectory(
                dir=settings.home_dir, prefix=".restoring-", ignore_cleanup_errors=True
            ) as staging:
                for path, entry in manifest.files.items():
                    on_file(path)
                    _extract(archive, path, entry, Path(staging, path))
                _load(engine, archive, manifest, Path(staging))
        finally:
            engine.dispose()
        return manifest


def _load(database: Database, archive: zipfile.ZipFile, manifest: BackupManifest, staging: Path) -> None:
    with writing(database) as connection:
        upgrade(connection, manifest.schema_revision)
        for name, table in manifest.tables.items():
            with archive.open(table_entry(name)) as rows:
                num_rows = load_rows(connection, name, rows)
            if num_rows != table.num_rows:
                raise DataError(
                    f"The number of rows of {name} does not match the manifest.",
                    next_step="Use another copy of it, or another backup.",
                )
        finish_loading(connection)
        upgrade(connection, "head")
        # Within the transaction: if a file cannot be moved into place, no row is committed either.
        for path in staging.iterdir():
            path.rename(staging.parent / path.name)


def _refuse_used_home(home: Path) -> None:
    database = {f"{_DATABASE_FILE}{suffix}" for suffix in ("", "-wal", "-shm")}
    found = [path for path in home.iterdir() if path.name not in database] if home.exists() else []
    if used := [path for path in found if path.is_file() or any(path.iterdir())]:
        raise ConflictError(
            f"The home directory {home} is not empty: it has {min(used).name}.",
            next_step="Restore into an empty one: add --home DIR, or set TUNIX_RT_HOME.",
        )


def _refuse_used_database(database: Database, manifest: BackupManifest) -> None:
    used = first_table_with_rows(database)
    if not has_tables(database) or (used is None and manifest.schema_revision == SCHEMA_HEAD):
        return
    reason = f"has rows in {used}" if used else "has tables, and the backup is of an older schema"
    raise ConflictError(
        f"The database {reason}.",
        next_step="Restore into an empty one: --home DIR with SQLite, TUNIX_RT_DATABASE_URL with PostgreSQL.",
    )
