"""Mixed reads of a server with many runs: how long 99 of 100 answers take at most, on both databases.

A real server (`tunix-rt up`, with its worker) in a child process, asked over loopback at a fixed rate. Prints
a table and exits 1 when a bar is missed.

    python -m benchmarks.http_load [--rate 500] [--seconds 30] [--runs 10000] [--database NAME] [--json FILE]
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2 as httpx
from sqlalchemy import insert, select
from support.queued_runs import new_run

from benchmarks.open_loop import Answer, ask_at_rate
from benchmarks.store import environment, server, settle
from tunix_rt.base.db.engine import writing
from tunix_rt.base.db.schema import run_events, runs
from tunix_rt.base.home import open_home
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.types import RunFigures
from tunix_rt.runs.store.rows import queued_row

MAX_P99_MS = 50.0
NUM_CONNECTIONS = 64
NUM_METRICS = 200
WARM_UP_S = 3
STATUSES = ("succeeded", "succeeded", "succeeded", "failed", "cancelled")
KINDS = ("submitted", "claimed", "started", "evaluating", "succeeded")
FIGURES = RunFigures(
    num_steps=500,
    num_planned_steps=500,
    num_examples=550,
    num_dropped_examples=0,
    fill_ratio=0.92,
    final_loss=0.7,
)
MIX = {"list": 30, "detail": 20, "status": 20, "events": 10, "metrics": 10, "health": 10}


def main() -> None:
    """Measure and print; exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], action="append")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    report = {}
    for database in options.database or ["sqlite", "postgresql"]:
        with tempfile.TemporaryDirectory() as folder, environment(database, Path(folder)) as env:
            report[database] = measure(env, options.runs, options.rate, options.seconds)
        print_report(database, report[database])
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    sys.exit(not all(measured["passed"] for measured in report.values()))


def measure(env: dict[str, str], num_runs: int, rate: float, seconds: int) -> dict[str, Any]:
    """Fill a store, start a server over it, and ask."""
    settings = Settings(home=Path(env["TUNIX_RT_HOME"]), database_url=env.get("TUNIX_RT_DATABASE_URL"))
    ids = fill(settings, num_runs)
    settle(env)
    chance = random.Random(1)
    with server(env, stderr=subprocess.DEVNULL) as client:
        ask(client, ids, chance, rate, WARM_UP_S)
        cpu_before_s = server_cpu_s(client)
        answers = ask(client, ids, chance, rate, seconds)
        cpu_ms = (server_cpu_s(client) - cpu_before_s) / len(answers) * 1000
    return summary(answers, num_runs, rate, seconds) | {"server_cpu_ms_per_request": round(cpu_ms, 3)}


def ask(
    client: httpx.Client, ids: list[str], chance: random.Random, rate: float, seconds: int
) -> list[Answer]:
    """Mixed reads for so long."""
    assert client.base_url.port is not None
    requests = [a_request(chance, ids) for _ in range(int(rate * seconds))]
    return ask_at_rate(client.base_url.port, requests, rate=rate, num_connections=NUM_CONNECTIONS)


def server_cpu_s(client: httpx.Client) -> float:
    """The processor time that the server has used since its start, as it tells itself."""
    lines = client.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("process_cpu_seconds_total "))


def fill(settings: Settings, num_runs: int) -> list[str]:
    """Runs with events and directories with metrics; their ids."""
    store = open_home(settings)
    ids = [f"20260101-000000-run-{number:05d}" for number in range(num_runs)]
    with writing(store.database) as connection:
        connection.execute(insert(runs), [run_row(number, run_id) for number, run_id in enumerate(ids)])
        keys = connection.execute(select(runs.c.pk)).scalars().all()
        connection.execute(insert(run_events), [row for key in keys for row in event_rows(key)])
    store.close()
    write_directories(settings.runs_dir, ids)
    return ids


def run_row(number: int, run_id: str) -> dict[str, Any]:
    """A run that has ended, unlike its neighbours."""
    created_at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
    new = new_run(run_id, engine=("jax", "torch")[number % 2])
    changes = {
        "dataset": f"data-v{number % 20}",
        "model": f"model-{number % 7}",
        "mode": ("full", "lora")[number % 2],
    }
    return queued_row(new.model_copy(update=changes), created_at) | {
        "status": STATUSES[number % len(STATUSES)],
        "started_at": created_at,
        "finished_at": created_at + timedelta(seconds=50),
        "exit_code": 0,
        "num_attempts": 1,
        "figures": FIGURES.model_dump_json(exclude_none=True),
        "num_events": len(KINDS),
    }


