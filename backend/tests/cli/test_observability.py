"""Observability: Prometheus metrics, request ids and log lines."""

import json
import logging
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import update
from support.apps import make_app
from support.queued_runs import NOON, claimed, make_worker, queued
from support.tasks import queued_task

from tunix_rt.base.db.engine import writing
from tunix_rt.base.db.schema import runs
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.logs import JsonLines, TextLines, request_id
from tunix_rt.base.settings import Settings
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.system.health import FiguresReader, last_tokens_per_s

Figures = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape_metrics(client: TestClient) -> Figures:
    response = client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def test_metrics_report_queue_state(store: Home, client: TestClient) -> None:
    run_id = claimed(store, "taken").run.run_id
    queued(store, "waiting")
    queued(store, "held", is_held=True)
    queued_task(store)
    WorkerRepository(store.database).register(make_worker())
    run_dir = store.settings.runs_dir / run_id
    run_dir.mkdir(parents=True)
    (run_dir / "metrics.jsonl").write_text('{"step": 1}\n{"step": 2, "tokens_per_s": 250.5}\n{"st')
    figures = scrape_metrics(client)
    assert figures[("tunix_rt_runs", (("status", "queued"),))] == 2
    assert figures[("tunix_rt_runs", (("status", "running"),))] == 1
    assert figures[("tunix_rt_runs", (("status", "failed"),))] == 0
    assert figures[("tunix_rt_tasks", (("status", "queued"),))] == 1
    assert figures[("tunix_rt_tasks", (("status", "failed"),))] == 0
    assert figures[("tunix_rt_queue_length", ())] == 1
    assert 0 <= figures[("tunix_rt_queue_oldest_wait_seconds", ())] < 300
    assert figures[("tunix_rt_workers", (("status", "active"),))] == 1
    assert figures[("tunix_rt_running_tokens_per_second", (("run_id", run_id),))] == 250.5
    assert figures[("tunix_rt_database_up", ())] == 1


def test_metrics_report_lease_losses_and_waits(store: Home, client: TestClient) -> None:
    claims = {run_id: claimed(store, run_id) for run_id in ("quick", "slow")}
    for run_id, wait_s in (("quick", 4), ("slow", 1_000)):
        assert RunRepository(store.database).requeue(claims[run_id].lease, "lease-lost", "no heartbeat")
        values = {"created_at": NOON, "started_at": NOON + timedelta(seconds=wait_s)}
        with writing(store.database) as connection:
            connection.execute(update(runs).where(runs.c.id == run_id).values(values))
    figures = scrape_metrics(client)
    assert figures[("tunix_rt_lease_losses_total", ())] == 2
    buckets = {
        labels[0][1]: value
        for (name, labels), value in figures.items()
        if name == "tunix_rt_queue_wait_seconds_bucket"
    }
    assert (buckets["1.0"], buckets["5.0"], buckets["900.0"], buckets["3600.0"], buckets["+Inf"]) == (
        0,
        1,
        1,
        2,
        2,
    )
    assert figures[("tunix_rt_queue_wait_seconds_sum", ())] == 1_004
    assert figures[("tunix_rt_queue_length", ())] == 2


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Home]:
    """A store for tests that do not depend on the database."""
    home = tmp_path_factory.mktemp("home")
    shutil.copy(sqlite_template, home / "tunix_rt.db")
    opened = open_home(Settings(home=home))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def http(shared_store: Home) -> TestClient:
    return TestClient(make_app(shared_store))


def test_metrics_group_requests_by_route(shared_store: Home) -> None:
    client = TestClient(make_app(shared_store))
    for number in range(3):
        client.get(f"/api/traces/{number}")
    client.get("/nowhere/42")
    figures = scrape_metrics(client)
    name = "tunix_rt_request_duration_seconds_count"
    assert figures[(name, (("method", "GET"), ("route", "/api/traces/{trace_id}"), ("status", "422")))] == 3
    assert figures[(name, (("method", "GET"), ("route", "other"), ("status", "404")))] == 1
    assert figures[("tunix_rt_requests_in_flight", ())] == 1
    assert figures[("process_resident_memory_bytes", ())] > 0


