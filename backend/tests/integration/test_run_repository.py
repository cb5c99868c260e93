"""Runs in the queue and in the hands of workers: the same behaviour on SQLite and on PostgreSQL."""

from typing import Any

import pytest
from support.queued_runs import ANY_SLOT, claimed, kinds, make_worker, new_run, queued

from tunix_rt.core.errors import ConflictError, NotFoundError
from tunix_rt.core.run_record import RunFailure, RunFigures
from tunix_rt.core.runs.run import Lease
from tunix_rt.core.runs.store_types import BeatAnswer, RunFilter
from tunix_rt.core.runs.worker import Slot
from tunix_rt.services.store import Store

FIGURES = RunFigures(num_steps=2, num_planned_steps=2, num_examples=4, num_dropped_examples=0, fill_ratio=0.5)
FAILURE = RunFailure(code="storage", detail="The disk is full\x00.", next_step="Free some.")


def ids(store: Store, **criteria: Any) -> list[str]:
    page = store.runs.list(RunFilter.model_validate(criteria), limit=100, offset=0)
    assert page.total == len(page.data)
    return [run.run_id for run in page.data]


def taken(store: Store, *slots: Slot) -> str | None:
    claim = store.runs.claim("worker-a", slots or ANY_SLOT)
    return claim and claim.run.run_id


def test_a_submitted_run_comes_back_as_it_was_asked_for(store: Store) -> None:
    run = queued(store, priority=7, eval_set="eval_v2", overrides=("training.num_steps=3",))
    assert run == store.runs.get("run-1")
    assert (run.status, run.priority, run.num_attempts, run.is_held) == ("queued", 7, 0, False)
    assert run.request.overrides == ("training.num_steps=3",)
    assert run.recipe["training"] == {"num_steps": 2}
    assert kinds(store) == ["submitted"]


def test_an_id_is_given_once(store: Store) -> None:
    queued(store)
    with pytest.raises(ConflictError, match="already"):
        queued(store)


def test_an_unknown_run_is_not_found_whatever_is_asked(store: Store) -> None:
    runs = store.runs
    for ask in (runs.get, runs.status_of, runs.events, runs.cancel, runs.pause, runs.resume, runs.remove):
        with pytest.raises(NotFoundError, match="runs list"):
            ask("nothing")


def test_one_beat_keeps_all_leases_of_a_worker_and_tells_what_was_asked(store: Store) -> None:
    first, second, third = (claimed(store, name).lease for name in ("run-1", "run-2", "run-3"))
    store.runs.cancel("run-2")
    store.runs.pause("run-3")
    lost = Lease(run_id="run-1", token="0" * 32)
    assert sorted(store.runs.beat([first, second, third, lost]), key=lambda answer: answer.token) == sorted(
        [
            BeatAnswer(first.token, "running", False),
            BeatAnswer(second.token, "cancelling", False),
            BeatAnswer(third.token, "running", True),
        ],
        key=lambda answer: answer.token,
    )
    assert [lease.beats for lease in store.runs.leases()] == [1, 1, 1]
    assert store.runs.beat([]) == ()


def test_whoever_lost_the_lease_can_write_nothing(store: Store) -> None:
    old = claimed(store).lease
    assert store.runs.lose("run-1", old.token, "Its worker has gone.", num_failures=1)
    assert kinds(store)[-1] == "lease-lost"
    new = store.runs.claim("worker-b", ANY_SLOT)
    assert new is not None
    assert new.attempt == 2
    assert new.run.num_failures == 1
    before = (store.runs.get("run-1"), kinds(store))
    assert store.runs.beat([old]) == ()
    assert not store.runs.start(old, "Started.")
    assert not store.runs.event(old, "warning", "Hm.")
    assert not store.runs.finish(old, "succeeded", "Done.")
    assert not store.runs.requeue(old, "retry", "Again.")
    assert not store.runs.lose("run-1", old.token, "Once more.")
    assert (store.runs.get("run-1"), kinds(store)) == before


def test_the_end_of_a_run_is_written_whole(store: Store) -> None:
    claim = claimed(store)
    assert store.runs.start(claim.lease, "Started.", {"pid": 12})
    assert store.runs.finish(claim.lease, "succeeded", "Done.", exit_code=0, figures=FIGURES)
    run = store.runs.get("run-1")
    assert (run.status, run.exit_code, run.figures, run.failure) == ("succeeded", 0, FIGURES, None)
    assert run.finished_at is not None
    assert run.worker_id == "worker-a"
    assert kinds(store) == ["submitted", "claimed", "started", "succeeded"]
    assert store.runs.leases() == ()
    assert ids(store, status=["succeeded"]) == ["run-1"]


def test_a_failure_keeps_its_words_and_a_resume_forgets_it(store: Store) -> None:
    claim = claimed(store)
    store.runs.finish(claim.lease, "failed", "Failed\x00.", exit_code=1, failure=FAILURE)
    assert store.runs.get("run-1").failure == FAILURE
    run = store.runs.resume("run-1")
    assert (run.status, run.failure, run.exit_code, run.finished_at) == ("queued", None, None, None)
    again = store.runs.claim("worker-b", ANY_SLOT)
    assert again is not None
    assert again.attempt == 2
    assert again.run.started_at == claim.run.started_at


