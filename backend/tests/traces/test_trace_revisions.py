"""Reviews of traces over HTTP, on both databases."""

import json
from typing import Any

from fastapi.testclient import TestClient
from support.http import body, error_of

UNKNOWN_ID = "01234567-89ab-8def-8123-456789abcdef"
STEPS = ["2 + 3 = 6", "6 is the sum.", "Done."]


def create(client: TestClient) -> str:
    sent = body("What is 2 + 3?", steps=STEPS, source="books")
    return str(client.post("/api/traces", json=sent).json()["id"])


def review(client: TestClient, key: str, *steps: tuple[int, str] | tuple[int, str, str], **rest: Any) -> Any:
    judged = [dict(zip(("i", "verdict", "content"), step, strict=False)) for step in steps]
    return client.post(f"/api/traces/{key}/revisions", json={"steps": judged, **rest})


def repair(client: TestClient, key: str) -> str:
    edits = [(0, "edited", "2 + 3 = 5"), (1, "rejected"), (2, "accepted")]
    answer = review(client, key, *edits)  # type: ignore[arg-type]
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def lines(client: TestClient, name: str) -> list[dict[str, Any]]:
    answer = client.get(f"/api/traces/revisions/{name}.jsonl")
    assert answer.status_code == 200
    return [json.loads(line) for line in answer.text.splitlines()]


def test_revision_records_its_origin(client: TestClient) -> None:
    key = create(client)
    child = client.get(f"/api/traces/{repair(client, key)}").json()
    assert [step["content"] for step in child["payload"]["steps"]] == ["2 + 3 = 5", "Done."]
    assert child["payload"]["meta"] == {
        "source": "books",
        "reviewed": True,
        "revision_of": key,
        "revision_root": key,
        "step_verdicts": {"0": "edited", "1": "rejected", "2": "accepted"},
    }
    assert child["score"] is not None
    original = client.get(f"/api/traces/{key}").json()["payload"]
    assert [step["content"] for step in original["steps"]] == STEPS


def test_review_is_idempotent(client: TestClient) -> None:
    key = create(client)
    first, again = (review(client, key, (2, "accepted")) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json() | {"created": True}


def test_revisions_are_listed_from_any_version(client: TestClient) -> None:
    key = create(client)
    second = repair(client, key)
    third = review(client, second, (0, "accepted"), final_answer="5 apples").json()["id"]
    listed = [client.get(f"/api/traces/{one}/revisions").json()["data"] for one in (key, second, third)]
    assert listed[0] == listed[1] == listed[2]
    assert [(item["id"], item["revision_of"]) for item in listed[0]] == [
        (third, second),
        (second, key),
        (key, None),
    ]
    assert listed[0][0]["final_answer"] == "5 apples"
    client.delete(f"/api/traces/{key}")
    left = client.get(f"/api/traces/{third}/revisions").json()["data"]
    assert [item["id"] for item in left] == [third, second]


def test_review_exports_preference_and_step_labels(client: TestClient) -> None:
    key = create(client)
    child = repair(client, key)
    [pair] = lines(client, "preferences")
    assert (pair["chosen_id"], pair["rejected_id"]) == (child, key)
    assert "2 + 3 = 5" in pair["chosen"]
    assert "2 + 3 = 6" in pair["rejected"]
    [labels] = lines(client, "step-labels")
    assert labels["completions"] == STEPS
    assert labels["labels"] == [False, False, True]


def test_export_omits_unjudged_and_unrepaired(client: TestClient) -> None:
    key = create(client)
    review(client, key, (0, "accepted"), (2, "accepted"))
    assert lines(client, "preferences") == []
    assert [row["completions"] for row in lines(client, "step-labels")] == [STEPS[:1]]
    client.delete(f"/api/traces/{key}")
    assert lines(client, "step-labels") == []


def test_invalid_review_is_rejected(client: TestClient) -> None:
    key = create(client)
    everything = [(i, "rejected") for i in range(3)]
    assert "Every step" in error_of(review(client, key, *everything), 422)["detail"]
    assert "no step 7" in error_of(review(client, key, (7, "accepted")), 422)["detail"]
    assert "changes nothing" in error_of(review(client, key, (0, "edited", STEPS[0])), 422)["detail"]
    assert "needs `content`" in error_of(review(client, key, (0, "edited")), 422)["detail"]
    assert "two verdicts" in error_of(review(client, key, (0, "accepted"), (0, "rejected")), 422)["detail"]
    assert "empty" in error_of(review(client, key), 422)["detail"]
    error_of(review(client, UNKNOWN_ID, (0, "accepted")), 404)
    error_of(client.get(f"/api/traces/{UNKNOWN_ID}/revisions"), 404)


def test_user_meta_key_is_not_lineage(client: TestClient) -> None:
    sent = body("What is 2 + 3?", revision_of="my notebook")
    key = client.post("/api/traces", json=sent).json()["id"]
    [only] = client.get(f"/api/traces/{key}/revisions").json()["data"]
    assert only["revision_of"] is None


def test_every_lint_code_has_meaning(client: TestClient) -> None:
    codes = client.get("/api/traces/lint/codes").json()["data"]
    assert {"code": "answer-mismatch", "severity": "error"}.items() <= codes[1].items()
    assert all(code["meaning"].endswith(".") for code in codes)


def test_list_sorts_by_age_or_score(client: TestClient) -> None:
    def listed(order: str, **filters: str) -> list[str]:
        answer = client.get("/api/traces", params={"order": order, **filters}).json()
        return [item["prompt_start"] for item in answer["data"]]

    for prompt, steps in {"right apples": ["2 + 3 = 5"], "wrong apples": ["2 + 3 = 6"]}.items():
        client.post("/api/traces", json=body(prompt, steps=steps))
    assert client.post("/api/traces/score").json() == {"num_scored": 2}
    assert client.post("/api/traces/score").json() == {"num_scored": 0}
    client.post("/api/traces", json=body("unjudged apples"))
    assert listed("newest") == ["unjudged apples", "wrong apples", "right apples"]
    assert listed("oldest") == ["right apples", "wrong apples", "unjudged apples"]
    assert (
        listed("best")
        == listed("best", query="apples")
        == ["right apples", "wrong apples", "unjudged apples"]
    )
    assert listed("worst", query="apples") == ["wrong apples", "right apples", "unjudged apples"]
    assert listed("worst", query="apples", max_score="99") == ["wrong apples"]
