"""Executor protocol; command line and environment of each kind of job."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.recipes.load import resolve_recipe
from tunix_rt.recipes.types import Recipe
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.tasks.files import TaskDir
from tunix_rt.runs.tasks.types import Task
from tunix_rt.runs.types import Claim, Slot


@dataclass(frozen=True)
class ChildJob:
    """What a child on this machine needs."""

    attempt: int
    """Counts from 1 over the life of the run."""
    command: tuple[str, ...]
    """Arguments of Python: `("-m", "tunix_rt.cli", "train", …)`."""
    environment: dict[str, str]
    """Set in the child, over the environment where it runs."""
    job_dir: JobDir
    """Its name is the id of the run or of the task."""
    grace_s: float
    """How long a child may take to stop before it is killed."""


@dataclass(frozen=True)
class Job(ChildJob):
    """What one attempt at a run needs, wherever it runs."""

    run_dir: RunDir
    recipe: Recipe
    device: str = "auto"
    """The device that the run requests: auto, cpu, gpu or tpu."""


@dataclass(frozen=True)
class ChildExit:
    """How a child ended. None of its processes is left."""

    code: int | None
    """Exit code; None if a signal ended it, or its supervisor or machine was lost."""
    signal: int | None = None
    detail: str = ""
    """In words, if code and signal are not enough."""
    was_killed: bool = False
    """Whether it did not stop in time and was killed."""


class Child(Protocol):
    """A running attempt."""

    def poll(self) -> ChildExit | None:
        """How it ended; None while any process of it runs. Never blocks for long."""

    def stop(self) -> None:
        """Ask it to save and stop; after the grace period it is killed. Idempotent."""

    def kill(self) -> None:
        """Kill it at once, with everything that it started."""

    def close(self) -> None:
        """Release its resources; if it still runs, stop it as if its worker had died."""


class Executor(Protocol):
    """Starts children."""

    name: str

    def start(self, job: Job) -> Child:
        """Start the child of an attempt.

        Raises:
            StorageError: The job directory cannot be written.
            TunixRTError: It cannot be started now.
        """

    def adopt_or_clear(self, job_dir: JobDir) -> None:
        """End every process of an earlier attempt; waits for those that are stopping."""

    def newest_step(self, run_dir: RunDir) -> int:
        """The step of the newest checkpoint that the next attempt can resume from; 0 if there is none."""


_PROGRAM = ("-m", "tunix_rt.cli")
_VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"


def training_job(settings: Settings, claim: Claim, slot: Slot) -> Job:
    """Train, or resume from the newest checkpoint; every attempt has the same command."""
    run, run_dir = claim.run, RunDir(settings.runs_dir / claim.run.run_id)
    job_dir = JobDir(settings.jobs_dir / run.run_id)
    where = ("--resume", "--output", str(run_dir.path), "--recipe-name", run.recipe_name)
    how = ("--engine", run.engine, "--device", _device(run.device, slot))
    force = ("--force",) if run.request.is_forced else ()
    return Job(
        attempt=run.num_attempts,
        command=(*_PROGRAM, "train", str(job_dir.recipe), *where, *how, *force),
        environment=_environment(settings, slot),
        job_dir=job_dir,
        run_dir=run_dir,
        recipe=resolve_recipe(run.recipe, what=f"the recipe of {run.run_id}").recipe,
        grace_s=settings.cancel_grace_s,
        device=_device(run.device, slot),
    )


def evaluation_command(claim: Claim, eval_set: str, slot: Slot) -> tuple[str, ...]:
    """Evaluate the trained model; the same command resumes an interrupted evaluation."""
    device = _device(claim.run.device, slot)
    how = ("--engine", claim.run.engine, "--device", device)
    return (*_PROGRAM, "eval", "run", claim.run.run_id, "--eval-set", eval_set, *how)


def task_job(settings: Settings, task: Task, slot: Slot) -> ChildJob:
    """Run a task; the same command resumes an interrupted evaluation."""
    device = _device(task.request.device, slot)
    return ChildJob(
        attempt=task.num_attempts,
        command=(*_PROGRAM, "tasks", "carry-out", str(task.task_id), "--device", device),
        environment=_environment(settings, slot),
        job_dir=TaskDir(settings.tasks_dir / str(task.task_id)).job_dir,
        grace_s=settings.cancel_grace_s,
    )


def _device(requested: str, slot: Slot) -> str:
    """The slot decides, unless it is `auto`."""
    return requested if slot.device == "auto" else slot.device


def _environment(settings: Settings, slot: Slot) -> dict[str, str]:
    # Unbuffered: followers of the log see a line when it is printed.
    values = {"TUNIX_RT_HOME": str(settings.home_dir), "PYTHONUNBUFFERED": "1"}
    if settings.database_url is not None:
        values["TUNIX_RT_DATABASE_URL"] = settings.database_url
    return values | slot_environment(slot, os.environ)


def slot_environment(slot: Slot, environ: Mapping[str, str]) -> dict[str, str]:
    """Environment variables that restrict a child to the devices of its slot.

    Example:
        gpu:1 under CUDA_VISIBLE_DEVICES=4,5 -> {"CUDA_VISIBLE_DEVICES": "5"}; cpu -> no GPU
    """
    if slot.device == "cpu":
        return {_VISIBLE_GPUS: ""}
    if slot.index is None:
        return {}
    visible = [name for name in environ.get(_VISIBLE_GPUS, "").split(",") if name]
    return {_VISIBLE_GPUS: visible[slot.index] if slot.index < len(visible) else str(slot.index)}
