"""What no registered version needs is removed from the model store."""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.files.model_store import ModelStore


@dataclass(frozen=True)
class Removed:
    """What there was too much of."""

    num_blobs: int
    num_bytes: int


def remove_garbage(store: ModelStore, kept: Iterable[str]) -> Removed:
    """Remove every file that these content hashes do not need. Call it while the store is yours `alone`.

    Raises:
        DataError: The tree of a kept model is missing or damaged: nothing is removed.
    """
    trees = {content_hash: store.tree(content_hash) for content_hash in set(kept)}
    needed = {file.sha256 for tree in trees.values() for file in tree.files}
    with storage_errors("removing what no model needs"):
        for path in _children(store.checkouts):
            if path.name not in trees:
                shutil.rmtree(path)
        for path in _children(store.trees):
            if path.stem not in trees:
                path.unlink()
        for path in _children(store.incoming):
            path.unlink() if path.is_file() else shutil.rmtree(path)
        unneeded = [blob for blob in store.blobs.glob("*/*") if blob.name not in needed]
        num_bytes = sum(blob.stat().st_size for blob in unneeded)
        for blob in unneeded:
            blob.unlink()
    return Removed(len(unneeded), num_bytes)


def _children(directory: Path) -> Iterator[Path]:
    return iter(sorted(directory.iterdir()) if directory.is_dir() else [])
