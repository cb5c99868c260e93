"""What a model's directory holds: every path with its size and hash. Its own hash names the whole."""

import hashlib
import json
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field

from tunix_rt.base.records import Count, Record

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _inner_path(path: str) -> str:
    """Refuse what could lead out of a directory, whoever wrote it."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\x00" in path:
        raise ValueError(f"{path!r} is no path inside a directory")
    return path


InnerPath = Annotated[str, AfterValidator(_inner_path)]
"""A path that stays inside the directory it is joined to."""


class ModelFile(Record):
    """One file of a model."""

    path: InnerPath
    """Inside the model's directory, with `/` between its parts."""
    size_bytes: Count
    sha256: Sha256


class ModelTree(Record):
    """All files of a model, by path."""

    files: tuple[ModelFile, ...]

    @property
    def content_hash(self) -> str:
        """SHA-256 over paths, sizes and hashes: two models with the same hash are the same to the bit."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @property
    def canonical(self) -> str:
        """The one text of the tree: what is hashed and stored."""
        return _CANONICAL.encode(self.model_dump())

    @property
    def size_bytes(self) -> int:
        """Of all files."""
        return sum(file.size_bytes for file in self.files)


def tree_of(files: list[ModelFile]) -> ModelTree:
    """The tree of these files, in the order that the hash is defined over."""
    return ModelTree(files=tuple(sorted(files, key=lambda file: file.path)))
