"""The run repository: submission, leases and status changes, on SQLite and PostgreSQL."""

from typing import Any

import pytest
from support.queued_runs import ANY_SLOT, claimed, kinds, make_worker, new_run, queued

from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.engines.training.types import RunFailure, RunFigures
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.rows import NewEvent
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.types import BeatAnswer, Lease, RunFilter, Slot

FIGURES = RunFigures(num_steps=2, num_planned_steps=2, num_examples=4, num_dropped_examples=0, fill_ratio=0.5)
FAILURE = RunFailure(code="storage", detail="The disk is full\x00.", next_step="Free some.")


def list_ids(store: Home, **criteria: Any) -> list[str]:
    page = RunRepository(store.database).list(RunFilter.model_validate(criteria), limit=100, offset=0)
    assert page.total == len(page.data)
    return [run.run_id for run in page.data]


def claim_next(store: Home, *slots: Slot) -> str | None:
    claim = RunRepository(store.database).claim("worker-a", slots or ANY_SLOT)
    return claim and claim.run.run_id


def test_submitted_run_round_trips(store: Home) -> None:
    run = queued(store, priority=7, eval_set="eval_v2", overrides=("training.num_steps=3",))
    assert run == RunRepository(store.database).get("run-1")
    assert (run.status, run.priority, run.num_attempts, run.is_held) == ("queued", 7, 0, False)
    assert run.request.overrides == ("training.num_steps=3",)
    assert run.recipe["training"] == {"num_steps": 2}
    assert kinds(store) == ["submitted"]


def test_duplicate_id_is_rejected(store: Home) -> None:
    queued(store)
    with pytest.raises(ConflictError, match="already"):
        queued(store)


def test_unknown_run_is_not_found(store: Home) -> None:
    runs = RunRepository(store.database)
    for call in (runs.get, runs.status_of, runs.events, runs.cancel, runs.pause, runs.resume, runs.remove):
        with pytest.raises(NotFoundError, match="runs list"):
            call("nothing")


def test_one_beat_renews_all_leases(store: Home) -> None:
    first, second, third = (claimed(store, name).lease for name in ("run-1", "run-2", "run-3"))
    RunRepository(store.database).cancel("run-2")
    RunRepository(store.database).pause("run-3")
    lost = Lease(run_id="run-1", token="0" * 32)
    assert sorted(
        RunRepository(store.database).beat([first, second, third, lost]), key=lambda answer: answer.token
    ) == sorted(
        [
            BeatAnswer(first.token, "running", False),
            BeatAnswer(second.token, "cancelling", False),
            BeatAnswer(third.token, "running", True),
        ],
        key=lambda answer: answer.token,
    )
    assert [lease.beats for lease in RunRepository(store.database).leases()] == [1, 1, 1]
    assert RunRepository(store.database).beat([]) == ()


def test_lost_lease_writes_nothing(store: Home) -> None:
    old = claimed(store).lease
    assert RunRepository(store.database).requeue(old, "lease-lost", "Its worker has gone.", num_failures=1)
    assert kinds(store)[-1] == "lease-lost"
    new = RunRepository(store.database).claim("worker-b", ANY_SLOT)
    assert new is not None
    assert new.run.num_attempts == 2
    assert new.run.num_failures == 1
    before = (RunRepository(store.database).get("run-1"), kinds(store))
    assert RunRepository(store.database).beat([old]) == ()
    assert not RunRepository(store.database).event(old, NewEvent("warning", "Hm."))
    assert not RunRepository(store.database).finish(old, "succeeded", "Done.")
    assert not RunRepository(store.database).requeue(old, "retry", "Again.")
    assert (RunRepository(store.database).get("run-1"), kinds(store)) == before


def test_finish_records_complete_result(store: Home) -> None:
    claim = claimed(store)
    assert RunRepository(store.database).event(claim.lease, NewEvent("started", "Started.", {"pid": 12}))
    assert RunRepository(store.database).finish(
        claim.lease, "succeeded", "Done.", exit_code=0, figures=FIGURES
    )
    run = RunRepository(store.database).get("run-1")
    assert (run.status, run.exit_code, run.figures, run.failure) == ("succeeded", 0, FIGURES, None)
    assert run.finished_at is not None
    assert run.worker_id == "worker-a"
    assert kinds(store) == ["submitted", "claimed", "started", "succeeded"]
    assert RunRepository(store.database).leases() == ()
    assert list_ids(store, status=["succeeded"]) == ["run-1"]


def test_resume_clears_failure(store: Home) -> None:
    claim = claimed(store)
    RunRepository(store.database).finish(claim.lease, "failed", "Failed\x00.", exit_code=1, failure=FAILURE)
    assert RunRepository(store.database).get("run-1").failure == FAILURE
    run = RunRepository(store.database).resume("run-1")
    assert (run.status, run.failure, run.exit_code, run.finished_at) == ("queued", None, None, None)
    reclaimed = RunRepository(store.database).claim("worker-b", ANY_SLOT)
    assert reclaimed is not None
    assert reclaimed.run.num_attempts == 2
    assert reclaimed.run.started_at == claim.run.started_at


def test_queued_run_cancels_immediately(store: Home) -> None:
    queued(store)
    assert RunRepository(store.database).cancel("run-1").status == "cancelled"
    assert claim_next(store) is None
    assert list_ids(store) == ["run-1"]
    with pytest.raises(ConflictError, match="was cancelled"):
        RunRepository(store.database).cancel("run-1")


