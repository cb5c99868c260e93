"""The dataset directory: built in a temporary directory, renamed into place, read with path checks.

datasets/<key>/train.jsonl  validation.jsonl …   one canonical trace per line, in trace id order
datasets/<key>/README.md                         the dataset card
datasets/<key>/manifest.json                     written last
"""

import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import IO
from uuid import uuid4

from pydantic import ValidationError

from tunix_rt.base.assets import shipped_dataset_names
from tunix_rt.base.errors import DataError, NotFoundError
from tunix_rt.base.files.atomic import storage_errors, sync_directory
from tunix_rt.base.records import explain_validation_error
from tunix_rt.datasets.types import DatasetManifest, checked_key, checked_split

MANIFEST_FILE = "manifest.json"
CARD_FILE = "README.md"
_DELETING_PREFIX = ".deleting-"


def dataset_dir(datasets_dir: Path, key: str) -> Path:
    """The directory of the dataset with this key, never a path outside `datasets_dir`."""
    path = datasets_dir / checked_key(key)
    if path.is_symlink() or not path.resolve().is_relative_to(datasets_dir.resolve()):
        raise DataError(
            f"The dataset directory {key!r} is a link to another location.",
            next_step="Replace the link with a real directory, or delete it.",
        )
    return path


def dataset_exists(datasets_dir: Path, key: str) -> bool:
    """Whether a complete dataset with this key exists."""
    return (dataset_dir(datasets_dir, key) / MANIFEST_FILE).is_file()


def dataset_keys(datasets_dir: Path) -> list[str]:
    """The keys of all complete datasets, sorted."""
    if not datasets_dir.is_dir():
        return []
    return sorted(
        path.name
        for path in datasets_dir.iterdir()
        if not path.name.startswith(".") and not path.is_symlink() and (path / MANIFEST_FILE).is_file()
    )


def read_manifest(datasets_dir: Path, key: str) -> DatasetManifest:
    """The manifest of a dataset. NotFoundError if there is none, DataError if it is damaged."""
    path = dataset_dir(datasets_dir, key) / MANIFEST_FILE
    if not path.is_file():
        raise _no_dataset(datasets_dir, key)
    try:
        manifest = DatasetManifest.model_validate_json(_read_file(path))
    except ValidationError as error:
        raise _bad_manifest(key, explain_validation_error(error)) from error
    if manifest.dataset_key != key:
        raise _bad_manifest(key, f"it belongs to {manifest.dataset_key!r}")
    return manifest


def read_card(datasets_dir: Path, key: str) -> str:
    """The dataset card, as Markdown."""
    return _read_file(dataset_dir(datasets_dir, key) / CARD_FILE).decode("utf-8", errors="replace")


def iter_lines(datasets_dir: Path, key: str, split: str) -> Iterator[str]:
    """The rows of a split as JSON texts, in trace id order."""
    path = split_path(datasets_dir, key, split)
    with open(_open_without_links(path), "rb") as file:
        for line in file:
            # A damaged byte decodes to text that fails validation, so that checks can name the row.
            yield line.decode("utf-8", errors="replace").rstrip("\n")


def split_path(datasets_dir: Path, key: str, split: str) -> Path:
    """The file of a split."""
    return dataset_dir(datasets_dir, key) / f"{checked_split(split)}.jsonl"


