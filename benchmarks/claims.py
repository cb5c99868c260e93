"""How fast workers take runs from the queue, and that no run is taken twice, on both databases.

Real processes, each with its own connections. Prints a table and exits 1 when a bar is missed.

    python -m benchmarks.claims [--runs 10000] [--workers 8] [--database sqlite|postgresql] [--json FILE]
"""

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import insert
from support.postgres import postgres_server
from support.queued_runs import ANY_SLOT, NOON, new_run

from tunix_rt.base.db.engine import writing
from tunix_rt.base.db.schema import runs
from tunix_rt.base.home import open_home
from tunix_rt.base.settings import Settings
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.rows import queued_row

MIN_CLAIMS_PER_S = 200.0
NUM_PRIORITIES = 5


def main() -> None:
    """Measure and print; exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], action="append")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    report = {}
    for database in options.database or ["sqlite", "postgresql"]:
        with tempfile.TemporaryDirectory() as folder, store_settings(database, Path(folder)) as settings:
            report[database] = measure(settings, options.runs, options.workers)
        print_report(database, report[database])
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    sys.exit(not all(measured["passed"] for measured in report.values()))


@contextmanager
def store_settings(database: str, home: Path) -> Iterator[Settings]:
    """Settings of an empty store on the database."""
    if database == "sqlite":
        yield Settings(home=home)
        return
    with postgres_server() as url:
        with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
            connection.execute("CREATE DATABASE claims")
        yield Settings(home=home, database_url=f"{url}/claims")


def measure(settings: Settings, num_runs: int, num_workers: int) -> dict[str, Any]:
    """Fill the queue, let all workers loose at once, and look at what each of them got."""
    fill(settings, num_runs)
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(num_workers + 1)
    results: multiprocessing.Queue[list[str]] = context.Queue()
    arguments = [(settings, f"worker-{number}", barrier, results) for number in range(num_workers)]
    workers = [context.Process(target=take_all, args=given) for given in arguments]
    for worker in workers:
        worker.start()
    barrier.wait()
    start_s = time.monotonic()
    taken = [results.get() for _ in workers]
    elapsed_s = time.monotonic() - start_s
    for worker in workers:
        worker.join()
    return summary(taken, num_runs, elapsed_s)


def summary(taken: list[list[str]], num_runs: int, elapsed_s: float) -> dict[str, Any]:
    """The figures, and whether the bars are reached."""
    counts = Counter(run_id for part in taken for run_id in part)
    num_twice = sum(count > 1 for count in counts.values())
    claims_per_s = counts.total() / elapsed_s
    return {
        "num_runs": num_runs,
        "num_workers": len(taken),
        "num_taken": len(counts),
        "num_taken_twice": num_twice,
        "claims_per_s": round(claims_per_s, 1),
        "fewest_and_most_by_one_worker": [min(map(len, taken)), max(map(len, taken))],
        "passed": len(counts) == num_runs and num_twice == 0 and claims_per_s >= MIN_CLAIMS_PER_S,
    }


def fill(settings: Settings, num_runs: int) -> None:
    """Put that many runs of several priorities into the queue."""
    store = open_home(settings)
    rows = [
        queued_row(new_run(f"run-{number}", priority=number % NUM_PRIORITIES), NOON)
        for number in range(num_runs)
    ]
    with writing(store.database) as connection:
        connection.execute(insert(runs), rows)
    if store.database.dialect.name == "postgresql":
        with store.database.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE runs")
    store.close()


def take_all(
    settings: Settings, worker_id: str, barrier: Barrier, results: "multiprocessing.Queue[list[str]]"
) -> None:
    """Take runs until there are none."""
    store = open_home(settings)
    RunRepository(store.database).leases()  # connected before the race begins
    barrier.wait()
    taken = []
    while (claim := RunRepository(store.database).claim(worker_id, ANY_SLOT)) is not None:
        taken.append(claim.run.run_id)
    results.put(taken)
    store.close()


def print_report(database: str, measured: dict[str, Any]) -> None:
    """One database, for people."""
    fewest, most = measured["fewest_and_most_by_one_worker"]
    print(f"{database}: {measured['num_runs']:,} runs, {measured['num_workers']} workers")
    print(f"  claims              {measured['claims_per_s']:>8,.1f} /s   bar ≥ {MIN_CLAIMS_PER_S:,.0f}")
    print(f"  taken               {measured['num_taken']:>8,}")
    print(f"  taken twice         {measured['num_taken_twice']:>8,}      bar = 0")
    print(f"  by one worker       {fewest:,} to {most:,}")
    print(f"  {'ok' if measured['passed'] else 'MISSED'}", flush=True)


if __name__ == "__main__":
    main()
