"""Short real runs while workers, supervisors, engines and PostgreSQL are killed at random: is each end right?

Every run trains the same tiny model, so that all of them must show the same losses, however often they were
killed. Prints a table and exits 1 when anything is wrong. Needs Linux.

    python -m benchmarks.fault_soak [--runs 40] [--workers 4] [--database postgresql|sqlite] [--json FILE]
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from support.datasets import build, sums
from support.engine_processes import doubled_runs, engines_alive
from support.postgres import PostgresServer, restartable_postgres

from benchmarks.fault_checks import NUM_STEPS, losses_of, problems_of
from tunix_rt.base.errors import ConflictError, StorageError
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.runs.executors.processes import is_gone
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.submit import submit
from tunix_rt.runs.types import TERMINAL, RunFilter, RunRequest

RECIPE = {
    "model": {"name": "tiny-llama", "weights": "random"},
    "data": {"dataset": "demo-v1", "row_length": 64},
    "training": {"num_steps": NUM_STEPS, "batch_size": 4, "learning_rate": 1e-2, "remat": "none"},
    "output": {"save_every_steps": 2},
}
# Of a hundred runs, so many are cancelled on the way, and so many cannot run at all.
NUM_CANCELLED, NUM_WRONG = 10, 5
VICTIMS = {"engine": 3, "supervisor": 2, "worker": 2, "database": 1}
LOOK_EVERY_S = 0.2


@dataclass
class Soak:
    """Everything that is under way."""

    store: Home
    postgres: PostgresServer | None
    dice: random.Random
    expected: dict[str, tuple[RunStatus, ...]] = field(default_factory=dict)
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    doubled: set[str] = field(default_factory=set)
    is_over: threading.Event = field(default_factory=threading.Event)


def main() -> None:
    """Run it, check it, print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="postgresql")
    parser.add_argument("--engine", choices=["jax", "torch"], default="jax")
    parser.add_argument("--kill-every-s", type=float, default=8.0, help="mean time between two kills")
    parser.add_argument("--patience-s", type=float, default=900.0, help="for the next run to end")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    # So that everything that was started is ended.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder), options.database) as (store, postgres):
        soak = Soak(store, postgres, random.Random(options.seed))
        began_s = time.monotonic()
        queue_runs(soak, options.runs, options.engine)
        put_through(soak, options.workers, options.kill_every_s, options.patience_s)
        report = checked(soak) | {"minutes": round((time.monotonic() - began_s) / 60, 1)}
    print_report(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    sys.exit(bool(report["problems"]))


@contextmanager
def opened(home: Path, database: str) -> Iterator[tuple[Home, PostgresServer | None]]:
    """An empty store with a dataset."""
    build(home, sums(48), splits={"train": 0.75, "validation": 0.25})
    with restartable_postgres() if database == "postgresql" else nullcontext() as postgres:
        url = None if postgres is None else f"{postgres.url}/postgres"
        with closing(open_home(Settings(home=home, database_url=url))) as store:
            yield store, postgres


def queue_runs(soak: Soak, num_runs: int, engine: str) -> None:
    """Good ones, some that will be cancelled, some whose recipe is lost: nobody can train those."""
    for number in range(num_runs):
        request = RunRequest.model_validate({"recipe": RECIPE, "engine": engine, "device": "cpu"})
        run_id = submit(soak.store, request, run_id=f"soak-{number:04d}").run_id
        kind = soak.dice.randrange(100)
        soak.expected[run_id] = ("succeeded",)
        if kind < NUM_CANCELLED:
            soak.expected[run_id] = ("cancelled", "succeeded")
        elif kind < NUM_CANCELLED + NUM_WRONG:
            soak.expected[run_id] = ("failed",)
            JobDir(soak.store.settings.jobs_dir / run_id).recipe.unlink()


def put_through(soak: Soak, num_workers: int, kill_every_s: float, patience_s: float) -> None:
    """Keep workers at work and kill at random until every run has ended."""
    threads = [
        threading.Thread(target=watch, args=(soak,)),
        threading.Thread(target=cancel_some, args=(soak,)),
    ]
    threads.append(threading.Thread(target=kill_at_random, args=(soak, kill_every_s)))
    soak.workers = [start_worker(soak.store.settings) for _ in range(num_workers)]
    for thread in threads:
        thread.start()
    try:
        wait_for_the_end(soak, patience_s)
    finally:
        soak.is_over.set()
        for thread in threads:
            thread.join()
        for worker in soak.workers:
            worker.terminate()
        for worker in soak.workers:
            worker.wait(120)


def start_worker(settings: Settings) -> "subprocess.Popen[bytes]":
    """A real worker, with little patience: what is lost is found soon."""
    named = {
        "TUNIX_RT_HOME": str(settings.home_dir),
        "TUNIX_RT_WORKER_BEAT_S": "0.5",
        "TUNIX_RT_WORKER_LEASE_S": "20",
        "TUNIX_RT_CANCEL_GRACE_S": "10",
        # A run that the dice hit again and again is not to blame.
        "TUNIX_RT_RUN_MAX_FAILURES": "1000",
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(settings.home_dir / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "OMP_NUM_THREADS": "1",
    }
    if settings.database_url is not None:
        named["TUNIX_RT_DATABASE_URL"] = settings.database_url
    with (settings.home_dir / "workers.log").open("ab") as log:
        command = [sys.executable, "-m", "tunix_rt.cli", "worker", "--slot", "cpu"]
        return subprocess.Popen(command, env=os.environ | named, stdout=log, stderr=log)


def wait_for_the_end(soak: Soak, patience_s: float) -> None:
    """Until every run has ended; a worker that is gone is replaced."""
    num_ended, since_s = 0, time.monotonic()
    while num_ended < len(soak.expected):
        soak.is_over.wait(1.0)
        soak.workers = [
            worker if worker.poll() is None else start_worker(soak.store.settings) for worker in soak.workers
        ]
        with suppress(StorageError):
            counts = RunRepository(soak.store.database).counts()
            now_ended = sum(counts.get(status, 0) for status in TERMINAL)
            if now_ended > num_ended:
                num_ended, since_s = now_ended, time.monotonic()
                print(f"{num_ended} of {len(soak.expected)} ended, {soak.kills.total()} kills", flush=True)
            hurry(soak.store)
        if time.monotonic() - since_s > patience_s:
            print(f"nothing has ended for {patience_s:.0f} s", flush=True)
            return


def hurry(store: Home) -> None:
    """Let runs that the dice hit again and again go on at once: they would wait for minutes."""
    for run in RunRepository(store.database).list(RunFilter(status=("queued",)), limit=1000, offset=0).data:
        if run.not_before is not None and run.num_failures > 2:
            RunRepository(store.database).resume(run.run_id)


def watch(soak: Soak) -> None:
    """Look again and again whether two attempts at one run are under way."""
    while not soak.is_over.wait(LOOK_EVERY_S):
        soak.doubled |= doubled_runs(soak.store.settings.runs_dir)


def cancel_some(soak: Soak) -> None:
    """Cancel those that are to be cancelled when they run, or before."""
    left = [run_id for run_id, expected in soak.expected.items() if "cancelled" in expected]
    soak.dice.shuffle(left)
    while left and not soak.is_over.wait(1.0):
        with suppress(StorageError):
            running = [
                run_id
                for run_id in left
                if RunRepository(soak.store.database).status_of(run_id).status == "running"
            ]
            for run_id in running:
                with suppress(ConflictError):
                    RunRepository(soak.store.database).cancel(run_id)
                left.remove(run_id)


def kill_at_random(soak: Soak, mean_s: float) -> None:
    """SIGKILL somebody now and then; PostgreSQL is stopped and started again."""
    dice = random.Random(soak.dice.random())
    weights = VICTIMS if soak.postgres is not None else {**VICTIMS, "database": 0}
    while not soak.is_over.wait(dice.expovariate(1 / mean_s)):
        (kind,) = dice.choices(list(weights), weights=list(weights.values()))
        if kind == "database" and soak.postgres is not None:
            soak.postgres.stop()
            soak.is_over.wait(dice.uniform(0, 4))
            soak.postgres.start()
            soak.kills["database"] += 1
        elif victims := _victims(soak, kind):
            with suppress(ProcessLookupError):
                os.kill(dice.choice(victims), signal.SIGKILL)
                soak.kills[kind] += 1


def _victims(soak: Soak, kind: str) -> list[int]:
    if kind == "engine":
        return [engine.pid for engine in engines_alive(soak.store.settings.runs_dir)]
    if kind == "worker":
        return [worker.pid for worker in soak.workers if worker.poll() is None]
    children = (JobDir(soak.store.settings.jobs_dir / run_id).read_child() for run_id in soak.expected)
    return [
        child.pid for child in children if child is not None and not is_gone(child.pid, child.process_start)
    ]


def checked(soak: Soak) -> dict[str, object]:
    """Every run, and the machine."""
    store, problems = soak.store, []
    for run_id, expected in soak.expected.items():
        problems += problems_of(store, run_id, expected)
    runs = [RunRepository(store.database).get(run_id) for run_id in soak.expected]
    losses = {losses_of(store, run.run_id) for run in runs if run.status == "succeeded"}
    problems += (
        [] if len(losses) <= 1 else [f"equal runs ended with {len(losses)} different series of losses"]
    )
    problems += [f"{run_id}: two engines at once" for run_id in sorted(soak.doubled)]
    left = [engine.pid for engine in engines_alive(soak.store.settings.runs_dir)]
    problems += [f"process {pid} was left behind" for pid in left]
    kinds = Counter(event.kind for run in runs for event in RunRepository(store.database).events(run.run_id))
    return {
        "runs": len(runs),
        "ended": dict(Counter(run.status for run in runs)),
        "attempts": sum(run.num_attempts for run in runs),
        "most_attempts_of_a_run": max(run.num_attempts for run in runs),
        "kills": dict(soak.kills),
        "leases_lost": kinds["lease-lost"],
        "retries": kinds["retry"],
        "problems": problems,
    }


def print_report(report: dict[str, object]) -> None:
    """The table."""
    for name, value in report.items():
        shown = (
            ", ".join(f"{count} {what}" for what, count in value.items())
            if isinstance(value, dict)
            else value
        )
        if name != "problems":
            print(f"{name.replace('_', ' '):24} {shown}")
    problems = report["problems"]
    assert isinstance(problems, list)
    print(f"{'problems':24} {len(problems)}")
    for problem in problems:
        print(f"  {problem}")


if __name__ == "__main__":
    main()
