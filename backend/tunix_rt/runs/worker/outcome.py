"""What the end of an attempt means for its run or task: finished, failed or requeued."""

import re
import signal
from dataclasses import dataclass, replace
from typing import Literal

from tunix_rt.base.errors import (
    DataError,
    DeviceError,
    DivergedError,
    DoesNotFitError,
    InvalidInputError,
    TunixRTError,
)
from tunix_rt.base.logs import redacted
from tunix_rt.engines.training.types import RunFailure, RunFigures, RunManifest, RunStatus
from tunix_rt.runs.executors.base import ChildExit
from tunix_rt.runs.files import AttemptRecord
from tunix_rt.runs.tasks.types import TaskResult
from tunix_rt.runs.types import ServiceEventKind, backoff_s

StopReason = Literal["cancel", "pause", "drain", "database-away"]
"""Why a worker stops a child: a request to cancel or pause it, a shutdown, or a lost database."""

# The request is wrong, not the machine: another attempt would end the same way.
_REQUEST_ERRORS: dict[int, type[TunixRTError]] = {
    error.exit_code: error
    for error in (InvalidInputError, DataError, DeviceError, DoesNotFitError, DivergedError)
}
_SIGNAL_EXIT_BASE = 128
_SHOWN_CHARS = 1_000
# How the command line prints an error. Needed for a child of an older version, which a worker may adopt, and
# for one on a Ray node: neither writes the error file.
_PRINTED_ERROR = re.compile(r"^error: (?P<detail>.+?)\nnext:  (?P<next_step>[^\n]+)", re.M | re.S)


@dataclass(frozen=True)
class AttemptEnd:
    """Everything that decides what comes next."""

    logs_command: str
    """What shows the output: `tunix-rt runs logs RUN`."""
    exit: ChildExit
    stop_reason: StopReason | None
    num_failures: int
    """Infrastructure failures in a row before this end."""
    failure: RunFailure | None = None
    """Why no child was started, or the error that the child wrote to its error file."""
    manifest: RunManifest | None = None
    """Written by this attempt; a manifest of an earlier attempt does not count."""
    result: TaskResult | None = None
    """Of a task: written last by the child."""
    output_tail: str = ""


@dataclass(frozen=True)
class Finished:
    """The run or task has ended."""

    status: RunStatus
    message: str
    exit_code: int | None = None
    failure: RunFailure | None = None
    figures: RunFigures | None = None
    result: TaskResult | None = None


@dataclass(frozen=True)
class Requeued:
    """The run or task goes back into the queue."""

    kind: ServiceEventKind
    message: str
    num_failures: int
    wait_s: float = 0.0


Outcome = Finished | Requeued

_REQUEUED: dict[StopReason, tuple[ServiceEventKind, str]] = {
    "pause": ("paused", "Stopped with a checkpoint; it waits until it is resumed."),
    "drain": ("requeued", "Its worker was shut down; the next one resumes from the last checkpoint."),
    "database-away": ("requeued", "Its worker could not reach the database and stopped it."),
}


def failures_so_far(num_failures: int, earlier: AttemptRecord | None, newest_step: int) -> int:
    """Failures in a row; a checkpoint written by the last attempt resets the count.

    Example:
        2 failures, the last attempt began at step 10, the newest checkpoint is of step 20 -> 0
    """
    return 0 if earlier is not None and newest_step > earlier.first_step else num_failures


def run_outcome(end: AttemptEnd, *, run_id: str, max_failures: int) -> Outcome:
    """What becomes of a run: it succeeds only with a manifest, and infrastructure failures are retried."""
    code = end.exit.code
    if code == 0:
        if end.manifest is not None and end.manifest.status == "succeeded":
            return Finished("succeeded", "Succeeded.", 0, None, end.manifest.figures)
        failure = RunFailure(
            code="no-manifest",
            detail="The engine exited with code 0 but wrote no manifest: nothing proves that it trained.",
            next_step=f"Read its output: {end.logs_command}",
        )
        return Finished("failed", failure.detail, 0, failure)
    if code in _REQUEST_ERRORS:
        failure = _failure(end)
        return Finished("failed", failure.detail, code, failure, _figures(end))
    if end.stop_reason == "cancel":
        return Finished("cancelled", "Cancelled.", exit_code_of(end.exit), None, _figures(end))
    if end.stop_reason is not None:
        return Requeued(*_REQUEUED[end.stop_reason], end.num_failures)
    num_failures = end.num_failures + 1
    if num_failures >= max_failures:
        return gave_up(replace(end, num_failures=num_failures), run_id)
    return _retry(end, num_failures, max_failures)


