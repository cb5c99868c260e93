"""Baselines and regression checks over HTTP."""

from typing import Any
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from support.evaluations import make_evaluation, make_model, make_predictions, make_protocol
from support.http import error_of

from tunix_rt.base.home import Home
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import Evaluation


def store_evaluation(store: Home, name: str, verdicts: str, **values: Any) -> Evaluation:
    predictions = make_predictions(verdicts)
    evaluation = make_evaluation(predictions, name=name, **values)
    EvaluationRepository(store.database).add(evaluation, predictions)
    return evaluation


def test_baseline_is_created_shown_and_deleted(client: TestClient, store: Home) -> None:
    evaluation = store_evaluation(store, "run-a", "110")
    body = {"name": "main", "run_id": "run-a", "metric": "primary_score", "lower_is_better": False}
    created = client.post("/api/regression/baselines", json=body)
    assert created.status_code == 201, created.text
    baseline = created.json()
    assert (baseline["evaluation_id"], baseline["run_id"]) == (str(evaluation.evaluation_id), "run-a")
    assert (baseline["eval_set"], baseline["dataset_key"]) == ("exam", "sums-v1")
    assert baseline["model_name"] == "run-a"
    assert baseline["baseline_value"] == pytest.approx(2 / 3)
    assert client.get("/api/regression/baselines/main").json() == baseline
    assert client.get("/api/regression/baselines").json() == {"data": [baseline]}
    assert client.delete("/api/regression/baselines/main").status_code == 204
    error_of(client.get("/api/regression/baselines/main"), 404)
    error_of(client.delete("/api/regression/baselines/main"), 404)


def test_post_replaces_existing_baseline(client: TestClient, store: Home) -> None:
    store_evaluation(store, "run-a", "110")
    other = str(store_evaluation(store, "run-b", "111").evaluation_id)
    client.post("/api/regression/baselines", json={"name": "main", "run_id": "run-a"})
    rule = {"alpha": 0.01, "protected_sections": ["core"]}
    body = {"name": "main", "evaluation_id": other, "rule": rule}
    assert client.post("/api/regression/baselines", json=body).status_code == 201
    stored = client.get("/api/regression/baselines").json()["data"]
    assert [(baseline["evaluation_id"], baseline["rule"]["alpha"]) for baseline in stored] == [(other, 0.01)]


def test_eval_set_selects_run_evaluation(client: TestClient, store: Home) -> None:
    older = store_evaluation(store, "first", "10", model=make_model("run-a"), age_hours=2)
    store_evaluation(store, "second", "11", model=make_model("run-a"), evalset="other")
    body = {"name": "main", "run_id": "run-a", "eval_set": "exam", "dataset_key": "sums-v1"}
    created = client.post("/api/regression/baselines", json=body).json()
    assert created["evaluation_id"] == str(older.evaluation_id)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"run_id": "run-a", "metric": "loss"}, 422),
        ({"run_id": "run-a", "lower_is_better": True}, 422),
        ({"run_id": "run-a", "unknown": 1}, 422),
        ({"run_id": "run-a", "name": "../main"}, 422),
        ({"run_id": "../run-a"}, 422),
        ({}, 422),
        ({"run_id": "run-a", "evaluation_id": str(uuid4())}, 422),
        ({"run_id": "run-a", "rule": {"alpha": 2}}, 422),
        ({"run_id": "run-a", "rule": {"protected_sections": ["coer"]}}, 422),
        ({"run_id": "run-b"}, 404),
        ({"run_id": "run-a", "eval_set": "another"}, 404),
        ({"evaluation_id": str(uuid4())}, 404),
        ({"run_id": "run-a", "dataset_key": "another-v1"}, 409),
    ],
)
def test_invalid_baseline_is_rejected(
    client: TestClient, store: Home, body: dict[str, Any], status: int
) -> None:
    store_evaluation(store, "run-a", "110")
    error_of(client.post("/api/regression/baselines", json={"name": "main"} | body), status)
    assert client.get("/api/regression/baselines").json() == {"data": []}


