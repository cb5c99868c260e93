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
    """Everything that a child on this machine needs."""

    run_id: str
    """Of the run; of a task, its own id."""
    attempt: int
    """Counts from 1 over the life of the run."""
    command: tuple[str, ...]
    """What Python is given: `("-m", "tunix_rt.cli", "train", …)`."""
    environment: dict[str, str]
    """Set in the child, over whatever is set where it runs."""
    job_dir: JobDir
    grace_s: float
    """How long a child that was asked to stop may take."""


@dataclass(frozen=True)
class Job(ChildJob):
    """Everything that one attempt of a run needs, wherever it runs."""

    run_dir: RunDir
    recipe: Recipe
    device: str = "auto"
    """What the run asked for: auto, cpu, gpu or tpu."""


@dataclass(frozen=True)
class ChildExit:
    """How a child ended. Nothing of it runs any more."""

    code: int | None
    """Exit code; None when a signal ended it or nobody knows."""
    signal: int | None = None
    detail: str = ""
    """In words, when code and signal do not say it all."""
    is_infrastructure: bool = False
    """Whether it ended for a reason outside of itself: its supervisor or its machine was lost."""
    was_killed: bool = False
    """Whether it was asked to stop and did not in time."""


class Child(Protocol):
    """One attempt under way."""

    def poll(self) -> ChildExit | None:
        """How it ended; None while anything of it runs. Never blocks for long."""

    def stop(self) -> None:
        """Ask it to save and stop; after the job's grace it is killed. Asking again changes nothing."""

    def kill(self) -> None:
        """End it at once, and everything that it has started."""

    def close(self) -> None:
        """Let go of what is held for it; one that still runs is stopped as if its worker had died."""


class Executor(Protocol):
    """Starts children."""

    name: str

    def start(self, job: Job) -> Child:
        """Start the child of an attempt.

        Raises:
            StorageError: The job directory cannot be written.
            TunixRTError: It cannot be started here and now.
        """

    def adopt_or_clear(self, job_dir: JobDir) -> None:
        """Make sure that nothing of an earlier attempt is still running; waits for what is stopping."""

    def newest_step(self, run_dir: RunDir) -> int:
        """The step of the newest checkpoint that the next attempt can go on from; 0 when there is none."""

    def close(self) -> None:
        """Let go of everything."""


_PROGRAM = ("-m", "tunix_rt.cli")
_VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"


def training_job(settings: Settings, claim: Claim, slot: Slot) -> Job:
    """Train, or go on from the newest checkpoint; the same command for every attempt."""
    run, run_dir = claim.run, RunDir(settings.runs_dir / claim.run.run_id)
    job_dir = JobDir(settings.jobs_dir / run.run_id)
    where = ("--resume", "--output", str(run_dir.path), "--recipe-name", run.recipe_name)
    how = ("--engine", run.engine, "--device", _device(run.device, slot))
    force = ("--force",) if run.request.is_forced else ()
    return Job(
        run_id=run.run_id,
        attempt=claim.attempt,
        command=(*_PROGRAM, "train", str(job_dir.recipe), *where, *how, *force),
        environment=_environment(settings, slot),
        job_dir=job_dir,
        run_dir=run_dir,
        recipe=resolve_recipe(run.recipe, what=f"the recipe of {run.run_id}").recipe,
        grace_s=settings.cancel_grace_s,
        device=_device(run.device, slot),
    )


def evaluation_command(claim: Claim, eval_set: str, slot: Slot) -> tuple[str, ...]:
    """Evaluate what was trained; the same command goes on where it stopped."""
    device = _device(claim.run.device, slot)
    how = ("--engine", claim.run.engine, "--device", device)
    return (*_PROGRAM, "eval", "run", claim.run.run_id, "--eval-set", eval_set, *how)


def task_job(settings: Settings, task: Task, slot: Slot) -> ChildJob:
    """Carry a task out; the same command goes on where an evaluation stopped."""
    device = _device(task.request.device, slot)
    return ChildJob(
        run_id=str(task.task_id),
        attempt=task.num_attempts,
        command=(*_PROGRAM, "tasks", "carry-out", str(task.task_id), "--device", device),
        environment=_environment(settings, slot),
        job_dir=TaskDir(settings.tasks_dir / str(task.task_id)).job_dir,
        grace_s=settings.cancel_grace_s,
    )


def _device(asked: str, slot: Slot) -> str:
    """The slot decides, unless it leaves the choice to the run."""
    return asked if slot.device == "auto" else slot.device


def _environment(settings: Settings, slot: Slot) -> dict[str, str]:
    # Unbuffered: whoever follows the log sees a line when it is printed.
    named = {"TUNIX_RT_HOME": str(settings.home_dir), "PYTHONUNBUFFERED": "1"}
    if settings.database_url is not None:
        named["TUNIX_RT_DATABASE_URL"] = settings.database_url
    return named | slot_environment(slot, os.environ)


def slot_environment(slot: Slot, environ: Mapping[str, str]) -> dict[str, str]:
    """What shows a child the devices of its slot and no others.

    Example:
        gpu:1 under CUDA_VISIBLE_DEVICES=4,5 -> {"CUDA_VISIBLE_DEVICES": "5"}; cpu -> none at all
    """
    if slot.device == "cpu":
        return {_VISIBLE_GPUS: ""}
    if slot.index is None:
        return {}
    visible = [name for name in environ.get(_VISIBLE_GPUS, "").split(",") if name]
    return {_VISIBLE_GPUS: visible[slot.index] if slot.index < len(visible) else str(slot.index)}