def gave_up(end: AttemptEnd, run_id: str) -> Finished:
    """The end of a run that failed too often."""
    failure = _failure(end)
    detail = f"It failed {end.num_failures} times in a row without a new checkpoint. Last: {failure.detail}"
    next_step = f"{failure.next_step} Then resume from the last checkpoint: tunix-rt runs resume {run_id}"
    final = RunFailure(code=failure.code, detail=detail, next_step=next_step)
    return Finished("failed", detail, exit_code_of(end.exit), final, _figures(end))


def task_outcome(end: AttemptEnd, *, max_failures: int) -> Outcome:
    """What becomes of a task: a child that exited by itself is final, one that was lost is retried.

    Example:
        exit code 0 with a result -> succeeded; killed by an unknown signal -> back in the queue
    """
    if end.exit.code == 0 and end.result is not None:
        return Finished("succeeded", "Succeeded.", 0, result=end.result)
    if end.stop_reason == "cancel":
        return Finished("cancelled", "Cancelled.")
    if end.stop_reason is not None:
        return Requeued(*_REQUEUED[end.stop_reason], end.num_failures)
    num_failures = end.num_failures + 1
    if end.exit.code is None and num_failures < max_failures:
        return _retry(end, num_failures, max_failures)
    failure = _failure(end)
    return Finished("failed", failure.detail, end.exit.code, failure)


def exit_code_of(how: ChildExit) -> int | None:
    """The exit code as a shell reports it: 128 plus the signal that ended the child."""
    return how.code if how.signal is None else _SIGNAL_EXIT_BASE + how.signal


def describe_exit(how: ChildExit) -> str:
    """The exit in words, for a child that reported no error."""
    if how.signal is not None:
        text = f"The engine was killed by {signal.Signals(how.signal).name}, which Tunix RT did not send."
    elif how.code is not None:
        text = f"The engine exited with code {how.code}."
    else:
        text = ""
    return f"{text} {how.detail}".strip() or "The engine was lost."


def _retry(end: AttemptEnd, num_failures: int, max_failures: int) -> Requeued:
    wait_s = backoff_s(num_failures)
    message = f"{_failure(end).detail} Failure {num_failures} of {max_failures}; next try in {wait_s:g} s."
    return Requeued("retry", message, num_failures, wait_s)


def _figures(end: AttemptEnd) -> RunFigures | None:
    return None if end.manifest is None else end.manifest.figures


def _failure(end: AttemptEnd) -> RunFailure:
    """From the manifest, else the error file, else the printed error, else the exit itself."""
    failure = (None if end.manifest is None else end.manifest.failure) or end.failure
    if failure is None:
        code = _REQUEST_ERRORS.get(end.exit.code or 0, TunixRTError).code
        printed = list(_PRINTED_ERROR.finditer(end.output_tail)) if end.exit.signal is None else []
        if printed:
            detail, next_step = printed[-1]["detail"][:_SHOWN_CHARS], printed[-1]["next_step"][:_SHOWN_CHARS]
        else:
            detail, next_step = describe_exit(end.exit), f"Read its output: {end.logs_command}"
            if end.exit.signal == signal.SIGKILL:
                next_step += " If the machine ran out of memory, use a smaller batch or model."
        failure = RunFailure(code=code, detail=detail, next_step=next_step)
    detail, next_step = redacted(failure.detail), redacted(failure.next_step)
    return RunFailure(code=failure.code, detail=detail, next_step=next_step)
