"""The use case behind `tunix-rt restore`: a backup becomes a home directory and a database again."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tunix_rt.base.db.engine import Database, open_engine, writing
from tunix_rt.base.db.migrate import upgrade
from tunix_rt.base.db.schema import SCHEMA_HEAD
from tunix_rt.base.errors import ConflictError, DataError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.settings import Settings
from tunix_rt.core.backup import BackupManifest
from tunix_rt.db.dump import finish_loading, first_table_with_rows, has_tables, load_rows
from tunix_rt.files.archive import ArchiveReader, open_archive

OnFile = Callable[[str], None]

_DATABASE_FILES = ("tunix_rt.db", "tunix_rt.db-wal", "tunix_rt.db-shm")


def restore_backup(
    settings: Settings, source: Path, *, on_file: OnFile = lambda _path: None
) -> BackupManifest:
    """Put a backup into the home and the database of `settings`, both of which must be empty.

    Every hash is checked before anything counts: the files wait in a directory of their own, the rows in one
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
                    f"The backup has another number of rows in {name} than it says.",
                    next_step="Take another copy of it, or another backup.",
                )
        finish_loading(connection)
        upgrade(connection, "head")
        # Within the transaction: if a file cannot be put in its place, no row counts either.
        for path in staging.iterdir():
            path.rename(home / path.name)


@contextmanager
def _staged(home: Path) -> Iterator[Path]:
    """A directory beside where the files will go, which is gone at the end."""
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
