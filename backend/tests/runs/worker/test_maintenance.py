"""Maintenance requeues the runs of lost workers, and no others."""

import os

import pytest
from support.queued_runs import claimed, kinds, make_worker

from tunix_rt.base.home import Home
from tunix_rt.runs.executors.processes import machine, process_start
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.types import Worker
from tunix_rt.runs.worker.heartbeat import Maintenance

REMOTE_PROCESS = "0000:1:55"

pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


class Clock:
    """A clock that tests set by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def make_maintenance(store: Home, clock: Clock) -> Maintenance:
    return Maintenance(
        store, "observer", lambda: (RunRepository(store.database).leases(), frozenset()), clock=clock
    )


def get_worker(store: Home, worker_id: str) -> Worker:
    return next(worker for worker in WorkerRepository(store.database).list() if worker.worker_id == worker_id)


def register_dead_worker(store: Home) -> None:
    """Register a worker of this machine whose process no longer exists."""
    worker = make_worker("worker-a", pid=os.getpid(), process_start=f"{machine()}:0")
    WorkerRepository(store.database).register(worker)


def test_silent_remote_worker_loses_run(store: Home, runs: RunRepository, workers: WorkerRepository) -> None:
    clock = Clock()
    workers.register(make_worker("worker-a", process_start=REMOTE_PROCESS))
    claimed(store)
    maintenance = make_maintenance(store, clock)
    maintenance.requeue_lost_runs()
    settings = store.settings
    clock.now_s += settings.worker_lease_s + settings.cancel_grace_s
    maintenance.requeue_lost_runs()
    assert runs.get("run-1").status == "running"
    clock.now_s += settings.worker_beat_s + 1
    maintenance.requeue_lost_runs()
    run = runs.get("run-1")
    assert (run.status, run.num_failures) == ("queued", 1)
    assert run.not_before is not None
    assert kinds(store)[-1] == "lease-lost"
    assert get_worker(store, "worker-a").status == "lost"


def test_beating_remote_worker_keeps_run(store: Home, runs: RunRepository, workers: WorkerRepository) -> None:
    clock = Clock()
    workers.register(make_worker("worker-a", process_start=REMOTE_PROCESS))
    claim = claimed(store)
    maintenance = make_maintenance(store, clock)
    for _ in range(5):
        maintenance.requeue_lost_runs()
        clock.now_s += 80
        assert runs.beat([claim.lease])
        assert workers.beat("worker-a")
    maintenance.requeue_lost_runs()
    assert runs.get("run-1").status == "running"
    assert get_worker(store, "worker-a").status == "active"


def test_dead_local_worker_loses_run(store: Home, runs: RunRepository) -> None:
    register_dead_worker(store)
    claimed(store)
    make_maintenance(store, Clock()).requeue_lost_runs()
    assert runs.get("run-1").status == "queued"
    assert "has died" in runs.events("run-1")[-1].message


def test_living_local_worker_keeps_run(store: Home, runs: RunRepository, workers: WorkerRepository) -> None:
    start = process_start(os.getpid())
    assert start is not None
    workers.register(make_worker("worker-a", pid=os.getpid(), process_start=start))
    claimed(store)
    make_maintenance(store, Clock()).requeue_lost_runs()
    assert runs.get("run-1").status == "running"


def test_unanswered_claim_is_requeued(store: Home, runs: RunRepository) -> None:
    claimed(store, worker_id="observer")
    make_maintenance(store, Clock()).requeue_lost_runs()
    assert runs.get("run-1").status == "queued"


def test_cancelling_run_is_not_requeued(store: Home, runs: RunRepository) -> None:
    register_dead_worker(store)
    claimed(store)
    runs.cancel("run-1")
    make_maintenance(store, Clock()).requeue_lost_runs()
    assert runs.get("run-1").status == "cancelled"
