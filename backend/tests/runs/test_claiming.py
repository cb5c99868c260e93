"""Which run a worker gets, and that no other gets it, on SQLite and on PostgreSQL."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from support import claim_child
from support.queued_runs import ANY_SLOT, NOON, claimed, kinds, queued

from tunix_rt.base.db.engine import writing
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import FlagRepository
from tunix_rt.runs.types import BACKOFF_CAP_S, LeaseBeat, Slot


def taken(store: Home, *slots: Slot) -> str | None:
    claim = RunRepository(store.database).claim("worker-a", slots or ANY_SLOT)
    return claim and claim.run.run_id


def test_claims_follow_priority_then_age(store: Home) -> None:
    for run_id, priority in [("low", -1), ("first", 0), ("second", 0), ("high", 5)]:
        queued(store, run_id, priority=priority)
    assert [taken(store) for _ in range(5)] == ["high", "first", "second", "low", None]


def test_raised_priority_affects_next_claim(store: Home) -> None:
    queued(store, "first")
    queued(store, "second")
    assert RunRepository(store.database).set_priority("second", 1).priority == 1
    assert taken(store) == "second"
    assert kinds(store, "second") == ["submitted", "priority", "claimed"]


def test_slot_claims_only_matching_devices(store: Home) -> None:
    queued(store, "on-tpu", device="tpu")
    queued(store, "on-gpu", device="gpu")
    queued(store, "anywhere")
    assert taken(store, Slot(device="cpu")) == "anywhere"
    assert taken(store, Slot(device="cpu"), Slot(device="gpu", index=0)) == "on-gpu"
    assert taken(store, Slot(device="cpu")) is None
    assert taken(store, Slot(device="auto")) == "on-tpu"
    assert RunRepository(store.database).claim("worker-a", ()) is None


def test_claim_ignores_other_executors(store: Home) -> None:
    queued(store, executor="ray")
    assert taken(store) is None
    claim = RunRepository(store.database).claim("worker-a", ANY_SLOT, "ray")
    assert claim is not None
    assert claim.run.num_attempts == 1


def test_paused_queue_yields_no_claims(store: Home) -> None:
    queued(store)
    FlagRepository(store.database).set_queue_paused(True)
    FlagRepository(store.database).set_queue_paused(True)
    assert FlagRepository(store.database).is_queue_paused()
    assert taken(store) is None
    FlagRepository(store.database).set_queue_paused(False)
    assert not FlagRepository(store.database).is_queue_paused()
    assert taken(store) == "run-1"


def test_held_run_waits_for_resume(store: Home) -> None:
    queued(store, is_held=True)
    assert taken(store) is None
    RunRepository(store.database).resume("run-1")
    assert taken(store) == "run-1"
    assert kinds(store) == ["submitted", "resumed", "claimed"]


def test_retry_waits_until_due(store: Home) -> None:
    claim = claimed(store)
    moment = NOON + timedelta(seconds=8)
    assert RunRepository(store.database).requeue(
        claim.lease, "retry", "It died.", not_before=moment, num_failures=1
    )

    def taken_at(seconds: float) -> bool:
        runs = RunRepository(store.database, now=lambda: NOON + timedelta(seconds=seconds))
        found = runs.claim("worker-a", ANY_SLOT)
        return found is not None and runs.requeue(found.lease, "retry", "Again.", not_before=moment)

    assert not taken_at(7)
    assert taken_at(8)
    assert not taken_at(8 - BACKOFF_CAP_S)
    assert taken_at(7 - BACKOFF_CAP_S), "the clock was set back by more than a back-off"
    assert RunRepository(store.database).get("run-1").num_failures == 1


def test_resume_skips_retry_wait(store: Home) -> None:
    claim = claimed(store)
    later = claim.run.queued_at + timedelta(seconds=200)
    RunRepository(store.database).requeue(claim.lease, "retry", "It died.", not_before=later)
    assert taken(store) is None
    RunRepository(store.database).resume("run-1")
    assert taken(store) == "run-1"


def test_claim_returns_run_and_lease(store: Home) -> None:
    claim = claimed(store)
    assert claim.run.num_attempts == 1
    assert claim.run.status == "running"
    assert claim.run.worker_id == "worker-a"
    assert claim.run.started_at is not None
    assert claim.run.request.recipe == "demo"
    assert RunRepository(store.database).leases() == (
        LeaseBeat("run-1", "worker-a", claim.lease.token, 0, 0),
    )


def test_threads_never_claim_same_run(store: Home) -> None:
    run_ids = [f"run-{number}" for number in range(40)]
    for run_id in run_ids:
        queued(store, run_id)

    def take_all(worker: int) -> list[str]:
        found = []
        while (claim := RunRepository(store.database).claim(f"worker-{worker}", ANY_SLOT)) is not None:
            found.append(claim.run.run_id)
        return found

    with ThreadPoolExecutor(4) as pool:
        found = [run_id for part in pool.map(take_all, range(4)) for run_id in part]
    assert sorted(found) == sorted(run_ids)


def test_processes_never_claim_same_run(store: Home) -> None:
    run_ids = [f"run-{number}" for number in range(60)]
    for run_id in run_ids:
        queued(store, run_id)
    with ExitStack() as stack:
        children = [stack.enter_context(claiming(store, f"worker-{number}")) for number in range(2)]
        assert [child.stdout.readline() for child in children] == ["ready\n"] * 2
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        found = [run_id for child in children for run_id in child.stdout.read().split()]
    assert [child.returncode for child in children] == [0, 0]
    assert sorted(found) == sorted(run_ids)


def claiming(store: Home, worker_id: str) -> Any:
    command = [sys.executable, claim_child.__file__, store.settings.resolved_database_url, worker_id]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_synchronous_level_follows_durability(tmp_path: Path) -> None:
    store = open_home(Settings(home=tmp_path))
    full, normal = 2, 1
    for is_durable, level in ((True, full), (False, normal), (True, full)):
        with writing(store.database, is_durable=is_durable) as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == level
    store.close()
