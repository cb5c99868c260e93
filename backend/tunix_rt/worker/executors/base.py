"""What the worker asks of whoever starts processes for it."""

from dataclasses import dataclass
from typing import Protocol

from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.files.job_dirs import JobDir
from tunix_rt.recipes.types import Recipe


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
