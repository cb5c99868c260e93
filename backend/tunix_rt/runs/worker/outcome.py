"""What an exit means: finished, failed or retried."""

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
from tunix_rt.runs.types import ServiceEventKind, backoff_s

StopReason = Literal["cancel", "pause", "drain", "silence"]
"""Why a worker stops a child: somebody cancelled or paused it, the worker leaves, the database is away."""

# Trying again would end the same way: what was asked for is wrong, not the machine.
_REQUEST_ERRORS: dict[int, type[TunixRTError]] = {
    error.exit_code: error
    for error in (InvalidInputError, DataError, DeviceError, DoesNotFitError, DivergedError)
}
_SIGNAL_EXIT_BASE = 128
_SHOWN_CHARS = 1_000
# How the command line prints an error.
_ERROR = re.compile(r"^error: (?P<detail>.+?)\nnext:  (?P<next_step>[^\n]+)", re.M | re.S)


@dataclass(frozen=True)
class AttemptEnd:
    """Everything that decides what comes next."""

    run_id: str
    exit: ChildExit
    stop_reason: StopReason | None
    num_failures: int
    """Of its infrastructure, in a row, before this end."""
    failure: RunFailure | None = None
    """ReplicaState without a child: it could not even be started."""
    manifest: RunManifest | None = None
    """What this attempt wrote; one of an earlier attempt does not count."""
    output_tail: str = ""


@dataclass(frozen=True)
class Finished:
    """The run has ended."""

    status: RunStatus
    message: str
    exit_code: int | None = None
    failure: RunFailure | None = None
    figures: RunFigures | None = None


@dataclass(frozen=True)
class Requeued:
    """The run goes back into the queue."""

    kind: ServiceEventKind
    message: str
    num_failures: int
    wait_s: float = 0.0


Outcome = Finished | Requeued

_REQUEUED: dict[StopReason, tuple[ServiceEventKind, str]] = {
    "pause": ("paused", "Stopped with what it had saved; it waits until it is resumed."),
    "drain": ("requeued", "Its worker was shut down; the next one goes on from the last checkpoint."),
    "silence": ("requeued", "Its worker could not reach the database and stopped it."),
}


def failures_so_far(num_failures: int, earlier: AttemptRecord | None, newest_step: int) -> int:
    """Failures in a row; a checkpoint that the last attempt added ends the row.

    Example:
        2 failures, the last attempt began at step 10, the newest checkpoint is of step 20 -> 0
    """
    return 0 if earlier is not None and newest_step > earlier.first_step else num_failures


def outcome_of(end: AttemptEnd, *, max_failures: int) -> Outcome:
    """What becomes of the run."""
    code = end.exit.code
    if code == 0:
        return _exit_zero(end)
    if code in _REQUEST_ERRORS:
        failure = _failure(end)
        return Finished("failed", failure.detail, code, failure, _figures(end))
    if end.stop_reason == "cancel":
        return Finished("cancelled", "Cancelled.", exit_code_of(end.exit), None, _figures(end))
    if end.stop_reason is not None:
        kind, message = _REQUEUED[end.stop_reason]
        return Requeued(kind, message, end.num_failures)
    return _infrastructure_failure(end, max_failures)


def gave_up(end: AttemptEnd) -> Finished:
    """The end of a run that broke down too often."""
    failure = _failure(end)
    detail = (
        f"It broke down {end.num_failures} times in a row without a new checkpoint; at last: {failure.detail}"
    )
    next_step = f"{failure.next_step} Then go on from the last checkpoint: tunix-rt runs resume {end.run_id}"
    final = RunFailure(code=failure.code, detail=detail, next_step=next_step)
    return Finished("failed", detail, exit_code_of(end.exit), final, _figures(end))


def exit_code_of(how: ChildExit) -> int | None:
    """As a shell would say it: 128 and the signal, where one ended the child."""
    return how.code if how.signal is None else _SIGNAL_EXIT_BASE + how.signal


def describe_exit(how: ChildExit) -> str:
    """In words, when the child itself said nothing."""
    if how.signal is not None:
        said = f"The engine was ended by {signal.Signals(how.signal).name}, which nobody here sent."
    elif how.code is not None:
        said = f"The engine ended with exit code {how.code}."
    else:
        said = ""
    return f"{said} {how.detail}".strip() or "The engine was lost."


def _exit_zero(end: AttemptEnd) -> Outcome:
    if end.manifest is not None and end.manifest.status == "succeeded":
        return Finished("succeeded", "Succeeded.", 0, None, end.manifest.figures)
    failure = RunFailure(
        code="no-manifest",
        detail="The engine ended without an error and without a manifest: nothing proves that it trained.",
        next_step=f"Read what it printed: tunix-rt runs logs {end.run_id}",
    )
    return Finished("failed", failure.detail, 0, failure)


def _infrastructure_failure(end: AttemptEnd, max_failures: int) -> Outcome:
    num_failures = end.num_failures + 1
    if num_failures >= max_failures:
        return gave_up(replace(end, num_failures=num_failures))
    wait_s = backoff_s(num_failures)
    message = f"{_failure(end).detail} Failure {num_failures} of {max_failures}; tried again in {wait_s:g} s."
    return Requeued("retry", message, num_failures, wait_s)


def _figures(end: AttemptEnd) -> RunFigures | None:
    return None if end.manifest is None else end.manifest.figures


def _failure(end: AttemptEnd) -> RunFailure:
    """What the engine wrote down, else what it printed, else what is known from outside."""
    code = end.exit.code or 0
    said = end.failure or (None if end.manifest is None else end.manifest.failure)
    if said is not None:
        return RunFailure(code=said.code, detail=redacted(said.detail), next_step=redacted(said.next_step))
    kind = _REQUEST_ERRORS.get(code, TunixRTError).code
    if (printed := printed_error(end.output_tail)) is not None and end.exit.signal is None:
        detail, next_step = printed
        return RunFailure(code=kind, detail=redacted(detail), next_step=redacted(next_step))
    return RunFailure(code=kind, detail=redacted(describe_exit(end.exit)), next_step=_advice(end))


def printed_error(tail: str) -> tuple[str, str] | None:
    """The last error that a command line printed, with its next step."""
    found = [*_ERROR.finditer(tail)]
    return (found[-1]["detail"][:_SHOWN_CHARS], found[-1]["next_step"][:_SHOWN_CHARS]) if found else None


def _advice(end: AttemptEnd) -> str:
    look = f"Read what it printed: tunix-rt runs logs {end.run_id}"
    if end.exit.signal == signal.SIGKILL:
        return f"{look} If the machine ran out of memory, make the batch or the model smaller."
    return look
