"""Evaluations and exports requested over HTTP, on both databases."""

import io
import zipfile
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from support.http import error_of
from support.models import registered
from support.queued_runs import ANY_SLOT
from support.scripted_models import scripted_run
from typer.testing import CliRunner

from tunix_rt.base.home import Home
from tunix_rt.cli.main import app
from tunix_rt.runs.files import read_record
from tunix_rt.runs.tasks.files import TaskDir
from tunix_rt.runs.tasks.store import TaskRepository
from tunix_rt.runs.tasks.types import TaskProgress, TaskResult

UNKNOWN_ID = "01234567-89ab-8def-8123-456789abcdef"


def create_task(client: TestClient, **request: Any) -> dict[str, Any]:
    response = client.post("/api/tasks", json=request)
    assert response.status_code == 202, response.text
    task: dict[str, Any] = response.json()
    return task


def carry_out(store: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Carry out the next task in this process, as the child of a worker does."""
    if store.settings.database_url is not None:
        monkeypatch.setenv("TUNIX_RT_DATABASE_URL", store.settings.database_url)
    claim = TaskRepository(store.database).claim("worker-a", ANY_SLOT)
    assert claim is not None
    finished = CliRunner().invoke(app, ["tasks", "carry-out", claim.lease.run_id, "--device", "cpu"])
    assert finished.exit_code == 0, finished.output
    result = read_record(TaskDir(store.settings.tasks_dir / claim.lease.run_id).result, TaskResult)
    assert TaskRepository(store.database).finish(claim.lease, "succeeded", result=result)


def test_invalid_tasks_are_not_queued(client: TestClient, store: Home) -> None:
    registered(store)
    evaluation = {"kind": "evaluation", "model": "demo", "eval_set": "eval_v2"}
    for changes, status, expected in [
        ({"model": "nobody"}, 404, "no model 'nobody'"),
        ({"model": "../../etc"}, 404, "to serve"),
        ({"eval_set": "nothing"}, 404, "no eval set"),
        ({"limit": 10_000}, 422, "fewer than 10000"),
    ]:
        response = client.post("/api/tasks", json=evaluation | changes)
        assert expected in error_of(response, status)["detail"]
    refused = client.post("/api/tasks", json={"kind": "export", "model": "demo", "form": "adapter"})
    assert "whole model" in error_of(refused, 422)["detail"]
    assert client.get("/api/tasks").json()["pagination"]["total"] == 0


def test_task_reports_progress_and_cancels(client: TestClient, store: Home, tasks: TaskRepository) -> None:
    registered(store)
    task = create_task(
        client, kind="evaluation", model="demo", eval_set="eval_v2", decoding={"max_new_tokens": 64}
    )
    assert (task["status"], task["model"]) == ("queued", "demo:1")
    assert tasks.claim("worker-a", ANY_SLOT) is not None
    directory = TaskDir(store.settings.tasks_dir / task["task_id"])
    directory.write_progress(TaskProgress(stage="writing the answers", num_done=3, num_total=100))
    path = f"/api/tasks/{task['task_id']}"
    assert client.get(path).json()["progress"]["num_done"] == 3
    (listed,) = client.get("/api/tasks", params={"model": "demo:1", "status": "running"}).json()["data"]
    assert listed["progress"]["num_total"] == 100
    assert client.delete(path).status_code == 409
    assert client.post(f"{path}/cancel").json()["status"] == "cancelling"
    assert client.get(f"{path}/output").text == ""
    assert client.get(f"{path}/download").status_code == 409


def test_unknown_task_is_not_found(client: TestClient) -> None:
    for path in ("", "/output", "/download"):
        assert client.get(f"/api/tasks/{UNKNOWN_ID}{path}").status_code == 404
    assert client.post(f"/api/tasks/{UNKNOWN_ID}/cancel").status_code == 404
    assert client.delete(f"/api/tasks/{UNKNOWN_ID}").status_code == 404


def test_exported_zip_is_verified_and_downloadable(
    client: TestClient, store: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(store)
    task = create_task(client, kind="export", model="demo", form="zip")
    carry_out(store, monkeypatch)
    path = f"/api/tasks/{task['task_id']}"
    report = client.get(path).json()["result"]["export"]
    assert (report["passed"], report["is_same_bytes"], report["version"]) == (True, True, "demo:1")
    response = client.get(f"{path}/download")
    assert response.headers["content-disposition"] == 'attachment; filename="demo-1-zip.zip"'
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        assert sorted(archive.namelist()) == ["README.md", "config.json", "model.safetensors"]
    assert client.delete(path).status_code == 204
    assert not (store.settings.tasks_dir / task["task_id"]).exists()


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_task_evaluates_run(client: TestClient, store: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted_run(store.settings.runs_dir, "run-1")
    task = create_task(
        client,
        kind="evaluation",
        model="run-1",
        eval_set="eval_v2",
        limit=2,
        engine="jax",
        decoding={"max_new_tokens": 32},
    )
    carry_out(store, monkeypatch)
    finished = client.get(f"/api/tasks/{task['task_id']}").json()
    evaluation = client.get(f"/api/evaluations/{finished['result']['evaluation_id']}").json()
    assert (evaluation["model"]["run_id"], evaluation["num_items"]) == ("run-1", 2)
    assert evaluation["protocol"]["decoding"]["max_new_tokens"] == 32
    assert UUID(task["task_id"]) == UUID(evaluation["evaluation_id"])
