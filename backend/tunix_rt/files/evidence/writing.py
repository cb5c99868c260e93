"""A bundle that is being packed: files are copied, hashed and listed; the list and the sums come last."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.files.copies import PIECE_BYTES, Entry, copy_file, file_digest
from tunix_rt.core.evidence.contents import kind_of
from tunix_rt.core.evidence.manifest import (
    EVIDENCE_FILE,
    SUMS_FILE,
    EvidenceFile,
    EvidenceManifest,
    sums_text,
)

_WHAT = "packing the evidence"


class BundleWriter:
    """Fills an empty directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._files: dict[str, EvidenceFile] = {}

    @property
    def files(self) -> tuple[EvidenceFile, ...]:
        """Listed so far, by path."""
        return tuple(self._files[path] for path in sorted(self._files))

    def copy(self, path: str, source: Path) -> None:
        """Take a copy of a file; one of the source's later changes does not reach it."""
        target = self._target(path)
        with storage_errors(_WHAT), target.open("xb") as file:
            copy_file(source, file)
        self._list(path)

    def write(self, path: str, content: bytes) -> None:
        """Write a file."""
        with storage_errors(_WHAT):
            self._target(path).write_bytes(content)
        self._list(path)

    def finish(self, manifest: EvidenceManifest) -> None:
        """Write the list of files."""
        with storage_errors(_WHAT):
            (self.directory / EVIDENCE_FILE).write_bytes(manifest.to_bytes())

    def write_sums(self) -> None:
        """Write the sums of everything that is there; last, after any signature."""
        paths = sorted(path for path in self.directory.rglob("*") if path.is_file())
        hashes = {path.relative_to(self.directory).as_posix(): file_digest(path) for path in paths}
        hashes.pop(SUMS_FILE, None)
        with storage_errors(_WHAT):
            (self.directory / SUMS_FILE).write_bytes(sums_text(hashes))

    def _target(self, path: str) -> Path:
        target = self.directory / path
        with storage_errors(_WHAT):
            target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def _list(self, path: str) -> None:
        kind = kind_of(path)
        assert kind is not None, f"{path} has no place in a bundle"
        written = self.directory / path
        with storage_errors(_WHAT):
            size_bytes, digest = written.stat().st_size, file_digest(written)
        self._files[path] = EvidenceFile(
            path=path,
            size_bytes=size_bytes,
            sha256=digest,
            proves=kind.proves,
            content_schema=kind.content_schema,
        )


def bundle_entries(directory: Path) -> Iterator[Entry]:
    """The files of a packed bundle as entries of a zip."""
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        yield path.relative_to(directory).as_posix(), _pieces(path)


def bytes_digest(content: bytes) -> str:
    """SHA-256 of bytes in memory."""
    return hashlib.sha256(content).hexdigest()


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
