"""Evaluations and eval sets over HTTP."""

from typing import Any
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from support.evaluations import NOON, make_evaluation, make_prediction, make_predictions, write_evaluation
from support.http import error_of

from tunix_rt.base.home import Home
from tunix_rt.evaluation.comparison.store import BaselineRepository
from tunix_rt.evaluation.comparison.types import Baseline
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import Evaluation


def store_evaluation(store: Home, name: str = "model-a", verdicts: str = "110?", **values: Any) -> Evaluation:
    predictions = make_predictions(verdicts)
    evaluation = make_evaluation(predictions, name=name, **values)
    EvaluationRepository(store.database).add(evaluation, predictions)
    return evaluation


def url(evaluation: Evaluation, rest: str = "") -> str:
    return f"/api/evaluations/{evaluation.evaluation_id}{rest}"


def test_get_returns_complete_record(client: TestClient, store: Home) -> None:
    evaluation = store_evaluation(store, "run-a")
    response = client.get(url(evaluation))
    assert response.status_code == 200
    assert response.json() == evaluation.to_json()


def test_list_filters_sorts_and_paginates(client: TestClient, store: Home) -> None:
    store_evaluation(store, "run-a", "10", age_hours=1)
    store_evaluation(store, "hub/Smol", "11", age_hours=2)
    listed = client.get("/api/evaluations", params={"limit": 1}).json()
    assert [row["model"]["name"] for row in listed["data"]] == ["run-a"]
    assert (listed["pagination"]["total"], listed["pagination"]["next_offset"]) == (2, 1)
    best = client.get("/api/evaluations", params={"order": "best"}).json()
    assert [row["primary_score"] for row in best["data"]] == [1.0, 0.5]
    for query in ({"model": "smol"}, {"eval_set": "exam", "date_to": "2026-01-01T10:00:00Z"}):
        found = client.get("/api/evaluations", params=query).json()
        assert [row["model"]["name"] for row in found["data"]] == ["hub/Smol"]


@pytest.mark.parametrize(
    "query",
    [
        {"date_from": "yesterday"},
        {"date_to": "2026-02-30"},
        {"date_to": "9999-12-31"},
        {"date_from": "0001-01-01T00:00:00+14:00"},
        {"date_from": "1760000000"},
        {"model": "a\x00b"},
        {"model": "x" * 257},
        {"order": "worst"},
        {"limit": 0},
        {"offset": -1},
    ],
)
def test_list_rejects_invalid_filters(client: TestClient, query: dict[str, Any]) -> None:
    error_of(client.get("/api/evaluations", params=query), 422)


def test_items_filter_by_verdict_and_paginate(client: TestClient, store: Home) -> None:
    evaluation = store_evaluation(store, verdicts="11110")
    page = client.get(url(evaluation, "/items"), params={"verdict": "correct", "limit": 3, "offset": 2})
    assert [row["item_id"] for row in page.json()["data"]] == ["item-2", "item-3"]
    assert page.json()["pagination"]["total"] == 4
    assert page.json()["data"][0] == make_prediction("item-2").to_json()
    error_of(client.get(url(evaluation, "/items"), params={"verdict": "right"}), 422)
    error_of(client.get(f"/api/evaluations/{uuid4()}/items"), 404)


def test_item_returns_samples_with_checked_steps(client: TestClient, store: Home) -> None:
    predictions = make_predictions(["10", "11"])
    evaluation = make_evaluation(predictions)
    EvaluationRepository(store.database).add(evaluation, predictions)
    item = client.get(url(evaluation, "/items/item-0")).json()
    assert [sample["judgement"]["verdict"] for sample in item["samples"]] == ["correct", "wrong"]
    assert item["samples"][0]["judgement"]["steps"] == [{"text": "a confirmed step", "verdict": "confirmed"}]
    assert item["samples"][0]["judgement"]["rule"] == "answer-tag"


@pytest.mark.parametrize("item_id", ["gsm8k/12", "why?", "50 %", "näh", "../x", "#1"])
def test_item_ids_are_percent_decoded(client: TestClient, store: Home, item_id: str) -> None:
    predictions = [make_prediction(item_id)]
    evaluation = make_evaluation(predictions)
    EvaluationRepository(store.database).add(evaluation, predictions)
    quoted = "".join(f"%{byte:02x}" for byte in item_id.encode())
    assert client.get(url(evaluation, f"/items/{quoted}")).json()["item_id"] == item_id


@pytest.mark.parametrize("item_id", ["item-9", "a%00b", "x" * 129, "%ff"])
def test_unknown_item_is_rejected(client: TestClient, store: Home, item_id: str) -> None:
    response = client.get(url(store_evaluation(store), f"/items/{item_id}"))
    error_of(response, response.status_code)
    assert response.status_code in (404, 422)


def test_delete_refuses_baseline_evaluation(client: TestClient, store: Home) -> None:
    evaluation = store_evaluation(store)
    BaselineRepository(store.database).put(
        Baseline(name="main", evaluation_id=evaluation.evaluation_id, created_at=NOON)
    )
    assert "'main'" in error_of(client.delete(url(evaluation)), 409)["detail"]
    BaselineRepository(store.database).delete("main")
    assert client.delete(url(evaluation)).status_code == 204
    error_of(client.get(url(evaluation)), 404)
    error_of(client.delete(url(evaluation)), 404)


def test_evaluation_reference_rejects_paths(client: TestClient, store: Home) -> None:
    directory = store.settings.home_dir / "elsewhere"
    write_evaluation(directory, "10")
    for reference in (str(directory), "..%2Felsewhere", "elsewhere", "run-a"):
        response = client.get(f"/api/evaluations/{reference}")
        assert response.status_code in (404, 422)
    assert client.get("/api/evaluations").json()["pagination"]["total"] == 0


def test_evalset_list_includes_user_sets(client: TestClient, store: Home) -> None:
    store.settings.evalsets_dir.mkdir(parents=True)
    (store.settings.evalsets_dir / "broken.jsonl").write_text("{}\n")
    listed = {row["name"]: row for row in client.get("/api/evalsets").json()["data"]}
    assert (listed["eval_v2"]["is_shipped"], listed["eval_v2"]["num_items"]) == (True, 100)
    assert listed["eval_v2"]["sections"]["core"] == 60
    assert (listed["broken"]["is_shipped"], listed["broken"]["is_valid"]) == (False, False)
    error_of(client.get("/api/evalsets/broken"), 422)


def test_evalset_items_are_paginated(client: TestClient) -> None:
    page = client.get("/api/evalsets/eval_v2", params={"limit": 2, "offset": 99}).json()
    assert (len(page["data"]), page["pagination"]["total"]) == (1, 100)
    assert page["data"][0].keys() >= {"id", "prompt", "expected_answer", "section"}
    assert page["evalset"]["num_items"] == 100


@pytest.mark.parametrize("name", ["eval_v3", "..%2F..%2Fetc%2Fpasswd", "a%00b", "%2e%2e"])
def test_evalset_name_rejects_paths(client: TestClient, name: str) -> None:
    error_of(client.get(f"/api/evalsets/{name}"), 404)
