"""Run logs and live streams over HTTP: server-sent events that end and resume from the client's position."""

import json
import subprocess
import sys
from pathlib import Path

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient
from support.children import live_server
from support.http import error_of
from support.jobs import wait_for
from support.live_runs import LiveRun, Viewer
from support.sse import messages_of

from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings

LOGS = "/api/tunix/runs/run-1/logs"
STREAM = "/api/tunix/runs/run-1/stream"
NUM_LINES = 100_000
BURST_PROGRAM = f"""
import sys
sys.stdout.write("".join(f"line {{n}} with some words in it\\n" for n in range({NUM_LINES})))
"""
on_sqlite = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


@pytest.fixture
def run(store: Home) -> LiveRun:
    return LiveRun(store)


def view(client: TestClient, url: str, **request: dict[str, str]) -> Viewer:
    viewer = Viewer()
    with client.stream("GET", url, **request) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        for message in messages_of(response.iter_lines()):
            viewer.take(*message)
    return viewer


def test_log_stream_ends_with_status(client: TestClient, run: LiveRun) -> None:
    run.print("one\ntwo\n")
    run.finish()
    viewer = view(client, LOGS)
    assert (viewer.log, viewer.status, viewer.last_id) == ("one\ntwo\n", "succeeded", "8")
    assert viewer.kinds == ["log", "status"]


def test_log_stream_resumes_from_position(client: TestClient, run: LiveRun) -> None:
    run.print("one\ntwo\n")
    run.finish()
    assert view(client, LOGS, params={"since_seq": "4"}).log == "two\n"
    assert view(client, LOGS, headers={"Last-Event-ID": "4"}).log == "two\n"
    # A browser reconnects with its original URL, so the header is newer than the query.
    assert view(client, LOGS, params={"since_seq": "4"}, headers={"Last-Event-ID": "8"}).log == ""


def test_run_stream_carries_every_source(client: TestClient, run: LiveRun) -> None:
    run.event("started", "on a CPU")
    run.log_step(1)
    run.print("step 1\n")
    run.finish()
    viewer = view(client, STREAM)
    assert [event["kind"] for event in viewer.service] == ["submitted", "claimed", "succeeded"]
    assert [event["kind"] for event in viewer.events] == ["started"]
    assert (viewer.metrics, viewer.log, viewer.status) == (run.metrics(), "step 1\n", "succeeded")
    for request in ({"headers": {"Last-Event-ID": viewer.last_id}}, {"params": {"cursor": viewer.last_id}}):
        assert view(client, STREAM, **request).kinds == ["status"]


def test_unknown_run_returns_404(client: TestClient) -> None:
    for route in ("logs", "stream", "metrics", "artifacts", "artifacts/a/download"):
        assert "ghost" in error_of(client.get(f"/api/tunix/runs/ghost/{route}"), 404)["detail"]


@on_sqlite
def test_invalid_positions_return_422(client: TestClient, run: LiveRun) -> None:
    error_of(client.get(LOGS, params={"since_seq": "-1"}), 422)
    error_of(client.get(LOGS, params={"since_seq": str(10**15)}), 422)
    error_of(client.get(LOGS, headers={"Last-Event-ID": "yesterday"}), 422)
    error_of(client.get(STREAM, headers={"Last-Event-ID": "yesterday"}), 422)
    error_of(client.get(STREAM, params={"cursor": "1-2"}), 422)
    error_of(client.get("/api/tunix/runs/-x/logs"), 422)


@on_sqlite
def test_burst_survives_reconnect(settings: Settings, run: LiveRun) -> None:
    expected = "".join(f"line {n} with some words in it\n" for n in range(NUM_LINES))
    with live_server(settings) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        with client.stream("GET", STREAM) as first:
            _print_burst(run.job_dir.output)
            interrupted = Viewer()
            for message in messages_of(first.iter_lines()):
                interrupted.take(*message)
                if interrupted.log:
                    break
        assert 0 < len(interrupted.log) < len(expected)
        wait_for(lambda: not server.has_open(run.job_dir.output))
        run.finish()
        with client.stream("GET", STREAM, headers={"Last-Event-ID": interrupted.last_id}) as second:
            for message in messages_of(second.iter_lines()):
                interrupted.take(*message)
        complete = Viewer()
        with client.stream("GET", LOGS) as response:
            for message in messages_of(response.iter_lines()):
                complete.take(*message)
    assert interrupted.log == complete.log == expected
    assert interrupted.status == complete.status == "succeeded"


def _print_burst(output: Path) -> None:
    """Write straight to the output file, as every run does: no pipe can fill up."""
    with output.open("ab") as file:
        subprocess.run([sys.executable, "-c", BURST_PROGRAM], stdout=file, check=True, timeout=60)


@on_sqlite
def test_server_shutdown_ends_streams(settings: Settings, run: LiveRun) -> None:
    run.print("hello\n")
    with live_server(settings) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        with client.stream("GET", LOGS) as response:
            messages = messages_of(response.iter_lines())
            assert json.loads(next(messages).data)["chunk"] == "hello\n"
            assert server.stop() == 0
            assert {message.kind for message in messages} <= {"heartbeat"}
