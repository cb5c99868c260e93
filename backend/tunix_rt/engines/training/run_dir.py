"""Layout, lock and manifest of a run directory.

runs/<run_id>/recipe.resolved.json  plan.json  environment.json  code.diff
runs/<run_id>/metrics.jsonl  events.jsonl  log.txt     appended line by line
runs/<run_id>/checkpoints/<step>/  model/              whole directories
runs/<run_id>/run_manifest.json                        written last
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

from pydantic import ValidationError

from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, first_problems
from tunix_rt.base.files.atomic import copy_atomically, write_json_atomically
from tunix_rt.base.files.copies import file_digest
from tunix_rt.base.files.locks import LOCK_FILE, held_directory
from tunix_rt.base.host import usable_cores
from tunix_rt.base.settings import RUN_RECIPE_FILE
from tunix_rt.datasets.files import file_sha256
from tunix_rt.engines.training.types import RunManifest

MANIFEST_FILE = "run_manifest.json"


class RunDir:
    """The paths of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_id = path.name
        self.recipe = path / RUN_RECIPE_FILE
        """The resolved recipe: every value and every override."""
        self.plan = path / "plan.json"
        self.environment = path / "environment.json"
        self.code_diff = path / "code.diff"
        """Uncommitted changes of the code; absent without any, or outside a checkout."""
        self.metrics = path / "metrics.jsonl"
        """One line per logged step or validation."""
        self.events = path / "events.jsonl"
        """The event log, numbered."""
        self.log = path / "log.txt"
        """The output of the process."""
        self.checkpoints = path / "checkpoints"
        """One directory per step."""
        self.model = path / "model"
        """The exported weights."""
        self.manifest = path / MANIFEST_FILE

    def of_process(self, process_id: int) -> "RunDir":
        """The directory of another process of the same run: `runs/demo` -> `runs/demo-process-1`."""
        return RunDir(self.path.with_name(f"{self.path.name}-process-{process_id}"))

    def held(self, *, wait_s: float = 0.0) -> AbstractContextManager[None]:
        """Create the directory and lock it against other processes, waiting for another one to release it.

        Raises:
            ConflictError: Another process holds the lock.
        """
        return held_directory(self.path, "run", wait_s=wait_s)

    def file_hashes(self) -> dict[str, str]:
        """SHA-256 of every file except the manifest, by its path inside the directory."""
        excluded = {self.manifest, self.path / LOCK_FILE}
        files = sorted(path for path in self.path.rglob("*") if path.is_file() and path not in excluded)
        with ThreadPoolExecutor(max_workers=usable_cores()) as pool:
            hashes = list(pool.map(file_digest, files))
        return {
            path.relative_to(self.path).as_posix(): digest for path, digest in zip(files, hashes, strict=True)
        }


def find_run_dir(runs_dir: Path, text: str) -> RunDir | None:
    """The run with this id, or else the only one whose id has this start or last word; None without any.

    Raises:
        InvalidInputError: Several ids match.

    Example:
        "3f2a" -> runs/20250131-142907-demo-3f2a
    """
    ids = sorted(path.parent.name for path in runs_dir.glob(f"*/{RUN_RECIPE_FILE}"))
    found = (
        [text] if text in ids else [one for one in ids if one.startswith(text) or one.endswith(f"-{text}")]
    )
    if len(found) > 1:
        raise InvalidInputError(
            f"{text!r} matches {len(found)} runs: {first_problems(found)}.", next_step="Type more of the id."
        )
    return RunDir(runs_dir / found[0]) if found and text else None


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
