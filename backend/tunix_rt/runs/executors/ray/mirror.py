"""Checkpoints on a shared path or object store, through fsspec.

<url>/<run_id>/<step>-<token>/checkpoint/…   the directory as the engine wrote it
<url>/<run_id>/<step>-<token>/records/…      metrics, events and log as they were then
<url>/<run_id>/<step>-<token>.json           written last: every file, its size and its hash

A run resumes on another machine with the records of the checkpoint, so no metrics are lost with the machine
that wrote them. The token separates two writers of one step, if a machine that counts as lost still writes.
"""

import hashlib
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated

import fsspec
from pydantic import Field, ValidationError

from tunix_rt.base.errors import InvalidInputError, StorageError
from tunix_rt.base.files.atomic import write_directory_atomically
from tunix_rt.base.files.copies import file_digest
from tunix_rt.base.logs import redacted
from tunix_rt.base.records import Record

_CHECKPOINT = "checkpoint"
_RECORDS = "records"
_MARKER_ENDING = ".json"


class MirroredFile(Record):
    """One file of a checkpoint."""

    num_bytes: Annotated[int, Field(ge=0)]
    sha256: str


class MirroredCheckpoint(Record):
    """A complete checkpoint."""

    step: Annotated[int, Field(ge=0)]
    name: str
    """Of its directory."""
    files: dict[str, MirroredFile]
    """By path in the directory."""


@dataclass(frozen=True)
class CheckpointMirror:
    """The checkpoints of one run that other machines can resume from.

    Example:
        CheckpointMirror("s3://bucket/checkpoints", "20250131-142907-demo-3f2a")
    """

    url: str
    run_id: str

    def complete(self) -> list[MirroredCheckpoint]:
        """The complete checkpoints, sorted by step.

        Raises:
            StorageError: The mirror cannot be read.
        """
        found = []
        with self._files("reading the mirrored checkpoints") as (files, root):
            files.invalidate_cache()
            try:
                paths = files.ls(root, detail=False)
            except FileNotFoundError:
                return []
            for path in paths:
                # A marker that was deleted meanwhile or is incomplete does not count.
                with suppress(FileNotFoundError, ValidationError):
                    if path.endswith(_MARKER_ENDING):
                        found.append(MirroredCheckpoint.model_validate_json(files.cat_file(path)))
        return sorted(found, key=lambda checkpoint: (checkpoint.step, checkpoint.name))

    def newest_step(self) -> int:
        """The step of the newest complete one; 0 if there is none."""
        return max((checkpoint.step for checkpoint in self.complete()), default=0)

    def put(self, step: int, checkpoint: Path, records: Mapping[str, Path]) -> MirroredCheckpoint:
        """Upload a checkpoint with its records; it counts once everything has arrived.

        Raises:
            StorageError: The upload failed. Earlier checkpoints stay.
        """
        sources = {f"{_RECORDS}/{name}": path for name, path in records.items()}
        for path in checkpoint.rglob("*"):
            if path.is_file():
                sources[f"{_CHECKPOINT}/{path.relative_to(checkpoint).as_posix()}"] = path
        mirrored = MirroredCheckpoint(
            step=step,
            name=f"{step}-{secrets.token_hex(4)}",
            files={name: _described(path) for name, path in sources.items()},
        )
        with self._files(f"mirroring the checkpoint of step {step}") as (files, root):
            for name, path in sources.items():
                remote = f"{root}/{mirrored.name}/{name}"
                files.makedirs(remote.rpartition("/")[0], exist_ok=True)
                files.put_file(str(path), remote)
            # Written last: a checkpoint with a marker is complete.
            marker = mirrored.model_dump_json().encode()
            files.pipe_file(f"{root}/{mirrored.name}{_MARKER_ENDING}", marker)
        return mirrored

    def fetch(self, mirrored: MirroredCheckpoint, checkpoints: Path) -> dict[str, bytes]:
        """Download one to `checkpoints/<step>`, completely or not at all; returns its records by name.

        Raises:
            StorageError: It cannot be read, or is damaged.
        """
        directory = checkpoints / str(mirrored.step)
        what = f"fetching the checkpoint of step {mirrored.step}"
        with self._files(what) as (files, root):
            remote, records = f"{root}/{mirrored.name}", {}
            for name, described in _below(_RECORDS, mirrored.files).items():
                records[name] = files.cat_file(f"{remote}/{_RECORDS}/{name}")
                if hashlib.sha256(records[name]).hexdigest() != described.sha256:
                    raise _damaged(mirrored.step)
            with write_directory_atomically(directory, what=what) as target:
                for name, described in _below(_CHECKPOINT, mirrored.files).items():
                    local = target / _inside(name)
                    local.parent.mkdir(parents=True, exist_ok=True)
                    files.get_file(f"{remote}/{_CHECKPOINT}/{name}", str(local))
                    if _described(local) != described:
                        raise _damaged(mirrored.step)
        return records

    def drop(self, mirrored: MirroredCheckpoint) -> None:
        """Delete one, its marker first."""
        with self._files(f"dropping the mirrored checkpoint of step {mirrored.step}") as (files, root):
            _remove(files, f"{root}/{mirrored.name}{_MARKER_ENDING}")
            _remove(files, f"{root}/{mirrored.name}")

    def remove(self) -> None:
        """Delete everything of the run."""
        with self._files("removing the mirrored checkpoints") as (files, root):
            _remove(files, root)

    @contextmanager
    def _files(self, what: str) -> Iterator[tuple[fsspec.AbstractFileSystem, str]]:
        """The file system of the URL, and the directory of the run in it.

        Errors of its library become StorageError with a next step.
        """
        try:
            files = open_file_system(self.url)
            yield files, f"{files._strip_protocol(self.url).rstrip('/')}/{self.run_id}"
        except (InvalidInputError, StorageError):
            raise
        except Exception as error:
            first_line = str(error).partition("\n")[0] or type(error).__name__
            raise StorageError(
                redacted(f"{what.capitalize()} failed: {first_line}"),
                next_step="Check TUNIX_RT_CHECKPOINT_URL, its credentials and its free space.",
            ) from error


def open_file_system(url: str) -> fsspec.AbstractFileSystem:
    """The file system that a URL names.

    Raises:
        InvalidInputError: No library for it is installed, or there is none.
    """
    try:
        return fsspec.core.url_to_fs(url)[0]
    except (ImportError, ValueError) as error:
        raise InvalidInputError(
            redacted(f"TUNIX_RT_CHECKPOINT_URL cannot be used: {error}."),
            next_step="Use file:///shared/checkpoints, or install the library for its protocol, such as "
            "`pip install s3fs` for s3://.",
        ) from error


def _described(path: Path) -> MirroredFile:
    return MirroredFile(num_bytes=path.stat().st_size, sha256=file_digest(path))


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise StorageError(
            f"A mirrored checkpoint names the file {name!r}, which is outside its directory.",
            next_step="Do not use this mirror: another program has written into it.",
        )
    return path


def _below(part: str, files: Mapping[str, MirroredFile]) -> dict[str, MirroredFile]:
    prefix = f"{part}/"
    return {name.removeprefix(prefix): file for name, file in files.items() if name.startswith(prefix)}


def _damaged(step: int) -> StorageError:
    return StorageError(
        f"The mirrored checkpoint of step {step} is damaged: its content does not match its hash.",
        next_step="An earlier one is used if there is one; check the storage behind TUNIX_RT_CHECKPOINT_URL.",
    )


def _remove(files: fsspec.AbstractFileSystem, path: str) -> None:
    if files.exists(path):
        files.rm(path, recursive=True)
