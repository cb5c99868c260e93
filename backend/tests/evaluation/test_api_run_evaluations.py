"""Evaluations of runs, rescoring, comparisons and the leaderboard over HTTP."""

import json
from typing import Any
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from support.evaluated_runs import EVALSET, store_answers, write_run
from support.evaluations import make_evaluation, make_model, make_predictions, make_protocol, write_evaluation
from support.http import error_of

from tunix_rt.base.home import Home
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import Evaluation


def store_evaluation(store: Home, name: str, verdicts: str, **values: Any) -> Evaluation:
    predictions = make_predictions(verdicts)
    evaluation = make_evaluation(predictions, name=name, **values)
    EvaluationRepository(store.database).add(evaluation, predictions)
    return evaluation


def test_run_answers_are_rescored(client: TestClient, store: Home) -> None:
    before = store_answers(store, "run-a")
    run = write_run(store.settings.runs_dir, "run-a")
    response = client.post("/api/tunix/runs/run-a/evaluate")
    assert response.status_code == 201, response.text
    body = response.json()
    assert (body["run_id"], body["score"], body["primary_score"]) == ("run-a", 100.0, 1.0)
    assert body["metrics"]["accuracy.edge_case"] == 1.0
    assert body["detailed_metrics"][0]["details"]["n"] == 2
    assert body["judge"]["name"] == "answer-checkers"
    assert "extractor" in body["judge"]["version"]
    assert body["evaluation"]["rescored_from"] == str(before.evaluation_id)
    assert "verdict" not in body
    assert client.get("/api/tunix/runs/run-a/evaluation").json() == body
    assert json.loads((run / "evaluation.json").read_text())["evaluation_id"] == body["evaluation_id"]


def test_eval_set_selects_run_answers(client: TestClient, store: Home) -> None:
    store_answers(store, "older", model=make_model("run-a"), age_hours=2)
    store_evaluation(store, "newer", "10", model=make_model("run-a"), evalset="another")
    write_run(store.settings.runs_dir, "run-a")
    response = client.post("/api/tunix/runs/run-a/evaluate", json={"eval_set": EVALSET})
    assert response.json()["evaluation"]["evalset"] == EVALSET
    missing = client.post("/api/tunix/runs/run-a/evaluate", json={"eval_set": "third"})
    assert error_of(missing, 409)["next_step"].endswith("tunix-rt eval run-a --eval-set third")


def test_run_directory_answers_are_scored(client: TestClient, store: Home) -> None:
    """The database has lost the answers; the run directory still has them."""
    evaluation = store_answers(store, "run-a")
    predictions = list(EvaluationRepository(store.database).iter_predictions(evaluation.evaluation_id))
    EvaluationRepository(store.database).delete(evaluation.evaluation_id)
    run = write_run(store.settings.runs_dir, "run-a")
    lines = "".join(json.dumps(prediction.to_json(), ensure_ascii=False) + "\n" for prediction in predictions)
    (run / "predictions.jsonl").write_text(lines, encoding="utf-8")
    (run / "evaluation.json").write_text(json.dumps(evaluation.to_json()), encoding="utf-8")
    error_of(client.get("/api/tunix/runs/run-a/evaluation"), 404)
    assert client.post("/api/tunix/runs/run-a/evaluate").json()["score"] == 100.0


@pytest.mark.parametrize("status", [None, "failed", "cancelled"])
def test_unsuccessful_run_is_not_scored(client: TestClient, store: Home, status: RunStatus | None) -> None:
    store_answers(store, "run-a")
    write_run(store.settings.runs_dir, "run-a", status)
    assert "run-a is" in error_of(client.post("/api/tunix/runs/run-a/evaluate"), 409)["detail"]


def test_unanswered_run_suggests_eval_command(client: TestClient, store: Home) -> None:
    write_run(store.settings.runs_dir, "run-a")
    error = error_of(client.post("/api/tunix/runs/run-a/evaluate"), 409)
    assert error["next_step"] == "Generate answers: tunix-rt eval run-a --eval-set eval_v2"
    error_of(client.post("/api/tunix/runs/run-b/evaluate"), 404)
    error_of(client.get("/api/tunix/runs/run-a/evaluation"), 404)


@pytest.mark.parametrize("run_id", ["..", "%2e%2e", "a%2Fb", ".hidden", "a%00b", "x" * 129, "-a"])
def test_run_id_rejects_paths(client: TestClient, store: Home, run_id: str) -> None:
    write_evaluation(store.settings.home_dir / "runs" / "a" / "b", "10")
    for response in (
        client.post(f"/api/tunix/runs/{run_id}/evaluate"),
        client.get(f"/api/tunix/runs/{run_id}/evaluation"),
    ):
        assert response.status_code in (404, 422)
        error_of(response, response.status_code)


@pytest.mark.parametrize("body", [{"judge": "x"}, {"eval_set": "a\u0000b"}, [], "x"])
def test_invalid_evaluate_body_is_rejected(client: TestClient, body: Any) -> None:
    error_of(client.post("/api/tunix/runs/run-a/evaluate", json=body), 422)


def test_unknown_judge_names_known_judge(client: TestClient) -> None:
    response = client.post("/api/tunix/runs/run-a/evaluate", json={"judge_override": "mock_judge"})
    assert "answer-checkers" in error_of(response, 422)["detail"]