def test_figures_are_cached_for_a_second(store: Home) -> None:
    now_s = [100.0]
    reader = FiguresReader(store, clock=lambda: now_s[0])
    assert reader.read().queue.num_waiting == 0
    queued(store)
    now_s[0] += 0.9
    assert reader.read().queue.num_waiting == 0
    now_s[0] += 0.2
    assert reader.read().queue.num_waiting == 1


def test_metrics_survive_a_missing_database(tmp_path: Path) -> None:
    store = open_home(Settings(home=tmp_path))
    http = TestClient(make_app(store))
    store.close()
    (tmp_path / "tunix_rt.db").unlink()
    figures = scrape_metrics(http)
    assert figures[("tunix_rt_database_up", ())] == 0
    assert ("tunix_rt_queue_length", ()) not in figures
    assert ("process_cpu_seconds_total", ()) in figures


def test_speed_reads_last_complete_line(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    assert last_tokens_per_s(file) is None
    file.write_text("")
    assert last_tokens_per_s(file) is None
    lines = [json.dumps({"step": n, "tokens_per_s": n, "pad": "x" * 900}) for n in range(100)]
    file.write_text("\n".join(lines) + '\n{"step": 100, "validation_loss": 1}\n{"tokens_per_s": 7')
    assert last_tokens_per_s(file) == 99


@pytest.mark.parametrize("sent", ["abc-123", "A.b_c", "x" * 64])
def test_safe_request_id_is_echoed(http: TestClient, sent: str) -> None:
    assert http.get("/api/health", headers={"x-request-id": sent}).headers["x-request-id"] == sent


@pytest.mark.parametrize("sent", ["", "x" * 65, "a b", "a\tb", '"}{"', "é".encode()])
def test_unsafe_request_id_is_replaced(http: TestClient, sent: str | bytes) -> None:
    returned = http.get("/api/health", headers={"x-request-id": sent}).headers["x-request-id"]
    assert len(returned) == 16
    assert returned.isalnum()


def test_internal_error_keeps_request_id(shared_store: Home) -> None:
    app = make_app(shared_store)

    @app.get("/bug")
    def bug() -> None:
        raise RuntimeError("a bug")

    http = TestClient(app, raise_server_exceptions=False)
    assert http.get("/bug", headers={"x-request-id": "find-me"}).headers["x-request-id"] == "find-me"


def test_requests_except_health_are_logged(http: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tunix_rt.requests")
    http.get("/api/traces?token=query-secret")
    http.get("/api/health")
    (record,) = caplog.records
    fields = vars(record)["fields"]
    assert fields["path"] == "/api/traces"
    assert (fields["method"], fields["route"], fields["status"]) == ("GET", "/api/traces", 200)
    assert "query-secret" not in record.getMessage()


@pytest.fixture
def record() -> Iterator[logging.LogRecord]:
    token = request_id.set("req-1")
    url = "postgresql://u:pw@h/x"  # pragma: allowlist secret
    log_record = logging.LogRecord("a.b", logging.WARNING, __file__, 1, "lost %s\n{", (url,), None)
    log_record.fields = {"status": 503, "note": 'quote " me'}
    yield log_record
    request_id.reset(token)


def test_json_log_line_redacts_secrets(record: logging.LogRecord) -> None:
    text = JsonLines().format(record)
    assert "\n" not in text
    line = json.loads(text)
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "warning",
        "logger": "a.b",
        "message": "lost postgresql://u:***@h/x\n{",
        "request_id": "req-1",
        "status": 503,
        "note": 'quote " me',
    }


def test_environment_secrets_are_redacted_from_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", 'my "odd\\ secret')
    record = logging.LogRecord("a", logging.INFO, __file__, 1, 'it is my "odd\\ secret!', (), None)
    assert json.loads(JsonLines().format(record))["message"] == "it is ***!"
    assert TextLines().format(record).endswith("a: it is ***!")
