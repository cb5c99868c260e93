"""Claims: which run a worker gets, and that no other worker gets it, on SQLite and PostgreSQL."""

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


def claim_next(store: Home, *slots: Slot) -> str | None:
    claim = RunRepository(store.database).claim("worker-a", slots or ANY_SLOT)
    return claim and claim.run.run_id


def test_claims_follow_priority_then_age(store: Home) -> None:
    for run_id, priority in [("low", -1), ("first", 0), ("second", 0), ("high", 5)]:
        queued(store, run_id, priority=priority)
    assert [claim_next(store) for _ in range(5)] == ["high", "first", "second", "low", None]


def test_raised_priority_affects_next_claim(store: Home, runs: RunRepository) -> None:
    queued(store, "first")
    queued(store, "second")
    assert runs.set_priority("second", 1).priority == 1
    assert claim_next(store) == "second"
    assert kinds(store, "second") == ["submitted", "priority", "claimed"]


def test_slot_claims_only_matching_devices(store: Home, runs: RunRepository) -> None:
    queued(store, "on-tpu", device="tpu")
    queued(store, "on-gpu", device="gpu")
    queued(store, "anywhere")
    assert claim_next(store, Slot(device="cpu")) == "anywhere"
    assert claim_next(store, Slot(device="cpu"), Slot(device="gpu", index=0)) == "on-gpu"
    assert claim_next(store, Slot(device="cpu")) is None
    assert claim_next(store, Slot(device="auto")) == "on-tpu"
    assert runs.claim("worker-a", ()) is None


def test_claim_ignores_other_executors(store: Home, runs: RunRepository) -> None:
    queued(store, executor="ray")
    assert claim_next(store) is None
    claim = runs.claim("worker-a", ANY_SLOT, "ray")
    assert claim is not None
    assert claim.run.num_attempts == 1


def test_paused_queue_yields_no_claims(store: Home, flags: FlagRepository) -> None:
    queued(store)
    flags.set_queue_paused(True)
    flags.set_queue_paused(True)
    assert flags.is_queue_paused()
    assert claim_next(store) is None
    flags.set_queue_paused(False)
    assert not flags.is_queue_paused()
    assert claim_next(store) == "run-1"


def test_held_run_waits_for_resume(store: Home, runs: RunRepository) -> None:
    queued(store, is_held=True)
    assert claim_next(store) is None
    runs.resume("run-1")
    assert claim_next(store) == "run-1"
    assert kinds(store) == ["submitted", "resumed", "claimed"]


def test_retry_waits_until_due(store: Home, runs: RunRepository) -> None:
    """A retry never waits longer than the largest backoff, even if the clock is set back."""
    claim = claimed(store)
    due_at = NOON + timedelta(seconds=8)
    assert runs.requeue(claim.lease, "retry", "It died.", not_before=due_at, num_failures=1)

    def is_claimed_at(seconds: float) -> bool:
        repository = RunRepository(store.database, now=lambda: NOON + timedelta(seconds=seconds))
        claim = repository.claim("worker-a", ANY_SLOT)
        return claim is not None and repository.requeue(claim.lease, "retry", "Again.", not_before=due_at)

    assert not is_claimed_at(7)
    assert is_claimed_at(8)
    assert not is_claimed_at(8 - BACKOFF_CAP_S)
    assert is_claimed_at(7 - BACKOFF_CAP_S)
    assert runs.get("run-1").num_failures == 1


def test_resume_skips_retry_wait(store: Home, runs: RunRepository) -> None:
    claim = claimed(store)
    due_at = claim.run.queued_at + timedelta(seconds=200)
    runs.requeue(claim.lease, "retry", "It died.", not_before=due_at)
    assert claim_next(store) is None
    runs.resume("run-1")
    assert claim_next(store) == "run-1"


def test_claim_returns_run_and_lease(store: Home, runs: RunRepository) -> None:
    claim = claimed(store)
    assert claim.run.num_attempts == 1
    assert claim.run.status == "running"
    assert claim.run.worker_id == "worker-a"
    assert claim.run.started_at is not None
    assert claim.run.request.recipe == "demo"
    assert runs.leases() == (LeaseBeat("run-1", "worker-a", claim.lease.token, 0, 0),)


def test_threads_never_claim_same_run(store: Home, runs: RunRepository) -> None:
    run_ids = [f"run-{number}" for number in range(40)]
    for run_id in run_ids:
        queued(store, run_id)

    def claim_all(worker: int) -> list[str]:
        claimed_ids = []
        while (claim := runs.claim(f"worker-{worker}", ANY_SLOT)) is not None:
            claimed_ids.append(claim.run.run_id)
        return claimed_ids

    with ThreadPoolExecutor(4) as pool:
        claimed_ids = [run_id for part in pool.map(claim_all, range(4)) for run_id in part]
    assert sorted(claimed_ids) == sorted(run_ids)


def test_processes_never_claim_same_run(store: Home) -> None:
    run_ids = [f"run-{number}" for number in range(60)]
    for run_id in run_ids:
        queued(store, run_id)
    with ExitStack() as stack:
        children = [stack.enter_context(start_claimer(store, f"worker-{number}")) for number in range(2)]
        assert [child.stdout.readline() for child in children] == ["ready\n"] * 2
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        claimed_ids = [run_id for child in children for run_id in child.stdout.read().split()]
    assert [child.returncode for child in children] == [0, 0]
    assert sorted(claimed_ids) == sorted(run_ids)


def start_claimer(store: Home, worker_id: str) -> Any:
    command = [sys.executable, claim_child.__file__, store.settings.resolved_database_url, worker_id]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_synchronous_level_follows_durability(tmp_path: Path) -> None:
    store = open_home(Settings(home=tmp_path))
    full, normal = 2, 1
    for is_durable, level in ((True, full), (False, normal), (True, full)):
        with writing(store.database, is_durable=is_durable) as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == level
    store.close()
