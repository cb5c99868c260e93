"""The outcome of a task when an attempt ends."""

import signal
from typing import Any

import pytest

from tunix_rt.runs.executors.base import ChildExit
from tunix_rt.runs.tasks.types import TaskResult
from tunix_rt.runs.worker.outcome import AttemptEnd, Finished, Outcome, Requeued, StopReason, task_outcome

RESULT = TaskResult()
KILLED = ChildExit(None, signal.SIGKILL)


def decide(exit_: ChildExit, reason: Any = None, *, num_failures: int = 0, **values: Any) -> Outcome:
    command = "tunix-rt tasks show task-1"
    return task_outcome(AttemptEnd(command, exit_, reason, num_failures, **values), max_failures=3)


@pytest.mark.parametrize("reason", [None, "cancel", "drain"])
def test_result_means_success(reason: StopReason | None) -> None:
    assert decide(ChildExit(0), reason, result=RESULT) == Finished(
        "succeeded", "Succeeded.", 0, result=RESULT
    )


def test_success_requires_result() -> None:
    outcome = decide(ChildExit(0))
    assert isinstance(outcome, Finished)
    assert outcome.status == "failed"


def test_printed_error_becomes_failure() -> None:
    outcome = decide(ChildExit(2), output_tail="error: It is wrong.\nnext:  Do it right.\n")
    assert isinstance(outcome, Finished)
    assert outcome.failure is not None
    assert (outcome.failure.detail, outcome.failure.next_step) == ("It is wrong.", "Do it right.")


def test_stopped_task_is_cancelled_or_requeued() -> None:
    assert decide(KILLED, "cancel") == Finished("cancelled", "Cancelled.")
    for exit_, reason in ((KILLED, "drain"), (ChildExit(143), "database-away")):
        outcome = decide(exit_, reason, num_failures=1)
        assert isinstance(outcome, Requeued)
        assert (outcome.num_failures, outcome.wait_s) == (1, 0.0)


def test_lost_child_retries_then_fails() -> None:
    retried = decide(KILLED)
    assert isinstance(retried, Requeued)
    assert (retried.num_failures, retried.wait_s > 0) == (1, True)
    last = decide(KILLED, num_failures=2)
    assert isinstance(last, Finished)
    assert last.failure is not None
    assert "SIGKILL" in last.failure.detail
    assert "tasks show task-1" in last.failure.next_step
