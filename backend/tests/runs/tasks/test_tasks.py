"""Tasks with a real worker: carried out, cancelled, and requeued when the worker dies."""

import os
from dataclasses import replace

import pytest
from support.jobs import wait_for
from support.models import registered
from support.queued_runs import make_worker
from support.tasks import EVALUATE, EXPORT, claimed_task, queued_task
from support.workers import SUCCEEDING, working

from tunix_rt.base.home import Home
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.runs.executors.base import task_job
from tunix_rt.runs.executors.processes import machine
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.tasks.files import TaskDir
from tunix_rt.runs.tasks.store import TaskRepository
from tunix_rt.runs.tasks.types import Task
from tunix_rt.runs.worker import attempt
from tunix_rt.runs.worker.heartbeat import Maintenance

# The queue is tested on both databases; the worker does not depend on them.
pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


ENDLESS = "import time; print('started', flush=True); time.sleep(600)"


def wait_for_status(store: Home, task: Task, status: RunStatus) -> Task:
    wait_for(lambda: TaskRepository(store.database).get(task.task_id).status == status)
    return TaskRepository(store.database).get(task.task_id)


def test_worker_exports_or_reports_failure(store: Home) -> None:
    version = registered(store)
    present = queued_task(store, EXPORT, model=version.reference)
    missing = queued_task(store, EXPORT, model="missing:1")
    with working(store, SUCCEEDING):
        exported = wait_for_status(store, present, "succeeded")
        failed = wait_for_status(store, missing, "failed")
    assert exported.result is not None
    assert exported.result.export is not None
    assert exported.result.export.passed
    assert TaskDir(store.settings.tasks_dir / str(present.task_id)).archive.is_file()
    assert failed.failure is not None
    assert "no registered model" in failed.failure.detail
    assert failed.failure.next_step
    assert failed.num_attempts == 1


def test_running_task_is_cancelled(
    store: Home, monkeypatch: pytest.MonkeyPatch, tasks: TaskRepository
) -> None:
    version = registered(store)
    task = queued_task(store, EVALUATE, model=version.reference)
    job_dir = TaskDir(store.settings.tasks_dir / str(task.task_id)).job_dir
    # The command never ends by itself, so the cancel always arrives in time.
    monkeypatch.setattr(
        attempt, "task_job", lambda *args: replace(task_job(*args), command=("-S", "-c", ENDLESS))
    )
    with working(store, SUCCEEDING):
        wait_for(lambda: "started" in job_dir.output_tail())
        tasks.cancel(task.task_id)
        cancelled = wait_for_status(store, task, "cancelled")
    assert cancelled.result is None
    assert not job_dir.is_output_held()


def test_dead_worker_task_is_requeued(store: Home, workers: WorkerRepository, tasks: TaskRepository) -> None:
    workers.register(make_worker("worker-a", pid=os.getpid(), process_start=f"{machine()}:0"))
    claim = claimed_task(store)
    Maintenance(store, "observer", lambda: (tasks.leases(), frozenset())).requeue_lost_runs()
    task = tasks.get(claim.task.task_id)
    assert (task.status, task.num_failures) == ("queued", 1)
    assert task.not_before is not None