def test_equal_evaluation_passes(client: TestClient, store: Home) -> None:
    store_evaluation(store, "run-a", "1" * 9 + "0", age_hours=1)
    store_evaluation(store, "run-b", "0" + "1" * 9)
    client.post("/api/regression/baselines", json={"name": "main", "run_id": "run-a"})
    response = client.post("/api/regression/check", json={"run_id": "run-b", "baseline_name": "main"})
    assert response.status_code == 200, response.text
    check = response.json()
    assert (check["verdict"], check["delta"], check["delta_percent"]) == ("pass", 0.0, 0.0)
    assert (check["run_id"], check["baseline_run_id"]) == ("run-b", "run-a")
    assert (check["metric_name"], check["gate"]["passed"]) == ("primary_score", True)


def test_significant_loss_fails_with_reason(client: TestClient, store: Home) -> None:
    store_evaluation(store, "run-a", "1" * 20)
    worse = store_evaluation(store, "run-b", "1" * 10 + "0" * 10)
    client.post("/api/regression/baselines", json={"name": "main", "run_id": "run-a"})
    body = {"evaluation_id": str(worse.evaluation_id), "baseline_name": "main"}
    check = client.post("/api/regression/check", json=body).json()
    assert (check["verdict"], check["baseline_value"], check["current_value"]) == ("fail", 1.0, 0.5)
    assert (check["delta"], check["delta_percent"]) == (-0.5, -50.0)
    assert "significant loss" in check["details"]
    assert len(check["gate"]["comparison"]["flips"]) == 10


def test_lost_protected_item_fails(client: TestClient, store: Home) -> None:
    store_evaluation(store, "run-a", "1" * 20)
    store_evaluation(store, "run-b", "1" * 19 + "0")
    for rule, verdict in (({}, "pass"), ({"protected_items": ["item-19"]}, "fail")):
        body = {"name": "main", "run_id": "run-a", "rule": rule}
        client.post("/api/regression/baselines", json=body)
        check = client.post("/api/regression/check", json={"run_id": "run-b", "baseline_name": "main"})
        assert check.json()["verdict"] == verdict


def test_incomparable_or_unknown_evaluations_are_rejected(client: TestClient, store: Home) -> None:
    store_evaluation(store, "run-a", "11")
    store_evaluation(store, "run-b", "11", protocol=make_protocol(markup="think"))
    client.post("/api/regression/baselines", json={"name": "main", "run_id": "run-a"})
    body = {"run_id": "run-b", "baseline_name": "main"}
    error_of(client.post("/api/regression/check", json=body), 409)
    error_of(client.post("/api/regression/check", json=body | {"baseline_name": "other"}), 404)
    error_of(client.post("/api/regression/check", json=body | {"run_id": "run-c"}), 404)


def test_check_history_survives_baseline_deletion(client: TestClient, store: Home) -> None:
    store_evaluation(store, "run-a", "1" * 20)
    store_evaluation(store, "run-b", "1" * 20)
    worse = str(store_evaluation(store, "run-c", "1" * 10 + "0" * 10).evaluation_id)
    for name in ("main", "other"):
        client.post("/api/regression/baselines", json={"name": name, "run_id": "run-a"})
    for run_id, name in (("run-b", "main"), ("run-c", "other"), ("run-c", "main")):
        client.post("/api/regression/check", json={"run_id": run_id, "baseline_name": name})
    assert client.delete("/api/regression/baselines/main").status_code == 204
    history = client.get("/api/regression/checks", params={"baseline": "main"}).json()
    assert [(check["run_id"], check["passed"]) for check in history["data"]] == [
        ("run-c", False),
        ("run-b", True),
    ]
    newest = history["data"][0]
    assert (newest["evaluation_id"], newest["overall"]["num_lost"]) == (worse, 10)
    assert "significant loss" in newest["reasons"][0]
    page = client.get("/api/regression/checks", params={"limit": 1}).json()
    assert (len(page["data"]), page["pagination"]["total"], page["pagination"]["next_offset"]) == (1, 3, 1)
    error_of(client.get("/api/regression/checks", params={"baseline": "../x"}), 422)
