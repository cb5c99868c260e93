"""Loss sparklines of many runs over HTTP."""

import pytest
from fastapi.testclient import TestClient
from support.http import error_of
from support.live_runs import LiveRun
from support.queued_runs import queued

from tunix_rt.base.home import Home
from tunix_rt.runs.service import NUM_POINTS

pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


def sparkline(client: TestClient, run_id: str = "run-1") -> dict[str, list[float]]:
    (line,) = client.get("/api/tunix/sparklines", params={"run_id": run_id}).json()["data"]
    assert isinstance(line, dict)
    return line


def test_short_run_keeps_every_step(client: TestClient, store: Home) -> None:
    run = LiveRun(store)
    for step, loss in enumerate([3.0, 2.5, 2.0], start=1):
        run.log_step(step, loss)
    assert sparkline(client) == {"run_id": "run-1", "steps": [1, 2, 3], "losses": [3.0, 2.5, 2.0]}


def test_long_run_is_downsampled(client: TestClient, store: Home) -> None:
    run = LiveRun(store)
    for step in range(1, 1_001):
        run.log_step(step, 1 / step)
    steps = sparkline(client)["steps"]
    assert (steps[0], steps[-1]) == (1, 1_000)
    assert steps == sorted(set(steps))
    assert NUM_POINTS - 5 <= len(steps) <= NUM_POINTS + 1


def test_torn_and_nan_lines_are_skipped(client: TestClient, store: Home) -> None:
    run = LiveRun(store)
    run.log_step(1, 2.0)
    run.log_step(2, float("nan"))
    with run.run_dir.metrics.open("a") as file:
        file.write('{"step": 3, "lo')
    assert sparkline(client)["steps"] == [1]


def test_queued_and_unknown_runs_are_omitted(client: TestClient, store: Home) -> None:
    queued(store)
    params = {"run_id": ["run-1", "no-such-run"]}
    assert client.get("/api/tunix/sparklines", params=params).json() == {"data": []}
    error_of(client.get("/api/tunix/sparklines", params={"run_id": "../secret"}), 422)
