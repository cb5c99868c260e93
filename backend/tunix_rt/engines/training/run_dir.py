"""Layout of runs/<id>, its lock and its manifest.

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
        """The run's name: that of its directory."""
        return self.path.name

    def of_process(self, process_id: int) -> "RunDir":
        """Where another process of the same run keeps its records: `runs/demo` -> `runs/demo-process-1`."""
        return RunDir(self.path.with_name(f"{self.path.name}-process-{process_id}"))

    @property
    def recipe(self) -> Path:
        """What ran: every value, every override."""
        return self.path / RUN_RECIPE_FILE

    @property
    def plan(self) -> Path:
        """What was predicted."""
        return self.path / "plan.json"

    @property
    def environment(self) -> Path:
        """On what it ran."""
        return self.path / "environment.json"

    @property
    def code_diff(self) -> Path:
        """What the code had that its commit has not; absent where there was nothing, or no checkout."""
        return self.path / "code.diff"

    @property
    def metrics(self) -> Path:
        """One line a logged step or validation."""
        return self.path / "metrics.jsonl"

    @property
    def events(self) -> Path:
        """What happened, numbered."""
        return self.path / "events.jsonl"

    @property
    def log(self) -> Path:
        """What the process printed."""
        return self.path / "log.txt"

    @property
    def checkpoints(self) -> Path:
        """Resumable states, one directory a step."""
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        """The exported weights."""
        return self.path / "model"

    @property
    def manifest(self) -> Path:
        """Written last."""
        return self.path / MANIFEST_FILE

    @contextmanager
    def held(self, *, wait_s: float = 0.0) -> Iterator[None]:
        """Make the directory and keep every other process from writing a run into it.

        Args:
            wait_s: how long to wait for another process to let go of it.

        Raises:
            ConflictError: Another process has it.
        """
        with held_directory(self.path, "run", wait_s=wait_s):
            yield

    def is_empty(self) -> bool:
        """Whether nothing of a run is there."""
        return is_unused(self.path)

    def remove_if_empty(self) -> None:
        """Leave no trace of a run that never began."""
        remove_if_unused(self.path)

    def file_hashes(self) -> dict[str, str]:
        """SHA-256 of every file but the manifest, by its path inside the directory."""
        left_out = {self.manifest, self.path / LOCK_FILE}
        files = sorted(path for path in self.path.rglob("*") if path.is_file() and path not in left_out)
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
