"""What the end of an attempt means for its task: pure decisions."""

from dataclasses import dataclass

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.logs import redacted
from tunix_rt.core.runs.backoff import backoff_s
from tunix_rt.core.tasks.task import TaskResult
from tunix_rt.engines.training.types import RunFailure, RunStatus
from tunix_rt.worker.executors.base import ChildExit
from tunix_rt.worker.outcome import StopReason, last_error, what_happened


@dataclass(frozen=True)
class TaskEnd:
    """Everything that decides what comes next."""

    task_id: str
    exit: ChildExit
    stop_reason: StopReason | None
    num_failures: int
    """Before this end."""
    result: TaskResult | None = None
    """What the child wrote last of all."""
    output_tail: str = ""


@dataclass(frozen=True)
class FinishedTask:
    """The task has ended."""

    status: RunStatus
    failure: RunFailure | None = None
    result: TaskResult | None = None


@dataclass(frozen=True)
class RequeuedTask:
    """The task goes back into the queue."""

    num_failures: int
    wait_s: float = 0.0


def task_outcome(end: TaskEnd, *, max_failures: int) -> FinishedTask | RequeuedTask:
    """What becomes of the task.

    A child that ended by itself has said why, and would say it again; one that was lost is tried again.

    Example:
        exit code 0 with a result -> succeeded; killed by a signal that nobody here sent -> back in the queue
    """
    if end.exit.code == 0 and end.result is not None:
        return FinishedTask("succeeded", result=end.result)
    if end.stop_reason == "cancel":
        return FinishedTask("cancelled")
    if end.stop_reason is not None:
        return RequeuedTask(end.num_failures)
    num_failures = end.num_failures + 1
    if end.exit.code is not None or num_failures >= max_failures:
        return FinishedTask("failed", failure=_failure(end))
    return RequeuedTask(num_failures, backoff_s(num_failures))


def refused(error: TunixRTError) -> FinishedTask:
    """The end of a task that could not even be started."""
    failure = RunFailure(code=error.code, detail=redacted(error.detail), next_step=redacted(error.next_step))
    return FinishedTask("failed", failure=failure)


def _failure(end: TaskEnd) -> RunFailure:
    printed = last_error(end.output_tail) if end.exit.signal is None else None
    detail, next_step = printed or (
        what_happened(end.exit),
        f"Read what it printed: tunix-rt tasks show {end.task_id}",
    )
    return RunFailure(code=TunixRTError.code, detail=redacted(detail), next_step=redacted(next_step))
