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


def test_submitted_run_round_trips(store: Home, runs: RunRepository) -> None:
    run = queued(store, priority=7, eval_set="eval_v2", overrides=("training.num_steps=3",))
    assert run == runs.get("run-1")
    assert (run.status, run.priority, run.num_attempts, run.is_held) == ("queued", 7, 0, False)
    assert run.request.overrides == ("training.num_steps=3",)
    assert run.recipe["training"] == {"num_steps": 2}
    assert kinds(store) == ["submitted"]


def test_duplicate_id_is_rejected(store: Home) -> None:
    queued(store)
    with pytest.raises(ConflictError, match="already"):
        queued(store)


def test_unknown_run_is_not_found(runs: RunRepository) -> None:
    for call in (runs.get, runs.status_of, runs.events, runs.cancel, runs.pause, runs.resume, runs.remove):
        with pytest.raises(NotFoundError, match="runs list"):
            call("nothing")


def test_one_beat_renews_all_leases(store: Home, runs: RunRepository) -> None:
    first, second, third = (claimed(store, name).lease for name in ("run-1", "run-2", "run-3"))
    runs.cancel("run-2")
    runs.pause("run-3")
    lost = Lease(run_id="run-1", token="0" * 32)
    assert sorted(runs.beat([first, second, third, lost]), key=lambda answer: answer.token) == sorted(
        [
            BeatAnswer(first.token, "running", False),
            BeatAnswer(second.token, "cancelling", False),
            BeatAnswer(third.token, "running", True),
        ],
        key=lambda answer: answer.token,
    )
    assert [lease.beats for lease in runs.leases()] == [1, 1, 1]
    assert runs.beat([]) == ()


def test_lost_lease_writes_nothing(store: Home, runs: RunRepository) -> None:
    old = claimed(store).lease
    assert runs.requeue(old, "lease-lost", "Its worker has gone.", num_failures=1)
    assert kinds(store)[-1] == "lease-lost"
    new = runs.claim("worker-b", ANY_SLOT)
    assert new is not None
    assert new.run.num_attempts == 2
    assert new.run.num_failures == 1
    before = (runs.get("run-1"), kinds(store))
    assert runs.beat([old]) == ()
    assert not runs.event(old, NewEvent("warning", "Hm."))
    assert not runs.finish(old, "succeeded", "Done.")
    assert not runs.requeue(old, "retry", "Again.")
    assert (runs.get("run-1"), kinds(store)) == before


def test_finish_records_complete_result(store: Home, runs: RunRepository) -> None:
    claim = claimed(store)
    assert runs.event(claim.lease, NewEvent("started", "Started.", {"pid": 12}))
    assert runs.finish(claim.lease, "succeeded", "Done.", exit_code=0, figures=FIGURES)
    run = runs.get("run-1")
    assert (run.status, run.exit_code, run.figures, run.failure) == ("succeeded", 0, FIGURES, None)
    assert run.finished_at is not None
    assert run.worker_id == "worker-a"
    assert kinds(store) == ["submitted", "claimed", "started", "succeeded"]
    assert runs.leases() == ()
    assert list_ids(store, status=["succeeded"]) == ["run-1"]


def test_resume_clears_failure(store: Home, runs: RunRepository) -> None:
    claim = claimed(store)
    runs.finish(claim.lease, "failed", "Failed\x00.", exit_code=1, failure=FAILURE)
    assert runs.get("run-1").failure == FAILURE
    run = runs.resume("run-1")
    assert (run.status, run.failure, run.exit_code, run.finished_at) == ("queued", None, None, None)
    reclaimed = runs.claim("worker-b", ANY_SLOT)
    assert reclaimed is not None
    assert reclaimed.run.num_attempts == 2
    assert reclaimed.run.started_at == claim.run.started_at


def test_queued_run_cancels_immediately(store: Home, runs: RunRepository) -> None:
    queued(store)
    assert runs.cancel("run-1").status == "cancelled"
    assert claim_next(store) is None
    assert list_ids(store) == ["run-1"]
    with pytest.raises(ConflictError, match="was cancelled"):
        runs.cancel("run-1")