def event_rows(run_pk: int) -> list[dict[str, Any]]:
    """What happened to a run."""
    time = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        {
            "run_pk": run_pk,
            "sequence": n,
            "time": time,
            "kind": kind,
            "message": f"It was {kind}.",
            "details": "{}",
        }
        for n, kind in enumerate(KINDS)
    ]


def write_directories(runs_dir: Path, ids: list[str]) -> None:
    """A directory with metrics for every run; the file is one and the same, which its readers cannot see."""
    line = {"epoch": 1.0, "loss": 1.234, "lr": 1e-4, "grad_norm": 0.5, "tokens": 2000, "trained_tokens": 1200}
    time = "2026-01-01T00:00:00Z"
    text = "".join(
        json.dumps({"step": step, **line, "time": time}) + "\n" for step in range(1, NUM_METRICS + 1)
    )
    runs_dir.mkdir(parents=True)
    first = runs_dir.parent / "metrics.jsonl"
    first.write_text(text)
    for run_id in ids:
        (runs_dir / run_id).mkdir()
        os.link(first, runs_dir / run_id / "metrics.jsonl")


def a_request(chance: random.Random, ids: list[str]) -> tuple[str, str]:
    """The kind and the path of what somebody might ask."""
    (kind,) = chance.choices(list(MIX), weights=list(MIX.values()))
    if kind == "list":
        return kind, f"/api/tunix/runs?{urlencode(list_query(chance, len(ids)))}"
    if kind == "health":
        return kind, "/api/health"
    run = f"/api/tunix/runs/{chance.choice(ids)}"
    return kind, run if kind == "detail" else f"{run}/{kind}"


def list_query(chance: random.Random, num_runs: int) -> dict[str, Any]:
    """One of the ways to look for runs."""
    return chance.choice(
        [
            {},
            {"offset": chance.randrange(num_runs)},
            {"status": "failed"},
            {"dataset": f"data-v{chance.randrange(20)}"},
            {"model": f"MODEL-{chance.randrange(7)}", "mode": "lora"},
            {"text": f"run-{chance.randrange(num_runs):05d}"},
        ]
    )


def summary(answers: list[Answer], num_runs: int, rate: float, seconds: int) -> dict[str, Any]:
    """The figures of one database."""
    by_kind: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        by_kind[answer.kind].append(answer.latency_ms)
    everything = percentiles([answer.latency_ms for answer in answers])
    num_errors = sum(answer.status != 200 for answer in answers)
    return {
        "num_runs": num_runs,
        "requests_per_s": rate,
        "seconds": seconds,
        "num_requests": len(answers),
        "num_errors": num_errors,
        "latency_ms": {"all": everything} | {kind: percentiles(by_kind[kind]) for kind in MIX},
        "passed": num_errors == 0 and everything["p99"] < MAX_P99_MS,
    }


def percentiles(times_ms: list[float]) -> dict[str, float]:
    """The times that half, 95 % and 99 % of the answers stay below, and the longest."""
    cuts = statistics.quantiles(times_ms, n=100)
    figures = {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "max": max(times_ms)}
    return {"n": len(times_ms)} | {name: round(value, 2) for name, value in figures.items()}


def print_report(database: str, report: dict[str, Any]) -> None:
    """A table for people."""
    print(
        f"{database}, {report['num_runs']:,} runs: {report['requests_per_s']:g} requests a second for "
        f"{report['seconds']} s, {report['server_cpu_ms_per_request']:.2f} ms of the server's processor each"
    )
    print("  ms      " + "".join(f"{name:>10}" for name in ("n", "p50", "p95", "p99", "max")))
    for kind, times in report["latency_ms"].items():
        cells = (f"{value:>10,}" if name == "n" else f"{value:>10,.1f}" for name, value in times.items())
        print(f"  {kind:<8}" + "".join(cells))
    num_errors, p99_ms = report["num_errors"], report["latency_ms"]["all"]["p99"]
    print(f"  no errors        {num_errors:>10,}      {verdict(num_errors == 0)}")
    print(f"  p99 < {MAX_P99_MS:g} ms      {p99_ms:>10,.1f} ms   {verdict(p99_ms < MAX_P99_MS)}", flush=True)


def verdict(is_reached: bool) -> str:
    """In a word."""
    return "ok" if is_reached else "MISSED"


if __name__ == "__main__":
    main()
