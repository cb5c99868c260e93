"""The outcome of a run when an attempt ends."""

import signal
from typing import Any

import pytest
from support.run_dirs import NOON

from tunix_rt.engines.training.types import RunFailure, RunManifest
from tunix_rt.runs.executors.base import ChildExit
from tunix_rt.runs.files import AttemptRecord
from tunix_rt.runs.worker.outcome import (
    AttemptEnd,
    Finished,
    Outcome,
    Requeued,
    StopReason,
    failures_so_far,
    run_outcome,
)

AT_STEP_10 = AttemptRecord(attempt=1, first_step=10)
NO_ROWS = RunFailure(code="bad-data", detail="No row is left.", next_step="Build another dataset.")
PRINTED = "compiling\nerror: The recipe names no dataset.\nnext:  Add --dataset KEY.\n"


def decide(exit_: ChildExit, stop_reason: StopReason | None = None, **values: Any) -> Outcome:
    command = "tunix-rt runs logs run-1"
    end = AttemptEnd(command, exit_, stop_reason, values.pop("num_failures", 0), **values)
    return run_outcome(end, run_id="run-1", max_failures=3)


def manifest(status: str, exit_code: int, **values: Any) -> RunManifest:
    record = {
        "run_id": "run-1",
        "status": status,
        "exit_code": exit_code,
        "engine": "jax",
        "model": "tiny-llama",
    }
    names = {"tunix_rt_version": "0", "dataset": "demo-v1", "dataset_hash": "d", "mode": "full"}
    rest = {"is_forced": False, "started_at": NOON, "finished_at": NOON, "durations_s": {}, "files": {}}
    return RunManifest.model_validate(record | names | rest | values)


def finished(outcome: Outcome) -> Finished:
    assert isinstance(outcome, Finished)
    return outcome


@pytest.mark.parametrize("code", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("stop_reason", [None, "cancel", "pause", "drain"])
def test_request_error_is_final(code: int, stop_reason: Any) -> None:
    assert finished(decide(ChildExit(code), stop_reason)).status == "failed"


@pytest.mark.parametrize(
    "exit_", [ChildExit(1), ChildExit(143), ChildExit(77), ChildExit(None, signal.SIGSEGV), ChildExit(None)]
)
def test_other_failures_retry_with_backoff(exit_: ChildExit) -> None:
    first, second = decide(exit_), decide(exit_, num_failures=1)
    assert isinstance(first, Requeued)
    assert isinstance(second, Requeued)
    assert (first.kind, first.num_failures, second.num_failures) == ("retry", 1, 2)
    assert 0 < first.wait_s < second.wait_s
    assert finished(decide(exit_, num_failures=2)).status == "failed"


@pytest.mark.parametrize("exit_", [ChildExit(143), ChildExit(None, signal.SIGKILL), ChildExit(1)])
def test_cancelled_run_ends_cancelled(exit_: ChildExit) -> None:
    assert finished(decide(exit_, "cancel")).status == "cancelled"


@pytest.mark.parametrize(
    ("stop_reason", "kind"), [("pause", "paused"), ("drain", "requeued"), ("database-away", "requeued")]
)
def test_requested_stop_is_not_failure(stop_reason: Any, kind: str) -> None:
    outcome = decide(ChildExit(143), stop_reason, num_failures=1)
    assert isinstance(outcome, Requeued)
    assert (outcome.kind, outcome.num_failures, outcome.wait_s) == (kind, 1, 0.0)


def test_success_requires_succeeded_manifest() -> None:
    assert finished(decide(ChildExit(0), manifest=manifest("succeeded", 0))).status == "succeeded"
    assert finished(decide(ChildExit(0), manifest=manifest("cancelled", 143))).status == "failed"
    assert finished(decide(ChildExit(0))).status == "failed"


@pytest.mark.parametrize(
    "recorded",
    [{"failure": NO_ROWS}, {"manifest": manifest("failed", 3, failure=NO_ROWS)}],
    ids=lambda r: next(iter(r)),
)
def test_recorded_failure_overrides_output(recorded: dict[str, Any]) -> None:
    assert finished(decide(ChildExit(3), output_tail=PRINTED, **recorded)).failure == NO_ROWS


def test_last_printed_error_is_fallback() -> None:
    failure = finished(decide(ChildExit(2), output_tail=f"error: Old.\nnext:  Old.\n{PRINTED}")).failure
    assert failure is not None
    assert (failure.detail, failure.next_step) == ("The recipe names no dataset.", "Add --dataset KEY.")


def test_kill_ignores_printed_error() -> None:
    failure = finished(decide(ChildExit(None, signal.SIGKILL), num_failures=2, output_tail=PRINTED)).failure
    assert failure is not None
    assert "SIGKILL" in failure.detail
    assert "memory" in failure.next_step


def test_failures_redact_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hush-hush-hush")
    url = "postgresql://me:pass1234@db/x"  # pragma: allowlist secret
    tail = f"error: {url} does not answer, hush-hush-hush\nnext:  Wait.\n"
    failure = finished(decide(ChildExit(2), output_tail=tail)).failure
    assert failure is not None
    assert "hush" not in failure.detail
    assert "pass1234" not in failure.detail


@pytest.mark.parametrize(
    ("earlier", "newest_step", "expected"),
    [
        (None, 0, 2),
        (AT_STEP_10, 10, 2),
        (AT_STEP_10, 20, 0),
    ],
)
def test_new_checkpoint_resets_failures(
    earlier: AttemptRecord | None, newest_step: int, expected: int
) -> None:
    assert failures_so_far(2, earlier, newest_step) == expected