def test_a_queued_run_is_cancelled_at_once(store: Store) -> None:
    queued(store)
    assert store.runs.cancel("run-1").status == "cancelled"
    assert taken(store) is None
    assert ids(store) == ["run-1"]
    with pytest.raises(ConflictError, match="was cancelled"):
        store.runs.cancel("run-1")


def test_a_running_run_is_asked_to_stop_once(store: Store) -> None:
    claim = claimed(store)
    assert store.runs.cancel("run-1").status == store.runs.cancel("run-1").status == "cancelling"
    assert store.runs.finish(claim.lease, "cancelled", "Cancelled.", exit_code=143)
    assert kinds(store) == ["submitted", "claimed", "cancel-asked", "cancelled"]
    assert store.runs.resume("run-1").status == "queued"


@pytest.mark.parametrize("status", ["succeeded", "failed"])
def test_a_run_may_reach_its_end_before_it_hears_of_the_cancel(store: Store, status: Any) -> None:
    claim = claimed(store)
    store.runs.cancel("run-1")
    assert store.runs.finish(claim.lease, status, "The end.")
    assert store.runs.get("run-1").status == status


def test_a_run_that_was_told_to_stop_never_enters_the_queue_again(store: Store) -> None:
    retried, lost = claimed(store, "run-1").lease, claimed(store, "run-2").lease
    store.runs.cancel("run-1")
    store.runs.cancel("run-2")
    assert store.runs.requeue(retried, "retry", "It died.")
    assert store.runs.lose("run-2", lost.token, "Its worker has gone.", failure=FAILURE)
    assert ids(store, status=["cancelled"]) == ["run-2", "run-1"]


def test_a_lost_run_that_failed_too_often_says_why(store: Store) -> None:
    lease = claimed(store).lease
    assert store.runs.lose("run-1", lease.token, "Its worker has gone.", failure=FAILURE)
    assert store.runs.get("run-1").failure == FAILURE


def test_a_running_run_is_paused_by_its_worker_and_goes_on_later(store: Store) -> None:
    lease = claimed(store).lease
    assert store.runs.pause("run-1").is_held
    assert store.runs.pause("run-1").status == "running"
    assert store.runs.requeue(lease, "paused", "Stopped with a checkpoint.")
    assert taken(store) is None
    store.runs.resume("run-1")
    assert taken(store) == "run-1"
    assert kinds(store) == ["submitted", "claimed", "paused", "paused", "resumed", "claimed"]


def test_what_has_ended_well_stays_as_it_is(store: Store) -> None:
    store.runs.finish(claimed(store).lease, "succeeded", "Done.")
    for change in (store.runs.cancel, store.runs.pause, store.runs.resume):
        with pytest.raises(ConflictError):
            change("run-1")
    with pytest.raises(ConflictError, match="succeeded"):
        store.runs.set_priority("run-1", 3)
    assert kinds(store)[-1] == "succeeded"


def test_only_what_was_asked_to_stop_can_be_cancelled_by_its_worker(store: Store) -> None:
    lease = claimed(store).lease
    with pytest.raises(ConflictError, match="cannot become cancelled"):
        store.runs.finish(lease, "cancelled", "Cancelled.")
    assert kinds(store) == ["submitted", "claimed"], "a refused step leaves no event"


def test_lists_are_filtered_and_newest_first(store: Store) -> None:
    store.runs.add(new_run("run-1", sweep_id="sweep-a"))
    store.runs.add(new_run("run-2").model_copy(update={"model": "google/Gemma-2b", "mode": "lora"}))
    store.runs.add(new_run("Special_3").model_copy(update={"dataset": "other-v1"}))
    assert ids(store) == ["Special_3", "run-2", "run-1"]
    assert ids(store, sweep_id="sweep-a") == ["run-1"]
    assert ids(store, model="gemma") == ids(store, mode="lora") == ids(store, text="GEMMA") == ["run-2"]
    assert ids(store, dataset="other-v1") == ids(store, text="special_") == ["Special_3"]
    assert ids(store, text="%") == []
    assert ids(store, status=["running", "failed"]) == []
    page = store.runs.list(RunFilter(), limit=1, offset=1)
    assert [run.run_id for run in page.data] == ["run-2"]
    assert page.total == 3
    assert store.runs.counts() == {"queued": 3}


def test_an_id_is_found_by_its_beginning_or_its_last_word(store: Store) -> None:
    queued(store, "20250131-142907-demo-3f2a")
    queued(store, "20250131-142910-demo-77aa")
    assert (
        store.runs.find_ids("3f2a")
        == store.runs.find_ids("20250131-142907")
        == ("20250131-142907-demo-3f2a",)
    )
    assert len(store.runs.find_ids("2025")) == 2
    assert store.runs.find_ids("f2a") == ()


def test_workers_are_known_until_they_are_forgotten(store: Store) -> None:
    worker = make_worker(slots=(Slot(device="gpu", index=1), Slot(device="cpu")))
    store.workers.register(worker)
    assert store.workers.list() == (worker,)
    assert store.workers.get("worker-a") == worker
    assert store.workers.beat("worker-a")
    assert store.workers.set_status("worker-a", "draining")
    seen = store.workers.get("worker-a")
    assert seen is not None
    assert (seen.beats, seen.status) == (1, "draining")
    assert seen.last_seen_at > worker.last_seen_at
    store.workers.register(worker)
    store.workers.forget("worker-a")
    assert store.workers.get("worker-a") is None
    assert not store.workers.beat("worker-a")
