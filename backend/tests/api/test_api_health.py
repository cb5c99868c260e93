"""The health route queries the database and reports why it is unavailable."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from fastapi.testclient import TestClient
from support.apps import make_app
from support.builders import make_item
from support.http import body, error_of
from support.postgres import postgres_server

from tunix_rt import __version__
from tunix_rt.base.errors import StorageError
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.traces.store import TraceRepository


def test_health_reports_version_and_database(client: TestClient, store: Home) -> None:
    health = client.get("/api/health").json()
    assert health["database"] == store.database.dialect.name
    assert (health["status"], health["version"]) == ("healthy", __version__)
    assert 0 < health["database_latency_ms"] < 5_000


def test_stopped_postgresql_answers_503(tmp_path: Path) -> None:
    with ExitStack() as server, ExitStack() as closing:
        url = server.enter_context(postgres_server())
        opened = open_home(Settings(home=tmp_path, database_url=f"{url}/postgres"))
        closing.callback(opened.close)
        http = TestClient(make_app(opened), raise_server_exceptions=False)
        assert http.get("/api/health").status_code == 200
        server.close()
        for response in (
            http.get("/api/health"),
            http.get("/api/traces"),
            http.post("/api/traces", json=body()),
        ):
            error = error_of(response, 503)
            assert error["code"] == "storage"
            assert "database" in error["detail"]


def test_closed_postgresql_connection_is_replaced(postgres_url: str, tmp_path: Path) -> None:
    opened = open_home(Settings(home=tmp_path, database_url=f"{postgres_url}/template_store"))
    http = TestClient(make_app(opened))
    assert http.get("/api/health").status_code == 200
    with psycopg.connect(f"{postgres_url}/postgres", autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = 'template_store'"
        )
    assert http.get("/api/health").status_code == 200
    opened.close()


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Home]:
    opened = open_home(Settings(home=tmp_path / "home"))
    TraceRepository(opened.database).add_many([make_item(f"{n}?") for n in range(300)])
    yield opened
    opened.close()


def overwrite(file: Path) -> None:
    file.write_bytes(os.urandom(file.stat().st_size))


def replace_with_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("damage", [Path.unlink, replace_with_directory, lambda file: os.truncate(file, 0)])
def test_unusable_sqlite_file_answers_503(sqlite_store: Home, damage: Callable[[Path], None]) -> None:
    http = TestClient(make_app(sqlite_store))
    assert http.get("/api/health").status_code == 200
    damage(sqlite_store.settings.home_dir / "tunix_rt.db")
    error = error_of(http.get("/api/health"), 503)
    assert "tunix_rt.db" in error["detail"]


@pytest.mark.parametrize("damage", [overwrite, replace_with_directory, lambda file: os.truncate(file, 5_000)])
def test_damaged_sqlite_file_fails_to_open(sqlite_store: Home, damage: Callable[[Path], None]) -> None:
    sqlite_store.close()
    damage(sqlite_store.settings.home_dir / "tunix_rt.db")
    with pytest.raises(StorageError, match="database"):
        open_home(sqlite_store.settings)


def test_damaged_sqlite_pages_answer_503(sqlite_store: Home) -> None:
    sqlite_store.close()
    with (sqlite_store.settings.home_dir / "tunix_rt.db").open("r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 10 * 4096)
    http = TestClient(make_app(open_home(sqlite_store.settings)))
    error = error_of(http.post("/api/traces", json=body()), 503)
    assert "malformed" in error["detail"]
