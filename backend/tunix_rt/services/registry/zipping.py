"""A registered version as one zip file, made while it is sent: memory does not grow with the model."""

import hashlib
import zipfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tunix_rt.base.errors import DataError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.files.copies import PIECE_BYTES, stream_digest, zip_pieces
from tunix_rt.base.home import Home
from tunix_rt.core.models.tree import ModelFile, ModelTree, tree_of
from tunix_rt.core.models.version import ModelVersion
from tunix_rt.files.model_store import ModelStore
from tunix_rt.services.registry.cards import card_of
from tunix_rt.services.registry.registering import model_store

CARD_FILE = "README.md"
OTHER_CARD_FILE = "TUNIX_RT_CARD.md"
"""Where a model brings a card of its own."""


def zip_chunks(home: Home, version: ModelVersion) -> Iterator[bytes]:
    """The pieces of the archive: every file of the version, and its card.

    Raises:
        DataError: At once when a file is missing or has another size; before the end of the archive when one
            has other bytes. An archive that has an end is whole.
    """
    files = model_store(home.settings)
    tree = files.tree(version.content_hash)
    files.require_blobs(tree)
    return _pieces(files, tree, card_of(home, version))


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
    entries = ((file.path, _checked_chunks(files, file)) for file in tree.files)
    return zip_pieces(chain([(card_name(tree), [card.encode()])], entries))


def _checked_chunks(files: ModelStore, file: ModelFile) -> Iterator[bytes]:
    digest = hashlib.sha256()
    with files.blob(file.sha256).open("rb") as blob:
        while chunk := blob.read(PIECE_BYTES):
            digest.update(chunk)
            yield chunk
    if digest.hexdigest() != file.sha256:
        raise DataError(
            f"The model store is damaged: {file.path} is not what was registered.",
            next_step="Register the same model again, or restore the store from a backup.",
        )