def file_sha256(path: Path) -> str:
    """The SHA-256 of a dataset file; links are rejected."""
    with open(_open_without_links(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def delete_dataset_dir(datasets_dir: Path, key: str) -> None:
    """Delete a dataset: one atomic rename, then the files."""
    deleting = datasets_dir / f"{_DELETING_PREFIX}{uuid4().hex}"
    with storage_errors(f"deleting the dataset {key}"):
        try:
            dataset_dir(datasets_dir, key).rename(deleting)
        except FileNotFoundError as error:
            raise _no_dataset(datasets_dir, key) from error
        sync_directory(datasets_dir)
        # A build that starts now may remove these files first.
        with suppress(FileNotFoundError):
            shutil.rmtree(deleting)


def _no_dataset(datasets_dir: Path, key: str) -> NotFoundError:
    close = get_close_matches(key, {*dataset_keys(datasets_dir), *shipped_dataset_names()}, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    return NotFoundError(
        f"There is no dataset {key!r}.",
        next_step=f"{hint}Run `tunix-rt data list` for the keys, or `tunix-rt data build` to build one.",
    )


def _bad_manifest(key: str, problem: str) -> DataError:
    return DataError(
        f"The manifest of {key!r} is damaged: {problem}.",
        next_step=f"Delete the dataset ('tunix-rt data delete {key}') and build it again.",
    )


def _read_file(path: Path) -> bytes:
    with open(_open_without_links(path), "rb") as file:
        return file.read()


def _open_without_links(path: Path) -> int:
    """Open a file of a dataset directory without following links."""
    try:
        return os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOENT):
            raise
        problem = "missing" if error.errno == errno.ENOENT else "a link to another location"
        raise DataError(
            f"The file {path.parent.name}/{path.name} is {problem}.",
            next_step=f"Delete the dataset ('tunix-rt data delete {path.parent.name}') and build it again.",
        ) from error


_BUILDING_PREFIX = ".building-"
_LOCK_FILE = ".build.lock"


class RowSpool:
    """The considered rows in a temporary file, so that only their facts are in memory."""

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
    """Writes and hashes the rows of one split."""

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
        """Sync and close the file; returns its SHA-256."""
        _sync(self._file)
        self.close()
        return self._digest.hexdigest()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class DatasetBuild:
    """The directory of one build. Nothing in it is visible under the key before `publish`."""

    def __init__(self, datasets_dir: Path, key: str, directory: Path) -> None:
        self._datasets_dir = datasets_dir
        self._key = key
        self._directory = directory
        self._open_files = ExitStack()

    def spool(self) -> RowSpool:
        """A spool for the considered rows."""
        return self._open_files.enter_context(closing(RowSpool(self._directory)))

    def split(self, name: str) -> SplitWriter:
        """The writer of a split's file."""
        return self._open_files.enter_context(closing(SplitWriter(self._directory, name)))

    def write(self, name: str, text: str) -> str:
        """Write a file; returns its SHA-256."""
        data = text.encode("utf-8")
        with (self._directory / name).open("wb") as file:
            file.write(data)
            _sync(file)
        return hashlib.sha256(data).hexdigest()

    def publish(self, manifest: DatasetManifest) -> bool:
        """Publish the dataset atomically. False if the key exists; the existing dataset is not changed."""
        self.write(MANIFEST_FILE, manifest.model_dump_json(indent=2, exclude_none=True) + "\n")
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
        """Close and remove all unpublished files."""
        # On a full disk, the last buffer of a file cannot be flushed; the file is removed anyway.
        with suppress(OSError):
            self._open_files.close()
        shutil.rmtree(self._directory, ignore_errors=True)


@contextmanager
def open_build(datasets_dir: Path, key: str) -> Iterator[DatasetBuild]:
    """A build directory next to the final path, removed at the end unless published."""
    with storage_errors(f"writing the dataset {key}"):
        datasets_dir.mkdir(parents=True, exist_ok=True)
        with _build_lock(datasets_dir):
            directory = Path(tempfile.mkdtemp(dir=datasets_dir, prefix=f"{_BUILDING_PREFIX}{key[:64]}-"))
            build = DatasetBuild(datasets_dir, key, directory)
            try:
                yield build
            finally:
                build.discard()


@contextmanager
def _build_lock(datasets_dir: Path) -> Iterator[None]:
    """Hold the shared lock of running builds; the first one removes leftovers of killed builds.

    The kernel releases the lock of a killed process.
    """
    with (datasets_dir / _LOCK_FILE).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass  # another build is running: keep its directory
        else:
            # Nothing else holds the lock, so these are of killed builds and deletions.
            for prefix in (_BUILDING_PREFIX, _DELETING_PREFIX):
                for leftover in datasets_dir.glob(f"{prefix}*"):
                    shutil.rmtree(leftover, ignore_errors=True)
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
