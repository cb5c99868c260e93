"""Files and metrics of a run."""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.home import Home
from tunix_rt.base.records import Count, Record
from tunix_rt.engines.training.run_dir import RunDir, read_manifest
from tunix_rt.runs.unmanaged import refreshed_runs


class Artifact(Record):
    """A file of a run."""

    name: str
    path: str
    """Relative to the run directory: `checkpoints/20/state.pt`."""
    size: Count
    """In bytes."""
    modified_at: datetime
    sha256: str | None = None
    """From the manifest, once the run has finished."""


class ArtifactList(Record):
    """The files of a run, by path."""

    run_id: str
    artifacts: tuple[Artifact, ...]
    total_bytes: Count


def list_artifacts(home: Home, run_id: str) -> ArtifactList:
    """Every file of a run; none before it has started.

    Raises:
        NotFoundError: There is no such run.
    """
    run_dir = _directory(home, run_id)
    manifest = read_manifest(run_dir)
    hashes = {} if manifest is None else manifest.files
    files = sorted(_artifacts(run_dir.path, hashes), key=lambda artifact: artifact.path)
    return ArtifactList(
        run_id=run_id, artifacts=tuple(files), total_bytes=sum(artifact.size for artifact in files)
    )


def open_artifact(home: Home, run_id: str, path: str) -> BinaryIO:
    """A file of a run, open for reading.

    Raises:
        NotFoundError: There is no such run, or no such file in its directory. Files elsewhere are treated as
            missing.
    """
    run_dir = _directory(home, run_id)
    found = _inside(run_dir.path, path)
    if found is None:
        raise NotFoundError(
            f"The run {run_id} has no file {path!r}.",
            next_step=f"List its files: GET /api/tunix/runs/{run_id}/artifacts",
        )
    with storage_errors(f"opening {found.name}"):
        return found.open("rb")


def _directory(home: Home, run_id: str) -> RunDir:
    refreshed_runs(home).status_of(run_id)
    return RunDir(home.settings.runs_dir / run_id)


def _artifacts(directory: Path, hashes: dict[str, str]) -> Iterator[Artifact]:
    for folder, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        for name in names:
            path = (Path(folder) / name).relative_to(directory).as_posix()
            # Files that are removed during the listing are left out.
            with suppress(FileNotFoundError):
                if (found := _inside(directory, path)) is not None:
                    status = found.stat()
                    yield Artifact(
                        name=name,
                        path=path,
                        size=status.st_size,
                        modified_at=datetime.fromtimestamp(status.st_mtime, UTC),
                        sha256=hashes.get(path),
                    )


def _inside(directory: Path, path: str) -> Path | None:
    """The file at `path`, if it is a file inside the directory with all links resolved."""
    parts = PurePosixPath(path).parts
    if "\x00" in path or not parts or path.startswith("/") or any(map(_is_hidden, parts)):
        return None
    try:
        root = Path(os.path.realpath(directory, strict=True))
        found = Path(os.path.realpath(root.joinpath(*parts), strict=True))
    except OSError:  # missing, a cycle of links, or an invalid name
        return None
    return found if found.is_relative_to(root) and found.is_file() else None


def _is_hidden(name: str) -> bool:
    # Locks, temporary files, and `..`.
    return name.startswith(".")


_BLOCK_BYTES = 1 << 18


def metrics_array(home: Home, run_id: str) -> Iterator[bytes]:
    """The lines of `metrics.jsonl` as the text of a JSON array, in chunks; empty before the first line.

    Lines are passed on unchanged; a last line without a newline is left out.

    Raises:
        NotFoundError: There is no such run.
    """
    return _array(_directory(home, run_id).metrics)


def _array(path: Path) -> Iterator[bytes]:
    chunk, torn, has_lines = b"[", b"", False
    # A run that has not started has no metrics.
    with storage_errors("reading the metrics"), suppress(FileNotFoundError), path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            whole, newline, torn = (torn + block).rpartition(b"\n")
            if newline and has_lines:
                yield chunk
                chunk = b",\n"
            if newline:
                chunk += whole.replace(b"\n", b",\n")
                has_lines = True
    yield chunk + b"]"
