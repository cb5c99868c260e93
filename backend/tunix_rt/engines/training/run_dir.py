"""Layout, lock and manifest of a run directory.

runs/<run_id>/recipe.resolved.json  plan.json  environment.json  code.diff
runs/<run_id>/metrics.jsonl  events.jsonl  log.txt     appended line by line
runs/<run_id>/checkpoints/<step>/  model/              whole directories
runs/<run_id>/run_manifest.json                        written last
"""

import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tunix_rt.base.errors import ConflictError, DataError
from tunix_rt.base.files.atomic import copy_atomically, write_json_atomically
from tunix_rt.base.files.locks import LOCK_FILE, held_directory, is_unused, remove_if_unused
from tunix_rt.base.host import usable_cores
from tunix_rt.base.settings import RUN_RECIPE_FILE
from tunix_rt.datasets.files import file_sha256
from tunix_rt.engines.training.types import RunManifest

MANIFEST_FILE = "run_manifest.json"
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class RunDir:
    """The paths of one run."""

    path: Path

    @property
    def run_id(self) -> str:
        """The id of the run: the name of its directory."""
        return self.path.name

    def of_process(self, process_id: int) -> "RunDir":
        """The directory of another process of the same run: `runs/demo` -> `runs/demo-process-1`."""
        return RunDir(self.path.with_name(f"{self.path.name}-process-{process_id}"))

    @property
    def recipe(self) -> Path:
        """The resolved recipe: every value and every override."""
        return self.path / RUN_RECIPE_FILE

    @property
    def plan(self) -> Path:
        """The plan."""
        return self.path / "plan.json"

    @property
    def environment(self) -> Path:
        """The environment of the run."""
        return self.path / "environment.json"

    @property
    def code_diff(self) -> Path:
        """Uncommitted changes of the code; absent without any, or outside a checkout."""
        return self.path / "code.diff"

    @property
    def metrics(self) -> Path:
        """One line per logged step or validation."""
        return self.path / "metrics.jsonl"

    @property
    def events(self) -> Path:
        """The event log, numbered."""
        return self.path / "events.jsonl"

    @property
    def log(self) -> Path:
        """The output of the process."""
        return self.path / "log.txt"

    @property
    def checkpoints(self) -> Path:
        """Checkpoints, one directory per step."""
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        """The exported weights."""
        return self.path / "model"

    @property
    def manifest(self) -> Path:
        """The manifest, written last."""
        return self.path / MANIFEST_FILE

    @contextmanager
    def held(self, *, wait_s: float = 0.0) -> Iterator[None]:
        """Create the directory and lock it against other processes.

        Args:
            wait_s: How long to wait for another process to release it.

        Raises:
            ConflictError: Another process holds the lock.
        """
        with held_directory(self.path, "run", wait_s=wait_s):
            yield

    def is_empty(self) -> bool:
        """Whether the directory has no files of a run."""
        return is_unused(self.path)

    def remove_if_empty(self) -> None:
        """Remove the directory of a run that never started."""
        remove_if_unused(self.path)

    def file_hashes(self) -> dict[str, str]:
        """SHA-256 of every file except the manifest, by its path inside the directory."""
        excluded = {self.manifest, self.path / LOCK_FILE}
        files = sorted(path for path in self.path.rglob("*") if path.is_file() and path not in excluded)
        with ThreadPoolExecutor(max_workers=usable_cores()) as pool:
            hashes = list(pool.map(_sha256, files))
        return {
            path.relative_to(self.path).as_posix(): digest for path, digest in zip(files, hashes, strict=True)
        }


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


JOIN_WAIT_S = 30.0
"""Adding files takes moments, so a second process waits for the lock."""


def read_manifest(run_dir: RunDir) -> RunManifest | None:
    """The manifest; None before the run is finished."""
    if not run_dir.manifest.is_file():
        return None
    try:
        return RunManifest.model_validate_json(run_dir.manifest.read_bytes())
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise DataError(
            f"The manifest of the run {run_dir.run_id} cannot be read: {problem['msg']}.",
            next_step="Restore run_manifest.json from a backup; it must not be edited by hand.",
        ) from error


def add_run_files(run_dir: RunDir, files: Mapping[str, Path], *, wait_s: float = JOIN_WAIT_S) -> None:
    """Copy files into the directory of a finished run and list them in its manifest.

    Every hash in the manifest is valid at any time: replaced files are removed from it first and added last.

    Args:
        run_dir: The directory of the run.
        files: Name in the run directory -> file to copy.
        wait_s: How long to wait for another process to release the run.

    Raises:
        ConflictError: Another process holds the run, or it is not finished.
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
