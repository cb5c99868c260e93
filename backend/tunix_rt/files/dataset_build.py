"""A dataset directory under construction: invisible until it is complete, cleaned up if the builder dies."""

import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

from tunix_rt.base.files.atomic import storage_errors, sync_directory
from tunix_rt.core.dataset import DatasetManifest
from tunix_rt.core.dataset_spec import checked_split
from tunix_rt.files.dataset_dirs import CARD_FILE, MANIFEST_FILE, dataset_dir, remove_half_deleted

_BUILDING_PREFIX = ".building-"
_LOCK_FILE = ".build.lock"


class RowSpool:
    """The considered rows on disk, so that memory holds their facts only; gone when closed or killed."""

    def __init__(self, directory: Path) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=directory)
        self._ends = array("Q", [0])

    def append(self, row: str) -> None:
        """Add a row; its index is the number of rows before it."""
        data = row.encode("utf-8")
        self._file.write(data)
        self._ends.append(self._ends[-1] + len(data))

    def __getitem__(self, index: int) -> bytes:
        start, end = self._ends[index], self._ends[index + 1]
        self._file.seek(start)
        return self._file.read(end - start)

    def close(self) -> None:
        """Free the disk space."""
        self._file.close()


class SplitWriter:
    """Writes the rows of one split and hashes them on the way."""

    def __init__(self, directory: Path, split: str) -> None:
        self._file = (directory / f"{checked_split(split)}.jsonl").open("wb")
        self._digest = hashlib.sha256()
        self.num_bytes = 0

    def write(self, row: bytes) -> None:
        """Add one line."""
        line = row + b"\n"
        self._file.write(line)
        self._digest.update(line)
        self.num_bytes += len(line)

    def finish(self) -> str:
        """Put the file on the disk; its SHA-256."""
        _sync(self._file)
        self.close()
        return self._digest.hexdigest()

    def close(self) -> None:
        """Stop writing."""
        self._file.close()


_File = TypeVar("_File", RowSpool, SplitWriter)


class DatasetBuild:
    """The directory of one build. Nothing in it is visible under the key before `publish`."""

    def __init__(self, datasets_dir: Path, key: str, directory: Path) -> None:
        self._datasets_dir = datasets_dir
        self._key = key
        self._directory = directory
        self._open: list[RowSpool | SplitWriter] = []

    def spool(self) -> RowSpool:
        """A place for rows that are only considered."""
        return self._remember(RowSpool(self._directory))

    def split(self, name: str) -> SplitWriter:
        """The writer of a split's file."""
        return self._remember(SplitWriter(self._directory, name))

    def write_card(self, text: str) -> str:
        """Write the dataset card; its SHA-256."""
        return self._write(CARD_FILE, text)

    def publish(self, manifest: DatasetManifest) -> bool:
        """Make the dataset visible, whole. False: something of this key is there and was not touched."""
        self._write(MANIFEST_FILE, manifest.model_dump_json(indent=2, exclude_none=True) + "\n")
        sync_directory(self._directory)
        os.chmod(self._directory, 0o755)
        try:
            self._directory.rename(dataset_dir(self._datasets_dir, self._key))
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                return False
            raise
        sync_directory(self._datasets_dir)
        return True

    def discard(self) -> None:
        """Close and remove everything that was not published."""
        for file in self._open:
            # After a full disk the last buffer cannot be written; the file goes anyway.
            with suppress(OSError):
                file.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _remember(self, file: _File) -> _File:
        self._open.append(file)
        return file

    def _write(self, name: str, text: str) -> str:
        data = text.encode("utf-8")
        with (self._directory / name).open("wb") as file:
            file.write(data)
            _sync(file)
        return hashlib.sha256(data).hexdigest()


@contextmanager
def open_build(datasets_dir: Path, key: str) -> Iterator[DatasetBuild]:
    """A fresh build directory beside the final place; removed at the end unless published."""
    with storage_errors(f"writing the dataset {key}"):
        datasets_dir.mkdir(parents=True, exist_ok=True)
        with _builders_lock(datasets_dir):
            directory = Path(tempfile.mkdtemp(dir=datasets_dir, prefix=f"{_BUILDING_PREFIX}{key[:64]}-"))
            build = DatasetBuild(datasets_dir, key, directory)
            try:
                yield build
            finally:
                build.discard()


@contextmanager
def _builders_lock(datasets_dir: Path) -> Iterator[None]:
    """Hold the shared lock of living builders; whoever is alone first removes what dead ones left.

    The kernel drops a lock with its process, so a killed builder can't hold one.
    """
    with (datasets_dir / _LOCK_FILE).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass  # somebody is building: their directory must stay
        else:
            remove_leftovers(datasets_dir)
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def remove_leftovers(datasets_dir: Path) -> None:
    """Delete what killed builds and deletions left; only for who holds the exclusive lock."""
    for path in datasets_dir.glob(f"{_BUILDING_PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)
    remove_half_deleted(datasets_dir)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
