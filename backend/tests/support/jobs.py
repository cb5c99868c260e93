"""Jobs that run a few lines of Python in place of an engine: real processes without a model."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.recipes.load import validate_recipe
from tunix_rt.runs.executors.base import Child, ChildExit, Job
from tunix_rt.runs.files import JobDir

PATIENCE_S = 180.0
RECIPE = {
    "model": {"name": "tiny-llama", "weights": "random"},
    "data": {"dataset": "demo-v1"},
    "training": {"num_steps": 2},
}
_Found = TypeVar("_Found")


def make_job(directory: Path, program: str, *, grace_s: float = PATIENCE_S, attempt: int = 1) -> Job:
    """Return an attempt that runs `program`; the run directory is in `$RUN`."""
    job_dir, run_dir = JobDir(directory / "jobs" / "run"), RunDir(directory / "runs" / "run")
    run_dir.path.mkdir(parents=True, exist_ok=True)
    return Job(
        attempt=attempt,
        command=("-S", "-c", program),
        environment={"RUN": str(run_dir.path)},
        job_dir=job_dir,
        run_dir=run_dir,
        recipe=validate_recipe(RECIPE),
        grace_s=grace_s,
    )


def ended(child: Child) -> ChildExit:
    """Wait for the child and return how it exited."""
    return wait_for(child.poll)


def wait_for(find: Callable[[], _Found | None]) -> _Found:
    """Poll `find` until it returns something true, or fail after a timeout."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not (found := find()):
        assert time.monotonic() < deadline_s, "timed out"
        time.sleep(0.05)
    return found


def number_in(path: Path) -> int | None:
    """Read the number that a process writes into a file; None until it is complete."""
    text = path.read_text() if path.exists() else ""
    return int(text) if text.endswith("\n") else None