def test_repeated_cancel_is_recorded_once(store: Home) -> None:
    claim = claimed(store)
    assert (
        RunRepository(store.database).cancel("run-1").status
        == RunRepository(store.database).cancel("run-1").status
        == "cancelling"
    )
    assert RunRepository(store.database).finish(claim.lease, "cancelled", "Cancelled.", exit_code=143)
    assert kinds(store) == ["submitted", "claimed", "cancel-asked", "cancelled"]
    assert RunRepository(store.database).resume("run-1").status == "queued"


@pytest.mark.parametrize("status", ["succeeded", "failed"])
def test_cancelling_run_can_finish(store: Home, status: Any) -> None:
    claim = claimed(store)
    RunRepository(store.database).cancel("run-1")
    assert RunRepository(store.database).finish(claim.lease, status, "The end.")
    assert RunRepository(store.database).get("run-1").status == status


def test_cancelling_run_is_never_requeued(store: Home) -> None:
    retried, lost = claimed(store, "run-1").lease, claimed(store, "run-2").lease
    RunRepository(store.database).cancel("run-1")
    RunRepository(store.database).cancel("run-2")
    assert RunRepository(store.database).requeue(retried, "retry", "It died.")
    assert RunRepository(store.database).requeue(lost, "lease-lost", "Its worker has gone.")
    assert list_ids(store, status=["cancelled"]) == ["run-2", "run-1"]


def test_running_run_pauses_and_resumes(store: Home) -> None:
    lease = claimed(store).lease
    assert RunRepository(store.database).pause("run-1").is_held
    assert RunRepository(store.database).pause("run-1").status == "running"
    assert RunRepository(store.database).requeue(lease, "paused", "Stopped with a checkpoint.")
    assert claim_next(store) is None
    RunRepository(store.database).resume("run-1")
    assert claim_next(store) == "run-1"
    assert kinds(store) == ["submitted", "claimed", "paused", "paused", "resumed", "claimed"]


def test_succeeded_run_rejects_changes(store: Home) -> None:
    RunRepository(store.database).finish(claimed(store).lease, "succeeded", "Done.")
    for change in (
        RunRepository(store.database).cancel,
        RunRepository(store.database).pause,
        RunRepository(store.database).resume,
    ):
        with pytest.raises(ConflictError):
            change("run-1")
    with pytest.raises(ConflictError, match="succeeded"):
        RunRepository(store.database).set_priority("run-1", 3)
    assert kinds(store)[-1] == "succeeded"


def test_worker_cancels_only_on_request(store: Home) -> None:
    lease = claimed(store).lease
    with pytest.raises(ConflictError, match="cannot become cancelled"):
        RunRepository(store.database).finish(lease, "cancelled", "Cancelled.")
    assert kinds(store) == ["submitted", "claimed"], "a refused transition leaves no event"


def test_runs_are_filtered_newest_first(store: Home) -> None:
    RunRepository(store.database).add(new_run("run-1", sweep_id="sweep-a"))
    RunRepository(store.database).add(
        new_run("run-2").model_copy(update={"model": "google/Gemma-2b", "mode": "lora"})
    )
    RunRepository(store.database).add(new_run("Special_3").model_copy(update={"dataset": "other-v1"}))
    assert list_ids(store) == ["Special_3", "run-2", "run-1"]
    assert list_ids(store, sweep_id="sweep-a") == ["run-1"]
    assert (
        list_ids(store, model="gemma")
        == list_ids(store, mode="lora")
        == list_ids(store, text="GEMMA")
        == ["run-2"]
    )
    assert list_ids(store, dataset="other-v1") == list_ids(store, text="special_") == ["Special_3"]
    assert list_ids(store, text="%") == []
    assert list_ids(store, status=["running", "failed"]) == []
    page = RunRepository(store.database).list(RunFilter(), limit=1, offset=1)
    assert [run.run_id for run in page.data] == ["run-2"]
    assert page.total == 3
    assert RunRepository(store.database).counts() == {"queued": 3}


def test_partial_id_finds_run(store: Home) -> None:
    queued(store, "20250131-142907-demo-3f2a")
    queued(store, "20250131-142910-demo-77aa")
    assert (
        RunRepository(store.database).find_ids("3f2a")
        == RunRepository(store.database).find_ids("20250131-142907")
        == ("20250131-142907-demo-3f2a",)
    )
    assert len(RunRepository(store.database).find_ids("2025")) == 2
    assert RunRepository(store.database).find_ids("f2a") == ()


def test_worker_lifecycle_is_recorded(store: Home) -> None:
    worker = make_worker(slots=(Slot(device="gpu", index=1), Slot(device="cpu")))
    WorkerRepository(store.database).register(worker)
    assert WorkerRepository(store.database).list() == (worker,)
    assert WorkerRepository(store.database).beat("worker-a")
    assert WorkerRepository(store.database).set_status("worker-a", "draining")
    (listed,) = WorkerRepository(store.database).list()
    assert (listed.beats, listed.status) == (1, "draining")
    assert listed.last_seen_at > worker.last_seen_at
    WorkerRepository(store.database).register(worker)
    WorkerRepository(store.database).forget("worker-a")
    assert WorkerRepository(store.database).list() == ()
    assert not WorkerRepository(store.database).beat("worker-a")
