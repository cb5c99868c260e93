"""Only the runs of lost workers are requeued."""

import os

import pytest
from support.queued_runs import claimed, kinds, make_worker

from tunix_rt.base.home import Home
from tunix_rt.runs.executors.processes import machine, process_start
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.types import Worker
from tunix_rt.runs.worker.heartbeat import Maintenance

ELSEWHERE = "0000:1:55"

pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


class Clock:
    """Set by the test."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def observer(store: Home, clock: Clock) -> Maintenance:
    return Maintenance(
        store, "observer", lambda: (RunRepository(store.database).leases(), frozenset()), clock=clock
    )


def known(store: Home, worker_id: str) -> Worker:
    return next(one for one in WorkerRepository(store.database).list() if one.worker_id == worker_id)


def test_silent_remote_worker_loses_run(store: Home) -> None:
    clock = Clock()
    WorkerRepository(store.database).register(make_worker("worker-a", process_start=ELSEWHERE))
    claimed(store)
    maintenance = observer(store, clock)
    maintenance.requeue_lost_runs()
    settings = store.settings
    clock.now_s += settings.worker_lease_s + settings.cancel_grace_s
    maintenance.requeue_lost_runs()
    assert RunRepository(store.database).get("run-1").status == "running"
    clock.now_s += settings.worker_beat_s + 1
    maintenance.requeue_lost_runs()
    run = RunRepository(store.database).get("run-1")
    assert (run.status, run.num_failures) == ("queued", 1)
    assert run.not_before is not None
    assert kinds(store)[-1] == "lease-lost"
    assert known(store, "worker-a").status == "lost"


def test_beating_remote_worker_keeps_run(store: Home) -> None:
    clock = Clock()
    WorkerRepository(store.database).register(make_worker("worker-a", process_start=ELSEWHERE))
    claim = claimed(store)
    maintenance = observer(store, clock)
    for _ in range(5):
        maintenance.requeue_lost_runs()
        clock.now_s += 80
        assert RunRepository(store.database).beat([claim.lease])
        assert WorkerRepository(store.database).beat("worker-a")
    maintenance.requeue_lost_runs()
    assert RunRepository(store.database).get("run-1").status == "running"
    assert known(store, "worker-a").status == "active"


def test_dead_local_worker_loses_run(store: Home) -> None:
    WorkerRepository(store.database).register(
        make_worker("worker-a", pid=os.getpid(), process_start=f"{machine()}:0")
    )
    claimed(store)
    observer(store, Clock()).requeue_lost_runs()
    assert RunRepository(store.database).get("run-1").status == "queued"
    assert "has died" in RunRepository(store.database).events("run-1")[-1].message


def test_living_local_worker_keeps_run(store: Home) -> None:
    start = process_start(os.getpid())
    assert start is not None
    WorkerRepository(store.database).register(make_worker("worker-a", pid=os.getpid(), process_start=start))
    claimed(store)
    observer(store, Clock()).requeue_lost_runs()
    assert RunRepository(store.database).get("run-1").status == "running"


def test_unanswered_claim_is_requeued(store: Home) -> None:
    claimed(store, worker_id="observer")
    observer(store, Clock()).requeue_lost_runs()
    assert RunRepository(store.database).get("run-1").status == "queued"


def test_cancelling_run_is_not_requeued(store: Home) -> None:
    WorkerRepository(store.database).register(
        make_worker("worker-a", pid=os.getpid(), process_start=f"{machine()}:0")
    )
    claimed(store)
    RunRepository(store.database).cancel("run-1")
    observer(store, Clock()).requeue_lost_runs()
    assert RunRepository(store.database).get("run-1").status == "cancelled"
