"""Runs over HTTP: submission, listing, control and removal, on both databases."""

import json
from typing import Any

from fastapi.testclient import TestClient
from httpx2 import Response
from support.datasets import add, sums
from support.http import error_of
from support.queued_runs import ANY_SLOT, claimed, make_worker, queued
from support.submitting import SMALL_RECIPE, build_demo

from tunix_rt.base.files.yaml_text import parse_yaml
from tunix_rt.base.home import Home
from tunix_rt.recipes.load import resolve_recipe
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import WorkerRepository

RUNS = "/api/tunix/runs"


def submit_run(client: TestClient, store: Home, **values: Any) -> Response:
    build_demo(store.settings)
    return client.post(RUNS, json={"recipe": SMALL_RECIPE, "device": "cpu"} | values)


def list_ids(client: TestClient, query: str = "") -> list[str]:
    response = client.get(f"{RUNS}?{query}")
    assert response.status_code == 200, response.text
    page = response.json()
    assert page["pagination"]["total"] == len(page["data"])
    return [run["run_id"] for run in page["data"]]


def test_submitted_run_is_listed_and_claimable(client: TestClient, store: Home, runs: RunRepository) -> None:
    response = submit_run(client, store, name="first", priority=4)
    assert response.status_code == 201, response.text
    run = response.json()
    assert client.get(f"{RUNS}/{run['run_id']}").json() == run
    assert run["plan"]["fits"] is True
    assert run["recipe"]["training"]["num_steps"] == 2
    assert list_ids(client) == [run["run_id"]]
    status = client.get(f"{RUNS}/{run['run_id']}/status").json()
    assert (status["status"], status["num_attempts"]) == ("queued", 0)
    events = client.get(f"{RUNS}/{run['run_id']}/events").json()["data"]
    assert [event["kind"] for event in events] == ["submitted"]
    assert client.get(f"{RUNS}/{run['run_id']}/events?after=0").json()["data"] == []
    claim = runs.claim("worker-a", ANY_SLOT)
    assert claim is not None
    assert claim.run.run_id == run["run_id"]


def test_invalid_submissions_are_not_queued(client: TestClient, store: Home) -> None:
    for values, status, expected in [
        ({"recipe": "smoke_tinny"}, 404, "smoke_tiny"),
        ({"dataset": "demo-v7"}, 404, "demo-v1"),
        ({"overrides": ["training.num_stepz=1"]}, 422, "training.num_steps"),
        ({"overrides": ["model.name=/etc"]}, 422, "not a hub id"),
        ({"priority": 10**6}, 422, "priority"),
        ({"recepe": "demo"}, 422, "recepe"),
        ({"recipe": {}}, 422, "recipe is empty"),
    ]:
        error = error_of(submit_run(client, store, **values), status)
        assert expected in error["detail"] + error["next_step"]
    assert list_ids(client) == []


def test_oversized_run_needs_force(client: TestClient, store: Home) -> None:
    oversized = {"recipe": "lora_gemma_2b", "target": "t4", "dataset": "demo-v1",
             "overrides": ["training.batch_size=512", "training.remat=none", "eval={}"]}  # fmt: skip
    error = error_of(submit_run(client, store, **oversized), 409)
    assert error["code"] == "does-not-fit"
    assert "would make it fit" in error["next_step"]
    forced = submit_run(client, store, **oversized, is_forced=True)
    assert forced.json()["request"]["is_forced"] is True


def test_cancelling_runs_stay_listed(client: TestClient, store: Home, runs: RunRepository) -> None:
    queued(store, "waiting")
    runs.cancel("waiting")
    running = claimed(store, "running").run.run_id
    assert client.post(f"{RUNS}/{running}/cancel").json()["status"] == "cancelling"
    assert list_ids(client) == ["running", "waiting"]
    assert list_ids(client, "status=cancelling&status=cancelled") == ["running", "waiting"]
    assert client.get(f"{RUNS}/{running}/status").json()["status"] == "cancelling"
    assert error_of(client.post(f"{RUNS}/waiting/cancel"), 409)["code"] == "conflict"


