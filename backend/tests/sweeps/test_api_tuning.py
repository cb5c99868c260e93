"""Sweeps over HTTP."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from support.sweeps import LEARNING_RATE, RECIPE, rate_of, train_next, with_rows

from tunix_rt.base.home import Home
from tunix_rt.sweeps.advance import advance

JOBS = "/api/tuning/jobs"
INVALID_JOBS: list[tuple[dict[str, Any], int, str]] = [
    (
        {"search_space": {"per_device_batch_size": LEARNING_RATE}},
        422,
        "per_device_batch_size is not a key (did you mean training.batch_size?)",
    ),
    ({"search_space": {}}, 422, "search_space"),
    ({"metric_name": "answer_correctness"}, 422, "metric_name"),
    ({"metric_name": "score"}, 422, "the metric score needs an eval_set"),
    ({"metric_mode": "max"}, 422, "the metric loss can only be minimized"),
    ({"num_samples": None}, 422, "set budget.num_trials or budget.device_minutes"),
    ({"recipe": "../../etc/passwd"}, 404, "There is no recipe"),
    ({"recipe": None}, 422, "model is missing"),
    ({"base_model_id": "/etc"}, 422, "model.name '/etc' is not built in"),
    ({"dataset_key": "no-such-v1"}, 404, "no-such-v1"),
    ({"num_sample": 3}, 422, "num_sample"),
]


def body(**keys: Any) -> dict[str, Any]:
    values = {
        "name": "rates",
        "recipe": RECIPE,
        "search_space": {"training.learning_rate": LEARNING_RATE},
        "metric_name": "loss",
        "num_samples": 4,
    }
    return values | keys


@pytest.fixture
def job(client: TestClient, store: Home) -> str:
    with_rows(store)
    created = client.post(JOBS, json=body())
    assert created.status_code == 201, created.text
    return str(created.json()["id"])


def run_all_trials(store: Home, job: str) -> None:
    while advance(store, job):
        train_next(store, rate_of)


def test_job_runs_to_its_best_trial(client: TestClient, store: Home, job: str) -> None:
    waiting = client.get(f"{JOBS}/{job}").json()
    assert waiting["status"] == "queued"
    assert waiting["trials"] == []
    assert waiting["metric_mode"] == "min"
    assert client.post(f"{JOBS}/{job}/start").json()["status"] == "running"
    run_all_trials(store, job)
    ended = client.get(f"{JOBS}/{job}").json()
    assert ended["status"] == "succeeded"
    assert ended["num_trials"] == len(ended["trials"]) == 4
    best = min(ended["trials"], key=lambda trial: trial["metric_value"])
    assert (ended["best_run_id"], ended["best_params"]) == (best["run_id"], best["params"])
    assert client.get(f"{JOBS}/{job}/trials").json()["data"] == ended["trials"]
    found = client.get(f"{JOBS}/{job}/importances").json()
    assert found == {"num_trials": 4, "importances": {"training.learning_rate": pytest.approx(1)}}
    recipe = client.get(f"{JOBS}/{job}/best").json()
    assert recipe["run_id"] == best["run_id"]
    assert "learning_rate:" in recipe["recipe_yaml"]


def test_jobs_are_paginated(client: TestClient, job: str) -> None:
    minimal = {"recipe": None, "base_model_id": "tiny-llama", "dataset_key": "demo-v1"}
    other = client.post(JOBS, json=body(**minimal)).json()["id"]
    page = client.get(JOBS, params={"limit": 1}).json()
    assert [found["id"] for found in page["data"]] == [other]
    assert page["data"][0]["base_model_id"] == "tiny-llama"
    assert page["pagination"] == {
        "limit": 1,
        "offset": 0,
        "total": 2,
        "total_is_exact": True,
        "next_offset": 1,
    }
    assert client.get(JOBS, params={"limit": -1}).status_code == 422


def test_job_cancel_resume_and_delete(client: TestClient, store: Home, job: str) -> None:
    client.post(f"{JOBS}/{job}/start")
    advance(store, job)
    assert client.delete(f"{JOBS}/{job}").status_code == 409
    assert client.post(f"{JOBS}/{job}/cancel").json()["status"] == "cancelling"
    advance(store, job)
    assert client.get(f"{JOBS}/{job}").json()["trials"][0]["status"] == "cancelled"
    assert client.post(f"{JOBS}/{job}/cancel").status_code == 409
    assert client.post(f"{JOBS}/{job}/resume").json()["status"] == "running"
    run_all_trials(store, job)
    assert client.post(f"{JOBS}/{job}/resume").status_code == 409
    assert client.delete(f"{JOBS}/{job}").status_code == 204
    assert client.get(f"{JOBS}/{job}").status_code == 404


def test_invalid_and_unknown_jobs_are_refused(client: TestClient, store: Home) -> None:
    with_rows(store)
    for change, status, detail in INVALID_JOBS:
        refused = client.post(JOBS, json=body(**change))
        assert refused.status_code == status, refused.text
        assert detail in refused.json()["detail"]
    assert client.get(JOBS).json()["data"] == []
    for path in ("", "/trials", "/importances", "/best"):
        response = client.get(f"{JOBS}/nowhere{path}")
        assert response.status_code == 404
        assert response.json()["next_step"] == "List the sweeps: tunix-rt tune list"


def test_job_without_trials_has_no_best(client: TestClient, job: str) -> None:
    refused = client.post(f"{JOBS}/{job}/promote-best", json={"model": "demo"})
    assert refused.status_code == 409
    assert "No trial" in refused.json()["detail"]
    assert client.get(f"{JOBS}/{job}/best").status_code == 409
    assert client.get(f"{JOBS}/{job}/importances").json() == {"num_trials": 0, "importances": {}}
