"""Jobs whose engine is a few lines of Python: real processes, without a model."""

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
    """An attempt that runs `program`, which finds the run directory as `$RUN`."""
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
    """How the child ended; waits for it."""
    return wait_for(child.poll)


def wait_for(find: Callable[[], _Found | None]) -> _Found:
    """What `find` finds in the end; a test that waits for ever fails."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not (found := find()):
        assert time.monotonic() < deadline_s, "waited in vain"
        time.sleep(0.05)
    return found


def number_in(path: Path) -> int | None:
    """A number that a process writes into a file; None until it is there."""
    text = path.read_text() if path.exists() else ""
    return int(text) if text.endswith("\n") else None