def test_pause_resume_reprioritize_and_delete(client: TestClient, store: Home) -> None:
    run_id = submit_run(client, store).json()["run_id"]
    run = f"{RUNS}/{run_id}"
    assert client.post(f"{run}/pause").json()["is_held"] is True
    assert client.post(f"{run}/resume").json()["is_held"] is False
    assert client.post(f"{run}/priority", json={"priority": 9}).json()["priority"] == 9
    assert (store.settings.jobs_dir / run_id).is_dir()
    assert client.delete(run).status_code == 204
    assert not (store.settings.jobs_dir / run_id).exists()
    error_of(client.get(run), 404)
    error_of(client.delete(run), 404)


def test_runs_are_paginated_and_filtered(client: TestClient, store: Home) -> None:
    for number in range(3):
        queued(store, f"run-{number}", engine="torch" if number else "jax")
    page = client.get(f"{RUNS}?limit=2&offset=1").json()
    assert [run["run_id"] for run in page["data"]] == ["run-1", "run-0"]
    assert (page["pagination"]["total"], page["pagination"].get("next_offset")) == (3, None)
    assert list_ids(client, "engine=jax&dataset=demo-v1&mode=full&model=LLAMA&text=run") == ["run-0"]
    error_of(client.get(f"{RUNS}?status=pending"), 422)
    error_of(client.get(f"{RUNS}/..%2F..%2Fetc"), 404)


def test_queue_reports_status_and_pauses(client: TestClient, store: Home, workers: WorkerRepository) -> None:
    queued(store, "held", is_held=True)
    workers.register(make_worker())
    queue = client.get("/api/tunix/queue").json()
    assert (queue["is_paused"], queue["num_runs"], queue["num_held"]) == (False, {"queued": 1}, 1)
    assert client.post("/api/tunix/queue/pause").json()["is_paused"] is True
    assert client.post("/api/tunix/queue/resume").json()["is_paused"] is False
    workers = client.get("/api/tunix/workers").json()["data"]
    assert [worker["worker_id"] for worker in workers] == ["worker-a"]


def test_dry_run_queues_nothing(client: TestClient, store: Home) -> None:
    build_demo(store.settings)
    payload = {"recipe": SMALL_RECIPE, "device": "cpu"}
    response = client.post("/api/tunix/run", json=payload).json()
    assert response["preview"]["plan"]["num_steps"] == 2
    assert list_ids(client) == []
    run = client.post("/api/tunix/run", json=payload | {"dry_run": False}).json()["run"]
    assert list_ids(client) == [run["run_id"]]


def test_dataset_exports_rows_and_recipe(client: TestClient, store: Home) -> None:
    build_demo(store.settings)
    rows = client.post("/api/tunix/sft/export", json={"dataset_key": "demo-v1", "limit": 3})
    assert len([json.loads(line) for line in rows.text.splitlines()]) == 3
    payload = {"dataset_key": "demo-v1", "model_id": "tiny-llama", "weight_decay": 0.5}
    response = client.post("/api/tunix/sft/manifest", json=payload)
    assert response.status_code == 201, response.text
    recipe = resolve_recipe(parse_yaml(response.json()["manifest_yaml"], what="manifest")).recipe
    assert recipe.training.optimizer.weight_decay == 0.5
    assert recipe.training.learning_rate == 2e-5
    assert (recipe.data.dataset, recipe.training.num_epochs) == ("demo-v1", 3)


def test_traces_are_exported_by_id(client: TestClient, store: Home) -> None:
    rows = sums(2)
    add(store, rows)
    payload = {"trace_ids": [str(row.id) for row in rows]}
    lines = client.post("/api/tunix/sft/export", json=payload).text.splitlines()
    assert len(lines) == 2
    error_of(client.post("/api/tunix/sft/export", json={"trace_ids": ["no-id"]}), 422)
    error_of(client.post("/api/tunix/sft/export", json={}), 422)
    error_of(client.post("/api/tunix/sft/export", json={"dataset_key": "nothing-v1"}), 404)


def test_status_lists_engines_and_recipes(client: TestClient) -> None:
    status = client.get("/api/tunix/status").json()
    assert status["available"] is True
    assert status["engines"] == ["jax", "torch"]
    recipes = client.get("/api/tunix/recipes").json()["data"]
    assert {"name": "smoke_tiny", "is_shipped": True} in recipes
