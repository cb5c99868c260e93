"""Speed and size of the store with 100,000 traces, on SQLite and on PostgreSQL, as a user meets them.

Real commands in child processes, a real server on loopback. Prints a table and exits 1 when a bar is missed.

    python -m benchmarks.store [--traces 100000] [--database sqlite|postgresql]
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import httpx2 as httpx
import psycopg
from support.postgres import postgres_server

from tunix_rt.problems.generate import generate
from tunix_rt.traces.types import Trace, canonical_json

NUM_REQUESTS = 200
NUM_BATCHES = 10


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    what: str
    value: float
    unit: str
    bar: float
    higher_is_better: bool = False

    @property
    def passed(self) -> bool:
        """Whether the bar is reached."""
        return self.value >= self.bar if self.higher_is_better else self.value <= self.bar

    def __str__(self) -> str:
        sign = "≥" if self.higher_is_better else "≤"
        verdict = "ok" if self.passed else "MISSED"
        measured = f"{self.value:>10,.1f} {self.unit:<9}"
        return f"  {self.what:<44} {measured} bar {sign} {self.bar:>7,.1f}  {verdict}"


def main() -> None:
    """Measure and print; exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], action="append")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "traces.jsonl"
        write_traces(file, options.traces)
        results: list[Result] = []
        for database in options.database or ["sqlite", "postgresql"]:
            print(f"{database}, {options.traces:,} traces", flush=True)
            with environment(database, Path(folder) / database) as env:
                for result in measure(env, file, options.traces):
                    print(result, flush=True)
                    results.append(result)
    sys.exit(not all(result.passed for result in results))


def write_traces(file: Path, num_traces: int) -> None:
    """Distinct generated problems, with the labels that the filters ask for."""
    problems = list(generate(None, min(num_traces, 5_000), seed=1))
    with file.open("w", encoding="utf-8") as out:
        for n in range(num_traces):
            out.write(canonical_json(variant(problems[n % len(problems)], n)) + "\n")


def variant(problem: Trace, n: int) -> Trace:
    """The n-th trace: a generated problem made distinct by a name in its prompt."""
    meta = {"source": f"source-{n % 10}", "level": n % 5, "index": n, "tags": ["all", f"tag-{n % 100}"]}
    return problem.model_copy(update={"prompt": f"Question {n}: {problem.prompt}", "meta": meta})


@contextmanager
def environment(database: str, home: Path) -> Iterator[dict[str, str]]:
    """The environment of the measured commands, with an empty store behind it."""
    env = os.environ | {"TUNIX_RT_HOME": str(home)}
    if database == "sqlite":
        yield env
        return
    with postgres_server() as url:
        with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
            connection.execute("CREATE DATABASE bench")
        yield env | {"TUNIX_RT_DATABASE_URL": f"{url}/bench"}


def measure(env: dict[str, str], file: Path, num_traces: int) -> Iterator[Result]:
    """Every bar, in the order in which a user meets it."""
    seconds, _ = run_cli(env, "traces", "import", str(file), "--json")
    yield Result("import from JSONL, whole command", num_traces / seconds, "traces/s", 5_000, True)
    settle(env)
    with server(env) as client:
        yield from measure_lists(client, num_traces)
        yield from measure_writes(client, num_traces)
    for dedup in ("exact", "near"):
        options = ("--dedup", dedup, "--allow-contamination", "--json")
        seconds, max_rss_mib = run_cli(env, "data", "build", "--name", f"bench-{dedup}", *options)
        yield Result(f"dataset build, {dedup} duplicates removed", seconds, "s", 20)
        yield Result(f"dataset build, {dedup}: peak memory", max_rss_mib, "MiB", 1024)


def measure_lists(client: httpx.Client, num_traces: int) -> Iterator[Result]:
    """Lists, filtered and not, near and far."""
    queries = {
        "list": {},
        "list, last page": {"offset": num_traces - 20},
        "list by source (10 %)": {"source": "source-3"},
        "list by tag (100 %)": {"tag": "all"},
        "list by tag and level (0.2 %)": {"tag": "tag-7", "meta": "level=2"},
        "search, rare word": {"query": f"question {num_traces // 2}"},
        "search, word of every trace": {"query": "question"},
        "search and source": {"query": "question", "source": "source-3"},
    }
    for name, parameters in queries.items():
        times = timed(lambda p=parameters: client.get("/api/traces", params=p), NUM_REQUESTS)  # type: ignore[misc]
        yield Result(f"{name}, p95", p95(times), "ms", 20)


def measure_writes(client: httpx.Client, num_traces: int) -> Iterator[Result]:
    """One trace at a time, and a thousand at once."""
    numbers = count(num_traces)
    problem = next(iter(generate(None, 1, seed=2)))

    def body() -> dict[str, object]:
        return variant(problem, next(numbers)).model_dump()

    singles = timed(lambda: client.post("/api/traces", json=body()), NUM_REQUESTS)
    yield Result("create, p95", p95(singles), "ms", 15)
    batches = [json.dumps([body() for _ in range(1_000)]) for _ in range(NUM_BATCHES)]
    waiting = iter(batches)
    headers = {"content-type": "application/json"}

    def post_batch() -> httpx.Response:
        return client.post("/api/traces/batch", content=next(waiting), headers=headers)

    times = timed(post_batch, NUM_BATCHES)
    yield Result("batch of 1,000, slowest of 10", max(times), "ms", 500)


def settle(env: dict[str, str]) -> None:
    """What PostgreSQL's autovacuum does within a minute of an import, done at once."""
    if url := env.get("TUNIX_RT_DATABASE_URL"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")


def timed(request: Callable[[], httpx.Response], num_requests: int) -> list[float]:
    """Milliseconds of each request; any failure is a failure of the benchmark."""
    times = []
    for _ in range(num_requests):
        started = time.perf_counter()
        response = request()
        times.append((time.perf_counter() - started) * 1000)
        response.raise_for_status()
    return times


def p95(times: list[float]) -> float:
    """The time that 95 of 100 requests stay below."""
    return statistics.quantiles(times, n=20)[-1]


def run_cli(env: dict[str, str], *arguments: str) -> tuple[float, float]:
    """Seconds and peak memory (MiB) of a command, from its start to its end."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "tunix_rt.cli", *arguments]
    child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE)
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.stdout.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"tunix-rt {' '.join(arguments)} failed: {output.decode()}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024


@contextmanager
def server(env: dict[str, str], *, stderr: int | None = None) -> Iterator[httpx.Client]:
    """A client of a real server on loopback; its log goes to `stderr`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tunix_rt.cli", "up", "--port", str(port)]
    child = subprocess.Popen(command, env=env, stderr=stderr)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            wait_for(client)
            yield client
    finally:
        child.terminate()
        child.wait(timeout=30)


def wait_for(client: httpx.Client) -> None:
    """Until the server answers, a minute at most."""
    for _ in range(600):
        try:
            client.get("/api/health").raise_for_status()
            return
        except httpx.ConnectError:
            time.sleep(0.1)
    raise SystemExit("the server did not start")


if __name__ == "__main__":
    main()
