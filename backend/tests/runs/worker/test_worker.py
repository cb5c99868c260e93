"""A worker with real processes in place of the engine."""

import json
import signal

import pytest
from support.jobs import number_in, wait_for
from support.queued_runs import kinds, queued
from support.workers import RESUMING, STUBBORN, SUCCEEDING, WAITING, run_path, wait_for_run_status, working

from tunix_rt.base.home import Home
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import Lease, Slot

TWO_SLOTS = (Slot(device="cpu"), Slot(device="cpu"))

# The queue is tested on both databases; the worker does not depend on them.
pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


def test_worker_trains_and_records_run(store: Home) -> None:
    queued(store)
    with working(store, "save(7); print('hello'); " + SUCCEEDING):
        run = wait_for_run_status(store, "succeeded")
    assert kinds(store) == ["submitted", "claimed", "started", "succeeded"]
    assert (run.exit_code, run.num_attempts, run.failure) == (0, 1, None)
    assert run.figures is not None
    assert run.figures.num_steps == 7
    assert (store.settings.jobs_dir / "run-1" / "output.log").read_text() == "hello\n"


def test_success_requires_manifest(store: Home) -> None:
    queued(store)
    with working(store, "sys.exit(0)"):
        run = wait_for_run_status(store, "failed")
    assert run.failure is not None
    assert run.failure.code == "no-manifest"


def test_request_error_is_never_retried(store: Home) -> None:
    for code in range(2, 7):
        queued(store, f"run-{code}")
    program = "print(f'error: It is wrong.\\nnext:  Do it right.'); sys.exit(int(run.name[-1]))"
    with working(store, program, slots=TWO_SLOTS):
        ends = [wait_for_run_status(store, "failed", f"run-{code}") for code in range(2, 7)]
    assert [(run.exit_code, run.num_attempts) for run in ends] == [(code, 1) for code in range(2, 7)]
    codes = [run.failure.code for run in ends if run.failure is not None]
    assert codes == ["invalid-input", "bad-data", "device", "does-not-fit", "diverged"]
    assert {run.failure and run.failure.next_step for run in ends} == {"Do it right."}


def test_repeated_failure_becomes_final(store: Home, runs: RunRepository) -> None:
    queued(store)
    failure = {"code": "storage", "detail": "The disk is full.", "next_step": "Free space."}
    with working(store, f"end(1, failure={failure})", run_max_failures=2):
        run = wait_for_run_status(store, "failed")
    assert kinds(store)[2:] == ["started", "retry", "claimed", "started", "failed"]
    retry = runs.events("run-1")[3].message
    assert retry == "The disk is full. Failure 1 of 2; next try in 2 s."
    assert run.failure is not None
    assert run.failure.code == "storage"
    assert "2 times in a row" in run.failure.detail
    assert "The disk is full." in run.failure.detail
    assert "tunix-rt runs resume run-1" in run.failure.next_step


def test_killed_engine_resumes_from_checkpoint(store: Home, runs: RunRepository) -> None:
    queued(store)
    program = "if newest(): end(0, 'succeeded')\nsave(5)\nos.kill(os.getpid(), signal.SIGKILL)"
    with working(store, program):
        wait_for_run_status(store, "succeeded")
    events = runs.events("run-1")
    assert [event.details["step"] for event in events if event.kind == "started"] == [0, 5]
    (retry,) = [event for event in events if event.kind == "retry"]
    assert "SIGKILL, which Tunix RT did not send" in retry.message


def test_checkpoint_resets_failure_count(store: Home) -> None:
    queued(store)
    program = "if newest() == 2: end(0, 'succeeded')\nsave(newest() + 1)\nsys.exit(1)"
    with working(store, program, run_max_failures=2):
        run = wait_for_run_status(store, "succeeded")
    assert (run.num_attempts, run.num_failures) == (3, 1)


def test_cancelled_run_saves_and_ends(store: Home, runs: RunRepository) -> None:
    queued(store)
    with working(store, WAITING):
        wait_for(run_path(store, "ready").exists)
        runs.cancel("run-1")
        run = wait_for_run_status(store, "cancelled")
    assert run.exit_code == 143
    assert kinds(store)[-3:] == ["cancel-asked", "stopping", "cancelled"]