def test_scores_are_listed_best_first(client: TestClient, store: Home) -> None:
    store_evaluation(store, "run-a", "110?", age_hours=2)
    store_evaluation(store, "hub/smol", "0000", age_hours=1)
    page = client.get("/api/tunix/evaluations").json()
    assert [row["model_id"] for row in page["data"]] == ["base-model", "hub/smol"]
    best = page["data"][0]
    assert (best["run_id"], best["dataset_key"], best["config_path"]) == ("run-a", "sums-v1", "tiny")
    assert best["score"] == pytest.approx(200 / 3)
    assert {name: best["scorecard"][name] for name in ("n_items", "n_scored", "n_skipped")} == {
        "n_items": 4,
        "n_scored": 3,
        "n_skipped": 1,
    }
    assert best["scorecard"]["low"] < best["primary_score"] < best["scorecard"]["high"]
    assert (page["pagination"]["total"], page["filters"]) == (2, {})


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"dataset_key": "sums-v1"}, ["base-model"]),
        ({"model_id": "SMOL"}, ["hub/smol"]),
        ({"config_path": "tin"}, ["base-model"]),
        ({"eval_set": "exam", "limit": "1", "offset": "1"}, ["hub/smol"]),
        ({"date_from": "2026-01-01", "date_to": "2026-01-01"}, ["base-model"]),
        ({"date_to": "2025-12-31"}, ["hub/smol"]),
    ],
)
def test_score_filters_are_applied_and_echoed(
    client: TestClient, store: Home, query: dict[str, str], expected: list[str]
) -> None:
    store_evaluation(store, "run-a", "11")
    store_evaluation(store, "hub/smol", "00", age_hours=24)
    page = client.get("/api/tunix/evaluations", params=query).json()
    assert [row["model_id"] for row in page["data"]] == expected
    assert page["filters"] == {k: v for k, v in query.items() if k not in ("limit", "offset")}


def test_leaderboard_ranks_ties_and_base(client: TestClient, store: Home) -> None:
    store_evaluation(store, "run-a", "1" * 40)
    store_evaluation(store, "run-b", "1" * 39 + "0", age_hours=1)
    store_evaluation(store, "base-model", "0" * 40, age_hours=2)
    store_evaluation(store, "run-c", "10", protocol=make_protocol(markup="think"))
    board = client.get("/api/tunix/leaderboard", params={"dataset": "sums-v1"}).json()
    groups = {len(group["entries"]): group["entries"] for group in board["groups"]}
    assert [(entry["rank"], entry["is_tied"], entry["is_base"]) for entry in groups[3]] == [
        (1, True, False),
        (1, True, False),
        (3, False, True),
    ]
    assert groups[3][0]["difference_to_base"] == 1.0
    assert groups[1][0]["evaluation"]["model"]["name"] == "run-c"


def test_evaluation_is_rescored(client: TestClient, store: Home) -> None:
    before = store_answers(store, "model-a", {"one": "18", "two": "0.75"})
    response = client.post(f"/api/evaluations/{before.evaluation_id}/rescore")
    assert response.status_code == 201, response.text
    after = response.json()
    assert (after["scores"]["primary_score"], after["rescored_from"]) == (0.5, str(before.evaluation_id))
    assert client.get(f"/api/evaluations/{after['evaluation_id']}").json() == after
    error_of(client.post(f"/api/evaluations/{uuid4()}/rescore"), 404)


def test_rescore_without_items_conflicts(client: TestClient, store: Home) -> None:
    evaluation = store_evaluation(store, "model-a", "10")
    error_of(client.post(f"/api/evaluations/{evaluation.evaluation_id}/rescore"), 409)


def test_samples_export_as_jsonl(client: TestClient, store: Home) -> None:
    evaluation = store_evaluation(store, "model-a", "10")
    response = client.get(f"/api/evaluations/{evaluation.evaluation_id}/samples.jsonl")
    assert response.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert [(line["doc_id"], line["exact_match"]) for line in lines] == [(0, 1.0), (1, 0.0)]
    error_of(client.get(f"/api/evaluations/{uuid4()}/samples.jsonl"), 404)


def test_compare_reports_flips_and_protocol_conflicts(client: TestClient, store: Home) -> None:
    base = store_evaluation(store, "model-a", "110")
    other = store_evaluation(store, "model-b", "101")
    thinking = store_evaluation(store, "model-c", "100", protocol=make_protocol(markup="think"))
    query = {"base": str(base.evaluation_id), "other": str(other.evaluation_id)}
    compared = client.get("/api/evaluations/compare", params=query).json()
    assert [(flip["item_id"], flip["direction"]) for flip in compared["flips"]] == [
        ("item-1", "lost"),
        ("item-2", "gained"),
    ]
    query["other"] = str(thinking.evaluation_id)
    assert "markup" in error_of(client.get("/api/evaluations/compare", params=query), 409)["detail"]
    allowed = client.get("/api/evaluations/compare", params=query | {"allow_different_protocols": True})
    assert allowed.json()["is_same_protocol"] is False
    query["base"] = str(uuid4())
    error_of(client.get("/api/evaluations/compare", params=query), 404)
