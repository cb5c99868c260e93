"""A registered version as one zip file, made while it is sent: memory does not grow with the model."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tunix_rt.core.errors import DataError
from tunix_rt.core.models.tree import ModelFile, ModelTree, tree_of
from tunix_rt.core.models.version import ModelVersion
from tunix_rt.files.atomic import storage_errors
from tunix_rt.files.file_copies import stream_digest
from tunix_rt.files.model_store import ModelStore
from tunix_rt.services.registry.cards import card_of
from tunix_rt.services.registry.registering import model_store
from tunix_rt.services.store import Store

CARD_FILE = "README.md"
OTHER_CARD_FILE = "TUNIX_RT_CARD.md"
"""Where a model brings a card of its own."""
_CHUNK_BYTES = 1 << 20
# Every archive of one version is the same, whenever it is made.
_TIME = (1980, 1, 1, 0, 0, 0)


def zip_chunks(store: Store, version: ModelVersion) -> Iterator[bytes]:
    """The pieces of the archive: every file of the version, and its card.

    Raises:
        DataError: At once when a file is missing or has another size; before the end of the archive when one
            has other bytes. An archive that has an end is whole.
    """
    files = model_store(store.settings)
    tree = files.tree(version.content_hash)
    files.require_blobs(tree)
    return _pieces(files, tree, card_of(store, version))


def card_name(tree: ModelTree) -> str:
    """The name of the card beside the model's own files."""
    return OTHER_CARD_FILE if any(file.path == CARD_FILE for file in tree.files) else CARD_FILE


def archived_tree(path: Path, tree: ModelTree) -> ModelTree:
    """What an archive of `tree` really holds besides the card, read back from the disk."""
    found = []
    with storage_errors("reading the archive"), zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if entry.filename != card_name(tree):
                with archive.open(entry) as file:
                    digest = stream_digest(file)
                found.append(ModelFile(path=entry.filename, size_bytes=entry.file_size, sha256=digest))
    return tree_of(found)


def _pieces(files: ModelStore, tree: ModelTree, card: str) -> Iterator[bytes]:
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry(card_name(tree)), card)
        yield sink.take()
        for file in tree.files:
            # Sizes beyond 4 GiB must be announced before the first byte.
            with archive.open(_entry(file.path), "w", force_zip64=True) as entry:
                for chunk in _checked_chunks(files, file):
                    entry.write(chunk)
                    yield sink.take()
    yield sink.take()


def _entry(path: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(path, _TIME)
    info.external_attr = 0o644 << 16
    return info


def _checked_chunks(files: ModelStore, file: ModelFile) -> Iterator[bytes]:
    digest = hashlib.sha256()
    with files.blob(file.sha256).open("rb") as blob:
        while chunk := blob.read(_CHUNK_BYTES):
            digest.update(chunk)
            yield chunk
    if digest.hexdigest() != file.sha256:
        raise DataError(
            f"The model store is damaged: {file.path} is not what was registered.",
            next_step="Register the same model again, or restore the store from a backup.",
        )


class _Sink(io.RawIOBase):
    """A file that cannot be rewound: what is written is taken away piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """What was written since the last time."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken
