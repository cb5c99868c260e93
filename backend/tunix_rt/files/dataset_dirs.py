"""Dataset directories: built aside, renamed into place whole, read with every path checked.

datasets/<key>/train.jsonl  validation.jsonl …   one canonical trace a line, in trace id order
datasets/<key>/README.md                         the dataset card
datasets/<key>/manifest.json                     written last
"""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from pydantic import ValidationError

from tunix_rt.base.errors import DataError, NotFoundError
from tunix_rt.base.files.atomic import storage_errors, sync_directory
from tunix_rt.base.records import explain_validation_error
from tunix_rt.core.dataset import DatasetManifest
from tunix_rt.core.dataset_spec import checked_key, checked_split

MANIFEST_FILE = "manifest.json"
CARD_FILE = "README.md"
_CHUNK_BYTES = 1 << 20
_LEAVING_PREFIX = ".deleting-"


def dataset_dir(datasets_dir: Path, key: str) -> Path:
    """Where the dataset of that key is or would be; never a path outside `datasets_dir`."""
    path = datasets_dir / checked_key(key)
    if path.is_symlink() or not path.resolve().is_relative_to(datasets_dir.resolve()):
        raise DataError(
            f"The dataset directory {key!r} is a link that leads elsewhere.",
            next_step="Replace the link by a real directory, or delete it.",
        )
    return path


def dataset_exists(datasets_dir: Path, key: str) -> bool:
    """Whether a complete dataset of that key is there."""
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
    """The manifest of a dataset. NotFoundError if there is none, DataError if it is not one."""
    path = dataset_dir(datasets_dir, key) / MANIFEST_FILE
    if not path.is_file():
        raise _no_dataset(key)
    try:
        manifest = DatasetManifest.model_validate_json(_read_own_file(path))
    except ValidationError as error:
        raise _bad_manifest(key, explain_validation_error(error)) from error
    if manifest.dataset_key != key:
        raise _bad_manifest(key, f"it belongs to {manifest.dataset_key!r}")
    return manifest


def read_card(datasets_dir: Path, key: str) -> str:
    """The dataset card, as Markdown."""
    return _read_own_file(dataset_dir(datasets_dir, key) / CARD_FILE).decode("utf-8", errors="replace")


def iter_lines(datasets_dir: Path, key: str, split: str) -> Iterator[str]:
    """The rows of a split as JSON texts, in trace id order."""
    path = split_path(datasets_dir, key, split)
    with open(_open_own_file(path), "rb") as file:
        for line in file:
            # A damaged byte becomes text that no trace and no hash accepts; checks then name the row.
            yield line.decode("utf-8", errors="replace").rstrip("\n")


def split_path(datasets_dir: Path, key: str, split: str) -> Path:
    """The file of a split."""
    return dataset_dir(datasets_dir, key) / f"{checked_split(split)}.jsonl"


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file of ours; a link is refused."""
    digest = hashlib.sha256()
    with open(_open_own_file(path), "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def delete_dataset_dir(datasets_dir: Path, key: str) -> None:
    """Remove a dataset. It disappears in one rename; the files follow."""
    leaving = datasets_dir / f"{_LEAVING_PREFIX}{uuid4().hex}"
    with storage_errors(f"deleting the dataset {key}"):
        try:
            dataset_dir(datasets_dir, key).rename(leaving)
        except FileNotFoundError as error:
            raise _no_dataset(key) from error
        sync_directory(datasets_dir)
        # A build that starts now removes the remains too: whoever comes second finds nothing.
        with suppress(FileNotFoundError):
            shutil.rmtree(leaving)


def remove_half_deleted(datasets_dir: Path) -> None:
    """Finish deletions that a killed process left behind."""
    for path in datasets_dir.glob(f"{_LEAVING_PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)


def _no_dataset(key: str) -> NotFoundError:
    return NotFoundError(
        f"There is no dataset {key!r}.",
        next_step="Run `tunix-rt data list` for the keys, or `tunix-rt data build` to make one.",
    )


def _bad_manifest(key: str, problem: str) -> DataError:
    return DataError(
        f"The manifest of {key!r} is damaged: {problem}.",
        next_step=f"Delete the dataset ('tunix-rt data delete {key}') and build it again.",
    )


def _read_own_file(path: Path) -> bytes:
    with open(_open_own_file(path), "rb") as file:
        return file.read()


def _open_own_file(path: Path) -> int:
    """Open a file of a dataset directory, and never what a link planted there points to."""
    try:
        return os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOENT):
            raise
        problem = "missing" if error.errno == errno.ENOENT else "a link that leads elsewhere"
        raise DataError(
            f"The file {path.parent.name}/{path.name} is {problem}.",
            next_step=f"Delete the dataset ('tunix-rt data delete {path.parent.name}') and build it again.",
        ) from error
