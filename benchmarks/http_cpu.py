"""Processor time of the server for each kind of request of `http_load`, on both databases.

Latencies need a machine with nothing else to do; this compares two revisions on a busy one. The least of
several batches counts: a busy neighbour only adds.

    python -m benchmarks.http_cpu [--rounds 12] [--runs 10000] [--database sqlite|postgresql]
"""

import argparse
import os
import random
import subprocess
import tempfile
from pathlib import Path

import httpx2 as httpx

from benchmarks.http_load import MIX, a_request, fill, server_cpu_s
from benchmarks.open_loop import ask_at_rate
from benchmarks.store import environment, server, settle
from tunix_rt.base.settings import Settings

NUM_REQUESTS = 400
"""In a batch: the clock of processor time counts in hundredths of a second."""
NUM_CONNECTIONS = 8
AT_ONCE = 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], action="append")
    options = parser.parse_args()
    for database in options.database or ["sqlite", "postgresql"]:
        with tempfile.TemporaryDirectory() as folder, environment(database, Path(folder)) as env:
            least_ms = measure(env, options.runs, options.rounds)
        print_report(database, least_ms)


def measure(env: dict[str, str], num_runs: int, num_rounds: int) -> dict[str, float]:
    """The least milliseconds a request, by kind; the kinds take turns, and the first round does not count."""
    settings = Settings(home=Path(env["TUNIX_RT_HOME"]), database_url=env.get("TUNIX_RT_DATABASE_URL"))
    ids = fill(settings, num_runs)
    settle(env)
    chance = random.Random(1)
    with server(env, stderr=subprocess.DEVNULL) as client:
        rounds = [{kind: batch_ms(client, kind, ids, chance) for kind in MIX} for _ in range(num_rounds + 1)]
    return {kind: min(measured[kind] for measured in rounds[1:]) for kind in MIX}


def batch_ms(client: httpx.Client, kind: str, ids: list[str], chance: random.Random) -> float:
    """Milliseconds of the server's processor for one request of a kind, in the mean of a batch."""
    assert client.base_url.port is not None
    requests: list[tuple[str, str]] = []
    while len(requests) < NUM_REQUESTS:
        request = a_request(chance, ids)
        if request[0] == kind:
            requests.append(request)
    before_s = server_cpu_s(client)
    answers = ask_at_rate(client.base_url.port, requests, rate=AT_ONCE, num_connections=NUM_CONNECTIONS)
    used_s = server_cpu_s(client) - before_s
    assert all(answer.status == 200 for answer in answers)
    return used_s / NUM_REQUESTS * 1000


def print_report(database: str, least_ms: dict[str, float]) -> None:
    """A table for people."""
    print(f"{database}, at a load of {os.getloadavg()[0]:.1f}: ms of the server's processor a request")
    for kind, value in least_ms.items():
        print(f"  {kind:<8}{value:>8.2f}")
    mean_ms = sum(MIX[kind] * value for kind, value in least_ms.items()) / sum(MIX.values())
    print(f"  {'mix':<8}{mean_ms:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
