"""The manifest of a run: read, and rewritten when an evaluation joins the run's files."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from tunix_rt.base.errors import ConflictError, DataError
from tunix_rt.base.files.atomic import copy_atomically, write_json_atomically
from tunix_rt.core.run_record import RunManifest
from tunix_rt.datasets.files import file_sha256
from tunix_rt.files.run_dirs import RunDir

JOIN_WAIT_S = 30.0
"""Files join a run in moments: whoever finds another at it waits."""


def read_manifest(run_dir: RunDir) -> RunManifest | None:
    """The manifest; None while the run is not finished."""
    if not run_dir.manifest.is_file():
        return None
    try:
        return RunManifest.model_validate_json(run_dir.manifest.read_bytes())
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise DataError(
            f"The manifest of the run {run_dir.run_id} cannot be read: {problem['msg']}.",
            next_step="Restore run_manifest.json from a copy; it is not edited by hand.",
        ) from error


def add_run_files(run_dir: RunDir, files: Mapping[str, Path], *, wait_s: float = JOIN_WAIT_S) -> None:
    """Copy files into the directory of a finished run and list them in its manifest.

    Whenever this stops, every hash that the manifest lists is true: what is replaced is taken off the list
    first, and put on it last.

    Args:
        run_dir: of the run.
        files: name in the run directory -> file to copy.
        wait_s: how long to wait for another process to let go of the run.

    Raises:
        ConflictError: The run is being written, or is not finished.
    """
    with run_dir.held(wait_s=wait_s):
        manifest = read_manifest(run_dir)
        if manifest is None:
            raise ConflictError(
                f"The run {run_dir.run_id} is not finished.",
                next_step=f"Finish it: tunix-rt train RECIPE --output {run_dir.path} --resume",
            )
        others = {name: digest for name, digest in manifest.files.items() if name not in files}
        if others != manifest.files:
            _write(run_dir, manifest, others)
        for name, source in files.items():
            copy_atomically(source, run_dir.path / name)
        hashes = {name: file_sha256(run_dir.path / name) for name in files}
        _write(run_dir, manifest, dict(sorted((others | hashes).items())))


def _write(run_dir: RunDir, manifest: RunManifest, files: dict[str, str]) -> None:
    changed = manifest.model_copy(update={"files": files})
    write_json_atomically(run_dir.manifest, changed.to_json(), what="writing the manifest")
