"""The trace routes; every test runs on both databases."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from support.http import body, error_of

WRONG_STEPS = ["2 + 3 = 6"]
UNKNOWN_ID = "01234567-89ab-8def-8123-456789abcdef"


def create(client: TestClient, prompt: str, **rest: Any) -> str:
    response = client.post("/api/traces", json=body(prompt, **rest))
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def list_prompts(client: TestClient, **params: Any) -> list[str]:
    response = client.get("/api/traces", params=params)
    assert response.status_code == 200, response.text
    return [item["prompt_start"] for item in response.json()["data"]]


def test_create_is_idempotent(client: TestClient) -> None:
    first = client.post("/api/traces", json=body())
    again = client.post("/api/traces", json=body())
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json() | {"created": True}
    assert client.get("/api/traces").json()["pagination"]["total"] == 1


def test_payload_round_trips_unchanged(client: TestClient) -> None:
    sent = body("Wie viel ist 2 + 3? 🧮", source="books", tags=["a", "b"], nested={"deep": [1, 2.5, None]})
    trace_id = client.post("/api/traces", json=sent).json()["id"]
    detail = client.get(f"/api/traces/{trace_id}").json()
    assert detail["payload"] == sent
    assert (detail["id"], detail["score"], detail["lint_codes"]) == (trace_id, None, [])
    assert detail["created_at"].endswith(("Z", "+00:00"))


def test_batch_keeps_order_and_deduplicates(client: TestClient) -> None:
    create(client, "there before")
    prompts = ["z", "a", "there before", "z", "m"]
    receipt = client.post("/api/traces/batch", json=[body(prompt) for prompt in prompts])
    assert receipt.status_code == 201
    assert receipt.json()["created_count"] == 3
    entries = receipt.json()["traces"]
    assert [entry["created"] for entry in entries] == [True, True, False, False, True]
    shown = [client.get(f"/api/traces/{entry['id']}").json()["payload"]["prompt"] for entry in entries]
    assert shown == prompts


INVALID_FIELDS = {
    "7.prompt": {"prompt": "  "},
    "7.steps": {"steps": []},
    "7.final_answer": {"final_answer": "a\x00b"},
    "7.surprise": {"surprise": 1},
    "7.trace_version": {"trace_version": "9.9"},
}


def test_invalid_trace_rejects_whole_batch(client: TestClient) -> None:
    for location, field in INVALID_FIELDS.items():
        batch = [body(f"number {n}") for n in range(10)]
        batch[7] |= field
        error = error_of(client.post("/api/traces/batch", json=batch), 422)
        assert location in error["detail"]
    assert list_prompts(client) == []


@pytest.mark.parametrize("size", [0, 1_001])
def test_empty_or_oversized_batch_is_rejected(client: TestClient, size: int) -> None:
    error_of(client.post("/api/traces/batch", json=[body(f"{n}?") for n in range(size)]), 422)
    assert list_prompts(client) == []


def test_largest_batch_is_stored(client: TestClient) -> None:
    receipt = client.post("/api/traces/batch", json=[body(f"{n}?") for n in range(1_000)])
    assert receipt.json()["created_count"] == 1_000
    assert client.get("/api/traces").json()["pagination"]["total"] == 1_000


def test_filters_select_matching_traces(client: TestClient) -> None:
    create(client, "red apples", source="books", tags=["easy", "fruit"], level=2, checked=True)
    create(client, "green apples", source="web", tags=["easy"], level=3, checked=False)
    assert list_prompts(client) == ["green apples", "red apples"]
    assert list_prompts(client, source="books") == ["red apples"]
    assert list_prompts(client, meta="level=3") == ["green apples"]
    assert list_prompts(client, meta=["level=2", "checked=true"]) == ["red apples"]
    assert list_prompts(client, meta=["level=2", "checked=false"]) == []
    assert list_prompts(client, tag=["easy", "fruit"]) == ["red apples"]
    assert list_prompts(client, query="APPLES green") == ["green apples"]
    assert list_prompts(client, query="app*", source="web") == ["green apples"]
    assert list_prompts(client, query="pears") == []


def test_filters_use_stored_score(client: TestClient) -> None:
    right, wrong = create(client, "2 + 3, right?"), create(client, "2 + 3, wrong?", steps=WRONG_STEPS)
    unscored = client.get("/api/traces", params={"min_score": 0}).json()
    assert (unscored["data"], unscored["num_unscored"]) == ([], 2)
    scores = {trace_id: client.post(f"/api/traces/{trace_id}/score").json() for trace_id in (right, wrong)}
    assert scores[wrong]["score"] < scores[right]["score"] == 100
    assert list_prompts(client, code="arithmetic-wrong") == ["2 + 3, wrong?"]
    assert list_prompts(client, without_code="arithmetic-wrong") == ["2 + 3, right?"]
    assert list_prompts(client, min_score=99) == ["2 + 3, right?"]
    assert list_prompts(client, max_score=99) == ["2 + 3, wrong?"]
    detail = client.get(f"/api/traces/{wrong}").json()
    assert detail["score"] == scores[wrong]["score"]
    assert "arithmetic-wrong" in detail["lint_codes"]


def test_score_is_stored_with_findings(client: TestClient) -> None:
    trace_id = create(client, "wrong", steps=WRONG_STEPS)
    missing = error_of(client.get(f"/api/traces/{trace_id}/report"), 404)
    assert "never linted" in missing["detail"]
    scored = client.post(f"/api/traces/{trace_id}/score", json={"criteria": "baseline"})
    assert (scored.status_code, scored.json()["criteria"]) == (201, "baseline")
    assert client.get(f"/api/traces/{trace_id}/report").json() == scored.json()["details"]
    finding = scored.json()["details"]["findings"][0]
    assert (finding["code"], finding["step"], finding["expected"]) == ("arithmetic-wrong", 0, "5")
    error_of(client.post(f"/api/traces/{trace_id}/score", json={"criteria": "length"}), 422)


def test_lint_stores_nothing(client: TestClient) -> None:
    report = client.post("/api/traces/lint", json=body(steps=WRONG_STEPS))
    assert report.status_code == 200
    assert report.json()["findings"][0]["code"] == "arithmetic-wrong"
    assert list_prompts(client) == []


def test_pagination_covers_all_traces(client: TestClient) -> None:
    client.post("/api/traces/batch", json=[body(f"{n}?") for n in range(7)])
    seen, offset = [], 0
    while offset is not None:
        page = client.get("/api/traces", params={"limit": 3, "offset": offset}).json()
        assert (page["pagination"]["total"], page["pagination"]["total_is_exact"]) == (7, True)
        seen += [item["id"] for item in page["data"]]
        offset = page["pagination"]["next_offset"]
    assert len(seen) == len(set(seen)) == 7
    beyond = client.get("/api/traces", params={"offset": 100}).json()
    assert (beyond["data"], beyond["pagination"]["next_offset"]) == ([], None)


INVALID_FILTERS: list[dict[str, Any]] = [
    {"limit": 0},
    {"limit": 101},
    {"offset": -1},
    {"offset": 2**31},
    {"limit": "ten"},
    {"min_score": "nan"},
    {"max_score": 101},
    {"meta": "no-equals-sign"},
    {"code": "no-such-finding"},
    {"query": "?!"},
    {"query": "a\x00b"},
    {"source": "a\x00b"},
    {"tag": "\x00"},
    {"query": "x" * 1_001},
]


def test_invalid_filter_is_rejected(client: TestClient) -> None:
    for params in INVALID_FILTERS:
        error_of(client.get("/api/traces", params=params), 422)


def test_compare_aligns_steps(client: TestClient) -> None:
    base = create(client, "p", steps=["first we add 2 + 3 = 5", "so it is 5"])
    other = create(client, "p", steps=["first we add 2 + 3 = 5", "check: 5 - 3 = 2", "so it is 5"])
    compared = client.get("/api/traces/compare", params={"base": base, "other": other}).json()
    assert [line["kind"] for line in compared["comparison"]["steps"]] == ["same", "added", "same"]
    assert (compared["base"]["id"], compared["other"]["id"]) == (base, other)
    assert compared["comparison"]["same_answer"] is True
    error_of(client.get("/api/traces/compare", params={"base": base, "other": UNKNOWN_ID}), 404)
    error_of(client.get("/api/traces/compare", params={"base": base}), 422)


def test_delete_removes_trace_everywhere(client: TestClient) -> None:
    trace_id = create(client, "apples", source="books")
    client.post(f"/api/traces/{trace_id}/score")
    response = client.delete(f"/api/traces/{trace_id}")
    assert (response.status_code, response.content) == (204, b"")
    for filters in ({}, {"query": "apples"}, {"source": "books"}, {"min_score": 0}):
        assert list_prompts(client, **filters) == []
    error_of(client.get(f"/api/traces/{trace_id}/report"), 404)
    assert create(client, "apples", source="books") == trace_id
    assert client.get(f"/api/traces/{trace_id}").json()["score"] is None


def test_unknown_trace_returns_404(client: TestClient) -> None:
    for method, rest in [("GET", ""), ("GET", "/report"), ("POST", "/score"), ("DELETE", "")]:
        error = error_of(client.request(method, f"/api/traces/{UNKNOWN_ID}{rest}"), 404)
        assert (error["code"], UNKNOWN_ID in error["detail"]) == ("not-found", True)


def test_malformed_trace_id_is_rejected(client: TestClient) -> None:
    for trace_id in ("not-a-uuid", "0", "a%00b", "%ff", "é"):
        error_of(client.get(f"/api/traces/{trace_id}/report"), 422)
    for trace_id in ("..", "%2e%2e%2fetc", "a/b"):
        error_of(client.get(f"/api/traces/{trace_id}/report"), 404)


def test_every_lint_code_has_meaning(client: TestClient) -> None:
    codes = client.get("/api/traces/lint/codes").json()["data"]
    assert {"code": "answer-mismatch", "severity": "error"}.items() <= codes[1].items()
    assert all(code["meaning"].endswith(".") for code in codes)


def test_list_sorts_by_age_or_score(client: TestClient) -> None:
    for prompt, steps in {"right apples": ["2 + 3 = 5"], "wrong apples": ["2 + 3 = 6"]}.items():
        client.post("/api/traces", json=body(prompt, steps=steps))
    assert client.post("/api/traces/score").json() == {"num_scored": 2}
    assert client.post("/api/traces/score").json() == {"num_scored": 0}
    client.post("/api/traces", json=body("unscored apples"))
    assert list_prompts(client, order="newest") == ["unscored apples", "wrong apples", "right apples"]
    assert list_prompts(client, order="oldest") == ["right apples", "wrong apples", "unscored apples"]
    assert (
        list_prompts(client, order="best")
        == list_prompts(client, order="best", query="apples")
        == ["right apples", "wrong apples", "unscored apples"]
    )
    assert list_prompts(client, order="worst", query="apples") == [
        "wrong apples",
        "right apples",
        "unscored apples",
    ]
    assert list_prompts(client, order="worst", query="apples", max_score="99") == ["wrong apples"]
