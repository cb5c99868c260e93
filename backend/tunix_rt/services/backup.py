"""The use case behind `tunix-rt backup`: the database and the home directory in one file."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from tunix_rt import __version__
from tunix_rt.base.db.schema import SCHEMA_HEAD
from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.files.atomic import storage_errors, write_atomically
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.core.backup import ArchivedFile, ArchivedTable, BackupManifest
from tunix_rt.db.dump import DUMPED, dump_rows, snapshot
from tunix_rt.files.archive import ArchiveWriter, file_entry, read_up_to, table_entry

OnFile = Callable[[str], None]

_PRIVATE = 0o600
_DATABASE_FILE = "tunix_rt.db"
_MADE_AGAIN = frozenset({"models/checkouts", "models/incoming", "hub"})
"""Links to what is elsewhere in the home, what is not whole, and what the hub gives out again."""


def make_backup(
    store: Home, target: Path, *, with_checkpoints: bool, on_file: OnFile = lambda _path: None
) -> BackupManifest:
    """Write everything that is kept into `target`, whole or not at all. Servers and workers may go on.

    The database comes first, as it is at one moment: whatever it refers to is on the disk by then.

    Raises:
        InvalidInputError: `target` is in the home directory.
        StorageError: The disk is full, or the database does not answer.
    """
    if target.absolute().resolve().is_relative_to(store.settings.home_dir):
        raise InvalidInputError(
            f"{target} is in the home directory, which is what is backed up.",
            next_step="Write the backup elsewhere, best onto another disk.",
        )
    with write_atomically(target, what="writing the backup", mode=_PRIVATE) as file:
        archive = ArchiveWriter(file)
        manifest = BackupManifest(
            created_at=datetime.now(UTC),
            tunix_rt_version=__version__,
            schema_revision=SCHEMA_HEAD,
            database=store.database.dialect.name,
            has_checkpoints=with_checkpoints,
            tables=_add_tables(archive, store),
            files=_add_files(archive, store.settings, with_checkpoints, on_file),
        )
        archive.finish(manifest)
    return manifest


def _add_tables(archive: ArchiveWriter, store: Home) -> dict[str, ArchivedTable]:
    added = {}
    with snapshot(store.database) as connection:
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
    for path in _kept_files(settings.home_dir, with_checkpoints):
        on_file(path)
        with storage_errors(f"reading {path}"):
            try:
                file = (settings.home_dir / path).open("rb")
            except FileNotFoundError:
                continue  # somebody has removed it meanwhile
            with file:
                status = os.fstat(file.fileno())
                entry = archive.add(file_entry(path), read_up_to(file, status.st_size))
        added[path] = entry.model_copy(update={"is_read_only": not status.st_mode & 0o200})
    return added


def _kept_files(home: Path, with_checkpoints: bool) -> Iterator[str]:
    """The paths in the home of what a backup holds, sorted; locks and what is being written are left out."""
    for directory, subdirectories, names in os.walk(home):
        here = Path(directory).relative_to(home)
        subdirectories[:] = sorted(
            name for name in subdirectories if _is_kept_directory(here / name, with_checkpoints)
        )
        yield from ((here / name).as_posix() for name in sorted(names) if _is_kept_file(home, here / name))


def _is_kept_file(home: Path, path: Path) -> bool:
    is_database = len(path.parts) == 1 and path.name.startswith(_DATABASE_FILE)
    # Neither sockets nor links: what they lead to is not the home's.
    is_plain = (home / path).is_file() and not (home / path).is_symlink()
    return is_plain and not (is_database or path.name.startswith("."))


def _is_kept_directory(path: Path, with_checkpoints: bool) -> bool:
    is_unfinished = path.name.startswith(".") or ".tmp-" in path.name
    is_checkpoints = path.match("runs/*/checkpoints") and len(path.parts) == 3
    return not (is_unfinished or path.as_posix() in _MADE_AGAIN or (is_checkpoints and not with_checkpoints))
