"""The worker's copy of a run that trains on another machine.

runs/<id>/events.jsonl metrics.jsonl log.txt   appended as they grow there, replaced when they are cut back
runs/<id>/*.json                               written whole when they change there
jobs/<id>/output.log                           appended
runs/<id>/checkpoints/<step>/ model/           at the end, whole directories, every file proved by its hash
runs/<id>/run_manifest.json                    last
"""

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO

from tunix_rt.base.errors import StorageError
from tunix_rt.base.files.atomic import storage_errors, write_atomically, write_directory_atomically
from tunix_rt.base.files.copies import file_digest
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.files.job_dirs import JobDir
from tunix_rt.worker.executors.ray_messages import LINES, OUTPUT, Growth, Known, Report

ReadPiece = Callable[[str, int], bytes]
"""Path in the run directory there, and offset, to the bytes from there on; nothing at the end."""


class Replica:
    """Where reports go. The run directory must be held: nobody else writes into it."""

    def __init__(self, job_dir: JobDir, run_dir: RunDir) -> None:
        self._run_dir = run_dir
        self._output = job_dir.open_output()
        self.known = Known()
        """What has arrived."""

    def say(self, text: str) -> None:
        """Print a line where the child prints."""
        with storage_errors("writing the output of a run"):
            self._output.write(f"{text}\n".encode())

    def apply(self, report: Report) -> None:
        """Write down what is new.

        Raises:
            StorageError: The disk is full or may not be written.
        """
        for name, growth in report.growths.items():
            self._grow(name, growth)
            self.known.places[name] = growth.place
        for name, (stamp, data) in report.files.items():
            # A directory with a manifest is complete: it comes when all else is here.
            if name != self._run_dir.manifest.name:
                _write(self._run_dir.path / name, data)
            self.known.stamps[name] = stamp
        self._remove_all_but(report.names)

    def collect(self, hashes: Mapping[str, str], read: ReadPiece) -> None:
        """Make the directory equal to the one over there.

        Args:
            hashes: SHA-256 of every file there by its path, the manifest last.
            read: Reads them there.

        Raises:
            StorageError: A file did not arrive as it was sent, or cannot be written.
        """
        directories = {_directory_of(path) for path in hashes} - {None}
        for directory in sorted(filter(None, directories)):
            self._collect_directory(directory, hashes, read)
        self._drop_directories_but(directories)
        for path, sha256 in hashes.items():
            if _directory_of(path) is None and not _is_here(self._run_dir.path / path, sha256):
                with write_atomically(self._run_dir.path / path, what=f"collecting {path}") as file:
                    _copy(path, sha256, read, file)

    def close(self) -> None:
        """Nothing more is written."""
        self._output.close()

    def _grow(self, name: str, growth: Growth) -> None:
        if name == OUTPUT:
            with storage_errors("writing the output of a run"):
                self._output.write(growth.data)
        elif growth.is_new:
            _write(self._run_dir.path / name, growth.data)
        else:
            with storage_errors(f"writing {name}"), (self._run_dir.path / name).open("ab") as file:
                file.write(growth.data)

    def _remove_all_but(self, names: frozenset[str]) -> None:
        for path in self._run_dir.path.iterdir():
            is_ours = path.is_file() and not path.name.startswith(".") and path.name not in LINES
            if is_ours and path.name not in names:
                path.unlink()
                self.known.stamps.pop(path.name, None)

    def _collect_directory(self, directory: str, hashes: Mapping[str, str], read: ReadPiece) -> None:
        files = {path: sha256 for path, sha256 in hashes.items() if _directory_of(path) == directory}
        if all(_is_here(self._run_dir.path / path, sha256) for path, sha256 in files.items()):
            return
        place = self._run_dir.path / directory
        with write_directory_atomically(place, what=f"collecting {directory}") as target:
            for path, sha256 in files.items():
                local = target / Path(path).relative_to(directory)
                local.parent.mkdir(parents=True, exist_ok=True)
                with local.open("wb") as file:
                    _copy(path, sha256, read, file)

    def _drop_directories_but(self, kept: Iterable[str | None]) -> None:
        here = [self._run_dir.model, *self._run_dir.checkpoints.glob("[0-9]*")]
        kept_paths = {self._run_dir.path / directory for directory in kept if directory is not None}
        for path in here:
            if path not in kept_paths:
                shutil.rmtree(path, ignore_errors=True)


def _directory_of(path: str) -> str | None:
    """The directory with which a file comes and goes; None when it stands alone.

    Example:
        "checkpoints/20/state/d/1" -> "checkpoints/20"; "model/config.json" -> "model"; "plan.json" -> None
    """
    first, *rest = Path(path).parts
    if first == "checkpoints" and len(rest) > 1 and rest[0].isdecimal():
        return f"{first}/{rest[0]}"
    return first if first == "model" and rest else None


def _is_here(path: Path, sha256: str) -> bool:
    return path.is_file() and file_digest(path) == sha256


def _write(path: Path, data: bytes) -> None:
    with write_atomically(path, what=f"writing {path.name}") as file:
        file.write(data)


def _copy(path: str, sha256: str, read: ReadPiece, target: IO[bytes]) -> None:
    digest, offset = hashlib.sha256(), 0
    while piece := read(path, offset):
        target.write(piece)
        digest.update(piece)
        offset += len(piece)
    if digest.hexdigest() != sha256:
        raise StorageError(
            f"{path} did not arrive from the node as it was sent.",
            next_step="Resume the run: it goes on from its last checkpoint.",
        )