def test_unresponsive_run_is_killed(store: Home, runs: RunRepository) -> None:
    queued(store)
    with working(store, STUBBORN, cancel_grace_s=0.1):
        wait_for(run_path(store, "ready").exists)
        runs.cancel("run-1")
        wait_for_run_status(store, "cancelled")
    assert kinds(store)[-3:] == ["stopping", "killed", "cancelled"]


def test_run_finishing_before_cancel_succeeds(store: Home, runs: RunRepository) -> None:
    queued(store)
    program = "signal.signal(signal.SIGTERM, lambda *_: end(0, 'succeeded')); announce(); time.sleep(600)"
    with working(store, program):
        wait_for(run_path(store, "ready").exists)
        runs.cancel("run-1")
        wait_for_run_status(store, "succeeded")


def test_paused_run_resumes_from_checkpoint(store: Home, runs: RunRepository) -> None:
    queued(store)
    with working(store, RESUMING):
        wait_for(run_path(store, "ready").exists)
        runs.pause("run-1")
        held = wait_for_run_status(store, "queued")
        assert (held.is_held, held.num_failures) == (True, 0)
        runs.resume("run-1")
        wait_for_run_status(store, "succeeded")


def test_evaluation_follows_training(store: Home) -> None:
    queued(store, eval_set="eval-v2")
    with working(store, SUCCEEDING, evaluation="(run / 'asked').write_text(os.environ['ASKED'])"):
        wait_for_run_status(store, "succeeded")
    assert kinds(store) == ["submitted", "claimed", "started", "evaluating", "evaluated", "succeeded"]
    asked = run_path(store, "asked").read_text()
    assert asked == "-m tunix_rt.cli eval run run-1 --eval-set eval-v2 --engine auto --device auto"


def test_failed_evaluation_keeps_training(store: Home, runs: RunRepository) -> None:
    queued(store, eval_set="eval-v2")
    with working(store, SUCCEEDING, evaluation="sys.exit(3)"):
        wait_for_run_status(store, "succeeded")
    warning = runs.events("run-1")[-2]
    assert warning.kind == "warning"
    assert "tunix-rt eval run-1 --eval-set eval-v2" in warning.message


def test_killed_evaluation_keeps_training(store: Home) -> None:
    queued(store, eval_set="eval-v2")
    evaluation = "os.kill(os.getpid(), signal.SIGKILL)"
    with working(store, SUCCEEDING, evaluation=evaluation, run_max_failures=2):
        run = wait_for_run_status(store, "succeeded")
    assert run.num_attempts == 2
    assert kinds(store)[2:] == [
        "started",
        "evaluating",
        "retry",
        "claimed",
        "evaluating",
        "warning",
        "succeeded",
    ]


def test_finished_training_is_not_repeated(store: Home, runs: RunRepository) -> None:
    queued(store)
    with working(store, "announce('trained'); " + SUCCEEDING):
        wait_for_run_status(store, "succeeded")
    manifest = run_path(store, "run_manifest.json").read_bytes()
    runs.remove("run-1")
    queued(store)
    with working(store, "end(1)"):
        wait_for_run_status(store, "succeeded")
    assert run_path(store, "run_manifest.json").read_bytes() == manifest


def test_lost_lease_kills_child(store: Home, runs: RunRepository) -> None:
    queued(store)
    with working(store, STUBBORN, worker_poll_s=1_000.0):
        engine = wait_for(lambda: number_in(run_path(store, "ready")))
        (lease,) = runs.leases()
        runs.requeue(Lease(run_id="run-1", token=lease.token), "lease-lost", "Taken away.")
        wait_for(lambda: json.loads(_read_exit(store)).get("signal") == signal.SIGKILL)
    assert engine
    assert kinds(store) == ["submitted", "claimed", "started", "lease-lost"]
    assert runs.get("run-1").status == "queued"


def _read_exit(store: Home) -> str:
    path = store.settings.jobs_dir / "run-1" / "exit.json"
    return path.read_text() if path.exists() else "{}"


def test_error_file_becomes_failure(store: Home) -> None:
    queued(store)
    error = {"code": "bad-data", "detail": "No row is left.", "next_step": "Add rows.", "exit_code": 3}
    program = f"open(os.environ['TUNIX_RT_ERROR_FILE'], 'w').write({json.dumps(error)!r}); sys.exit(3)"
    with working(store, program):
        failure = wait_for_run_status(store, "failed").failure
    assert failure is not None
    assert failure.to_json() == {name: error[name] for name in ("code", "detail", "next_step")}
