"""The queue of tasks, on SQLite and PostgreSQL."""

from datetime import timedelta
from uuid import uuid4

import pytest
from support.queued_runs import ANY_SLOT, NOON
from support.tasks import EVALUATE, EXPORT, claimed_task, queued_task

from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.engines.training.types import RunFailure
from tunix_rt.runs.store.workers import FlagRepository
from tunix_rt.runs.tasks.store import TaskRepository
from tunix_rt.runs.tasks.types import TaskFilter, TaskResult
from tunix_rt.runs.types import Slot


def test_tasks_are_claimed_once_in_order(store: Home, tasks: TaskRepository) -> None:
    first, second = queued_task(store), queued_task(store, EXPORT)
    claims = [tasks.claim("worker-a", ANY_SLOT) for _ in range(3)]
    assert [claim and claim.task.task_id for claim in claims] == [first.task_id, second.task_id, None]
    assert claims[0] is not None
    assert (claims[0].task.status, claims[0].task.num_attempts) == ("running", 1)
    assert tasks.get(first.task_id) == claims[0].task


def test_claim_respects_device_and_pause(store: Home, tasks: TaskRepository, flags: FlagRepository) -> None:
    queued_task(store, EVALUATE.model_copy(update={"device": "gpu"}))
    assert tasks.claim("worker-a", (Slot(device="cpu"),)) is None
    flags.set_queue_paused(True)
    assert tasks.claim("worker-a", ANY_SLOT) is None
    flags.set_queue_paused(False)
    assert tasks.claim("worker-a", (Slot(device="gpu", index=0),)) is not None


def test_lease_beats_and_finishes_once(store: Home, tasks: TaskRepository) -> None:
    claim = claimed_task(store)
    assert [answer.status for answer in tasks.beat([claim.lease])] == ["running"]
    assert [(lease.token, lease.beats) for lease in tasks.leases()] == [(claim.lease.token, 1)]
    result = TaskResult(evaluation_id=uuid4())
    assert tasks.finish(claim.lease, "succeeded", result=result)
    assert not tasks.finish(claim.lease, "failed")
    assert not tasks.beat([claim.lease])
    finished = tasks.get(claim.task.task_id)
    assert (finished.status, finished.result) == ("succeeded", result)
    assert finished.finished_at is not None


def test_retry_waits_until_due(store: Home, tasks: TaskRepository) -> None:
    claim = claimed_task(store)
    due_at = NOON + timedelta(seconds=8)
    assert tasks.requeue(claim.lease, not_before=due_at, num_failures=1)

    def is_claimed_at(seconds: float) -> bool:
        repository = TaskRepository(store.database, now=lambda: NOON + timedelta(seconds=seconds))
        return repository.claim("worker-a", ANY_SLOT) is not None

    assert not is_claimed_at(7)
    assert is_claimed_at(8)
    assert tasks.get(claim.task.task_id).num_failures == 1


def test_running_task_cancels_after_worker_stops(store: Home, tasks: TaskRepository) -> None:
    waiting = queued_task(store)
    assert tasks.cancel(waiting.task_id).status == "cancelled"
    claim = claimed_task(store)
    assert tasks.cancel(claim.task.task_id).status == "cancelling"
    assert [answer.status for answer in tasks.beat([claim.lease])] == ["cancelling"]
    assert tasks.requeue(claim.lease)
    assert tasks.get(claim.task.task_id).status == "cancelled"
    with pytest.raises(ConflictError, match="nothing to cancel"):
        tasks.cancel(claim.task.task_id)


def test_tasks_are_filtered_newest_first(store: Home, tasks: TaskRepository) -> None:
    created = [queued_task(store), queued_task(store, EXPORT), queued_task(store, EXPORT, model="run-1")]
    ids = [task.task_id for task in created]

    def list_indices(limit: int = 10, **criteria: str) -> list[int]:
        page = tasks.list(TaskFilter.model_validate(criteria), limit=limit, offset=0)
        return [ids.index(task.task_id) for task in page.data]

    assert list_indices() == [2, 1, 0]
    assert list_indices(limit=1) == [2]
    assert list_indices(kind="export") == [2, 1]
    assert list_indices(kind="export", model="sums:1") == [1]
    assert tasks.list(TaskFilter(status=("failed",)), limit=10, offset=0).total == 0


def test_running_task_cannot_be_removed(store: Home, tasks: TaskRepository) -> None:
    claim = claimed_task(store)
    with pytest.raises(ConflictError, match="tasks cancel"):
        tasks.remove(claim.task.task_id)
    failure = RunFailure(code="error", detail="It broke.", next_step="Fix it.")
    assert tasks.finish(claim.lease, "failed", failure=failure)
    assert tasks.get(claim.task.task_id).failure == failure
    tasks.remove(claim.task.task_id)
    with pytest.raises(NotFoundError, match="tasks list"):
        tasks.get(claim.task.task_id)