def test_repeated_cancel_is_recorded_once(store: Home, runs: RunRepository) -> None:
    claim = claimed(store)
    assert runs.cancel("run-1").status == runs.cancel("run-1").status == "cancelling"
    assert runs.finish(claim.lease, "cancelled", "Cancelled.", exit_code=143)
    assert kinds(store) == ["submitted", "claimed", "cancel-asked", "cancelled"]
    assert runs.resume("run-1").status == "queued"


@pytest.mark.parametrize("status", ["succeeded", "failed"])
def test_cancelling_run_can_finish(store: Home, status: Any, runs: RunRepository) -> None:
    claim = claimed(store)
    runs.cancel("run-1")
    assert runs.finish(claim.lease, status, "The end.")
    assert runs.get("run-1").status == status


def test_cancelling_run_is_never_requeued(store: Home, runs: RunRepository) -> None:
    retried, lost = claimed(store, "run-1").lease, claimed(store, "run-2").lease
    runs.cancel("run-1")
    runs.cancel("run-2")
    assert runs.requeue(retried, "retry", "It died.")
    assert runs.requeue(lost, "lease-lost", "Its worker has gone.")
    assert list_ids(store, status=["cancelled"]) == ["run-2", "run-1"]


def test_running_run_pauses_and_resumes(store: Home, runs: RunRepository) -> None:
    lease = claimed(store).lease
    assert runs.pause("run-1").is_held
    assert runs.pause("run-1").status == "running"
    assert runs.requeue(lease, "paused", "Stopped with a checkpoint.")
    assert claim_next(store) is None
    runs.resume("run-1")
    assert claim_next(store) == "run-1"
    assert kinds(store) == ["submitted", "claimed", "paused", "paused", "resumed", "claimed"]


def test_succeeded_run_rejects_changes(store: Home, runs: RunRepository) -> None:
    runs.finish(claimed(store).lease, "succeeded", "Done.")
    for change in (runs.cancel, runs.pause, runs.resume):
        with pytest.raises(ConflictError):
            change("run-1")
    with pytest.raises(ConflictError, match="succeeded"):
        runs.set_priority("run-1", 3)
    assert kinds(store)[-1] == "succeeded"


def test_worker_cancels_only_on_request(store: Home, runs: RunRepository) -> None:
    lease = claimed(store).lease
    with pytest.raises(ConflictError, match="cannot become cancelled"):
        runs.finish(lease, "cancelled", "Cancelled.")
    assert kinds(store) == ["submitted", "claimed"], "a refused transition leaves no event"


def test_runs_are_filtered_newest_first(store: Home, runs: RunRepository) -> None:
    runs.add(new_run("run-1", sweep_id="sweep-a"))
    runs.add(new_run("run-2").model_copy(update={"model": "google/Gemma-2b", "mode": "lora"}))
    runs.add(new_run("Special_3").model_copy(update={"dataset": "other-v1"}))
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
    page = runs.list(RunFilter(), limit=1, offset=1)
    assert [run.run_id for run in page.data] == ["run-2"]
    assert page.total == 3
    assert runs.counts() == {"queued": 3}


def test_partial_id_finds_run(store: Home, runs: RunRepository) -> None:
    queued(store, "20250131-142907-demo-3f2a")
    queued(store, "20250131-142910-demo-77aa")
    assert runs.find_ids("3f2a") == runs.find_ids("20250131-142907") == ("20250131-142907-demo-3f2a",)
    assert len(runs.find_ids("2025")) == 2
    assert runs.find_ids("f2a") == ()


def test_worker_lifecycle_is_recorded(workers: WorkerRepository) -> None:
    worker = make_worker(slots=(Slot(device="gpu", index=1), Slot(device="cpu")))
    workers.register(worker)
    assert workers.list() == (worker,)
    assert workers.beat("worker-a")
    assert workers.set_status("worker-a", "draining")
    (listed,) = workers.list()
    assert (listed.beats, listed.status) == (1, "draining")
    assert listed.last_seen_at > worker.last_seen_at
    workers.register(worker)
    workers.forget("worker-a")
    assert workers.list() == ()
    assert not workers.beat("worker-a")
