"""Content-addressed storage of model files, with garbage collection.

models/blobs/ab/<sha256>             the bytes of a file; immutable
models/trees/<content_hash>.json     the paths, sizes and hashes of a model
models/checkouts/<content_hash>/…    a model as a directory: links to its blobs
models/incoming/                     files being written; leftovers of a killed process are garbage

Adding files takes a shared lock, removing them an exclusive one. A blob whose version is not in the database
yet is therefore never collected as garbage.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tunix_rt.base.errors import DataError, InvalidInputError
from tunix_rt.base.files.atomic import storage_errors, sync_directory, write_atomically
from tunix_rt.base.files.copies import copy_file, file_digest, link_file
from tunix_rt.models.types import ModelFile, ModelTree, build_tree

_READ_ONLY = 0o444


class ModelStore:
    """The files of the registry."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = root / "blobs"
        self.trees = root / "trees"
        self.checkouts = root / "checkouts"
        self.incoming = root / "incoming"

    def blob(self, sha256: str) -> Path:
        """Path of the blob with this hash, whether or not it exists."""
        return self.blobs / sha256[:2] / sha256

    def shared_lock(self) -> AbstractContextManager[None]:
        """Protect added files from garbage collection until their version is in the database."""
        return self._locked(fcntl.LOCK_SH)

    def exclusive_lock(self) -> AbstractContextManager[None]:
        """Wait until no process adds files, and block those that want to."""
        return self._locked(fcntl.LOCK_EX)

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        with storage_errors("opening the model store"):
            self.incoming.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, how)
            yield
        finally:
            os.close(descriptor)

    def add(self, directory: Path) -> ModelTree:
        """Copy every file of the directory. Requires the shared lock.

        Raises:
            InvalidInputError: The directory has no files.
            DataError: A file changed while it was read.
        """
        paths = sorted(_iter_files(directory))
        if not paths:
            raise InvalidInputError(
                f"There are no files in {directory}.", next_step="Name the directory of a model."
            )
        with storage_errors("registering the model"):
            tree = build_tree([self._add_file(directory, path) for path in paths])
        with write_atomically(self._tree_path(tree.content_hash), what="registering the model") as file:
            file.write(tree.canonical.encode())
        return tree

    def _add_file(self, directory: Path, path: Path) -> ModelFile:
        digest = file_digest(path)
        blob = self.blob(digest)
        # A damaged blob is replaced: registering again repairs the store.
        if not (blob.is_file() and file_digest(blob) == digest):
            self._write_blob(path, blob)
        name = path.relative_to(directory).as_posix()
        return ModelFile(path=name, size_bytes=blob.stat().st_size, sha256=digest)

    def _write_blob(self, source: Path, blob: Path) -> None:
        blob.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.incoming, delete=False) as file:
            temporary = Path(file.name)
            try:
                copy_file(source, file)
                file.flush()
                os.fsync(file.fileno())
                if file_digest(temporary) != blob.name:
                    raise DataError(
                        f"{source} changed while it was being registered.",
                        next_step="Wait until nothing writes it any more, then register it again.",
                    )
                os.chmod(temporary, _READ_ONLY)
                os.replace(temporary, blob)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        sync_directory(blob.parent)

    def tree(self, content_hash: str) -> ModelTree:
        """The tree with this hash.

        Raises:
            DataError: It is missing or damaged.
        """
        path = self._tree_path(content_hash)
        try:
            tree = ModelTree.model_validate_json(path.read_bytes())
        except FileNotFoundError as error:
            raise _damaged(path, "is missing") from error
        except ValidationError as error:
            raise _damaged(path, "cannot be read") from error
        if tree.content_hash != content_hash:
            raise _damaged(path, "is not what was registered")
        return tree

    def require_blobs(self, tree: ModelTree) -> None:
        """Refuse a tree with a missing file or a wrong size, without reading any file."""
        for file in tree.files:
            blob = self.blob(file.sha256)
            if not blob.is_file() or blob.stat().st_size != file.size_bytes:
                raise _damaged(blob, f"({file.path}) is missing or has another size")

    def problems(self, tree: ModelTree) -> list[str]:
        """Read every file of a tree completely and list the problems."""
        return [
            f"{file.path}: {problem}"
            for file in tree.files
            if (problem := _problem(self.blob(file.sha256), file)) is not None
        ]

    def checkout(self, content_hash: str) -> Path:
        """The model as a read-only directory, with every byte verified.

        Raises:
            DataError: A file is missing or differs from what was registered.
        """
        tree = self.tree(content_hash)
        directory = self.checkouts / content_hash
        with self.shared_lock(), storage_errors("opening the registered model"):
            for file in tree.files:
                self._link_or_copy(file, directory / file.path)
        expected = {directory / file.path: file for file in tree.files}
        for path in _iter_files(directory):
            if path not in expected:
                raise _damaged(path, "does not belong to the model")
        for path, file in expected.items():
            if _problem(path, file) is None:
                continue
            # If only the checkout is damaged, its blob restores it.
            with self.shared_lock(), storage_errors("opening the registered model"):
                path.unlink(missing_ok=True)
                self._link_or_copy(file, path)
            if (problem := _problem(path, file)) is not None:
                raise _damaged(path, problem)
        return directory

    def _link_or_copy(self, file: ModelFile, target: Path) -> None:
        blob = self.blob(file.sha256)
        if target.exists():
            return
        if not blob.is_file():
            raise _damaged(blob, f"({file.path}) is missing")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not link_file(blob, target):
            with write_atomically(target, what="opening the registered model") as copy:
                copy_file(blob, copy)

    def _tree_path(self, content_hash: str) -> Path:
        return self.trees / f"{content_hash}.json"


def _iter_files(directory: Path) -> Iterator[Path]:
    """Every file below the directory, except hidden files and folders."""
    for folder, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(folder) / name
            if not name.startswith(".") and path.is_file():
                yield path


def _problem(path: Path, file: ModelFile) -> str | None:
    if not path.is_file():
        return "is missing"
    if path.stat().st_size != file.size_bytes:
        return f"has {path.stat().st_size:,} bytes instead of {file.size_bytes:,}"
    return None if file_digest(path) == file.sha256 else "is not what was registered: its hash differs"


def _damaged(path: Path, problem: str) -> DataError:
    return DataError(
        f"The model store is damaged: {path} {problem}.",
        next_step="Register the same model again to restore its files, or restore them from a backup.",
    )


@dataclass(frozen=True)
class RemovedFiles:
    """What the garbage collection removed."""

    num_blobs: int
    num_bytes: int


def remove_garbage(store: ModelStore, content_hashes: Iterable[str]) -> RemovedFiles:
    """Remove every file that no model with one of these hashes needs. Requires the exclusive lock.

    Raises:
        DataError: The tree of such a model is missing or damaged; nothing is removed.
    """
    trees = {content_hash: store.tree(content_hash) for content_hash in set(content_hashes)}
    needed = {file.sha256 for tree in trees.values() for file in tree.files}
    with storage_errors("removing unused model files"):
        for path in store.checkouts.glob("*"):
            if path.name not in trees:
                shutil.rmtree(path)
        for path in store.trees.glob("*"):
            if path.stem not in trees:
                path.unlink()
        for path in store.incoming.glob("*"):
            path.unlink() if path.is_file() else shutil.rmtree(path)
        unneeded = [blob for blob in store.blobs.glob("*/*") if blob.name not in needed]
        num_bytes = sum(blob.stat().st_size for blob in unneeded)
        for blob in unneeded:
            blob.unlink()
    return RemovedFiles(len(unneeded), num_bytes)
