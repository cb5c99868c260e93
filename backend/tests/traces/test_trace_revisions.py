"""Reviews of traces over HTTP; every test runs on both databases."""

import json
from typing import Any

from fastapi.testclient import TestClient
from support.http import body, error_of

UNKNOWN_ID = "01234567-89ab-8def-8123-456789abcdef"
STEPS = ["2 + 3 = 6", "6 is the sum.", "Done."]


def create(client: TestClient) -> str:
    sent = body("What is 2 + 3?", steps=STEPS, source="books")
    return str(client.post("/api/traces", json=sent).json()["id"])


def review(
    client: TestClient, trace_id: str, *steps: tuple[int, str] | tuple[int, str, str], **rest: Any
) -> Any:
    reviews = [dict(zip(("i", "verdict", "content"), step, strict=False)) for step in steps]
    return client.post(f"/api/traces/{trace_id}/revisions", json={"steps": reviews, **rest})


def repair(client: TestClient, trace_id: str) -> str:
    response = review(client, trace_id, (0, "edited", "2 + 3 = 5"), (1, "rejected"), (2, "accepted"))
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def exported_rows(client: TestClient, name: str) -> list[dict[str, Any]]:
    response = client.get(f"/api/traces/revisions/{name}.jsonl")
    assert response.status_code == 200
    return [json.loads(line) for line in response.text.splitlines()]


def test_revision_records_its_origin(client: TestClient) -> None:
    trace_id = create(client)
    child = client.get(f"/api/traces/{repair(client, trace_id)}").json()
    assert [step["content"] for step in child["payload"]["steps"]] == ["2 + 3 = 5", "Done."]
    assert child["payload"]["meta"] == {
        "source": "books",
        "reviewed": True,
        "revision_of": trace_id,
        "revision_root": trace_id,
        "step_verdicts": {"0": "edited", "1": "rejected", "2": "accepted"},
    }
    assert child["score"] is not None
    original = client.get(f"/api/traces/{trace_id}").json()["payload"]
    assert [step["content"] for step in original["steps"]] == STEPS


def test_review_is_idempotent(client: TestClient) -> None:
    trace_id = create(client)
    first, again = (review(client, trace_id, (2, "accepted")) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json() | {"created": True}


def test_revisions_are_listed_from_any_version(client: TestClient) -> None:
    trace_id = create(client)
    second = repair(client, trace_id)
    third = review(client, second, (0, "accepted"), final_answer="5 apples").json()["id"]
    lists = [
        client.get(f"/api/traces/{version}/revisions").json()["data"] for version in (trace_id, second, third)
    ]
    assert lists[0] == lists[1] == lists[2]
    assert [(item["id"], item["revision_of"]) for item in lists[0]] == [
        (third, second),
        (second, trace_id),
        (trace_id, None),
    ]
    assert lists[0][0]["final_answer"] == "5 apples"
    client.delete(f"/api/traces/{trace_id}")
    remaining = client.get(f"/api/traces/{third}/revisions").json()["data"]
    assert [item["id"] for item in remaining] == [third, second]


def test_review_exports_preference_and_step_labels(client: TestClient) -> None:
    trace_id = create(client)
    child = repair(client, trace_id)
    [pair] = exported_rows(client, "preferences")
    assert (pair["chosen_id"], pair["rejected_id"]) == (child, trace_id)
    assert "2 + 3 = 5" in pair["chosen"]
    assert "2 + 3 = 6" in pair["rejected"]
    [labels] = exported_rows(client, "step-labels")
    assert labels["completions"] == STEPS
    assert labels["labels"] == [False, False, True]


def test_export_omits_unjudged_and_unrepaired(client: TestClient) -> None:
    trace_id = create(client)
    review(client, trace_id, (0, "accepted"), (2, "accepted"))
    assert exported_rows(client, "preferences") == []
    assert [row["completions"] for row in exported_rows(client, "step-labels")] == [STEPS[:1]]
    client.delete(f"/api/traces/{trace_id}")
    assert exported_rows(client, "step-labels") == []


def test_invalid_review_is_rejected(client: TestClient) -> None:
    trace_id = create(client)
    invalid: dict[str, list[Any]] = {
        "Every step": [(i, "rejected") for i in range(3)],
        "no step 7": [(7, "accepted")],
        "changes nothing": [(0, "edited", STEPS[0])],
        "needs `content`": [(0, "edited")],
        "two verdicts": [(0, "accepted"), (0, "rejected")],
        "empty": [],
    }
    for reason, steps in invalid.items():
        assert reason in error_of(review(client, trace_id, *steps), 422)["detail"]
    error_of(review(client, UNKNOWN_ID, (0, "accepted")), 404)
    error_of(client.get(f"/api/traces/{UNKNOWN_ID}/revisions"), 404)


def test_user_meta_key_is_not_lineage(client: TestClient) -> None:
    sent = body("What is 2 + 3?", revision_of="my notebook")
    trace_id = client.post("/api/traces", json=sent).json()["id"]
    [only] = client.get(f"/api/traces/{trace_id}/revisions").json()["data"]
    assert only["revision_of"] is None
