"""`tunix-rt up` as a service: access beyond loopback, JSON logs and shutdown."""

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2 as httpx
import pytest
from support.children import LiveServer, live_server
from support.http import error_of
from support.queued_runs import queued

from tunix_rt.base.home import open_home
from tunix_rt.base.settings import Settings
from tunix_rt.system.access import create_token
from tunix_rt.system.store import TokenRepository

DEADLINE_S = 60


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Settings:
    home = tmp_path_factory.mktemp("home")
    shutil.copy(sqlite_template, home / "tunix_rt.db")
    return Settings(home=home)


@pytest.fixture(scope="module")
def token(settings: Settings) -> str:
    with closing(open_home(settings)) as store:
        return create_token(TokenRepository(store.database), "laptop", "admin")[1]


@pytest.fixture(scope="module")
def server(settings: Settings, token: str) -> Iterator[LiveServer]:
    """A server on all interfaces that logs JSON lines."""
    with live_server(settings, "--host", "0.0.0.0", "--log-format", "json") as started:
        yield started


def log_records(server: LiveServer) -> list[dict[str, object]]:
    return [json.loads(line) for line in server.log().splitlines() if line.startswith("{")]


def test_requests_are_authenticated_and_logged(server: LiveServer, token: str) -> None:
    error_of(httpx.get(f"{server.url}/api/traces"), 401)
    headers = {"authorization": f"Bearer {token}", "x-request-id": "find-me"}
    assert httpx.get(f"{server.url}/api/traces", headers=headers).headers["x-request-id"] == "find-me"
    assert httpx.get(f"{server.url}/api/health").json()["status"] == "healthy"
    records = [line for line in log_records(server) if line.get("request_id") == "find-me"]
    assert [(line["route"], line["status"]) for line in records] == [("/api/traces", 200)]
    assert token not in server.log()


def test_shutdown_closes_open_streams(server: LiveServer, settings: Settings, token: str) -> None:
    with closing(open_home(settings)) as store:
        queued(store, "run-1")
    has_started, received = threading.Event(), []

    def watch() -> None:
        headers = {"authorization": f"Bearer {token}"}
        url = f"{server.url}/api/tunix/runs/run-1/stream"
        with httpx.stream("GET", url, headers=headers, timeout=DEADLINE_S) as response:
            for line in response.iter_lines():
                received.append(line)
                has_started.set()

    viewer = threading.Thread(target=watch)
    viewer.start()
    assert has_started.wait(DEADLINE_S)
    assert server.stop() == 0
    viewer.join(DEADLINE_S)
    assert not viewer.is_alive()
    assert received
    assert "Traceback" not in server.log()
