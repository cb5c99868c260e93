"""Blind votes over HTTP, on both databases."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from support.http import error_of

UNKNOWN_ID = "01234567-89ab-8def-8123-456789abcdef"
MESSAGES = [{"role": "user", "content": "What is 2 + 3?"}]
RIGHT = {"model": "sums:2", "content": "5", "reasoning_content": "2 + 3 = 5"}
WRONG = {"model": "sums:1", "content": "6"}


def vote(client: TestClient, a: dict[str, str], b: dict[str, str], choice: str) -> dict[str, Any]:
    answer = client.post("/api/preferences", json={"messages": MESSAGES, "a": a, "b": b, "choice": choice})
    assert answer.status_code == 201, answer.text
    stored: dict[str, Any] = answer.json()
    return stored


def test_votes_are_listed_newest_first(client: TestClient) -> None:
    votes = [vote(client, RIGHT, WRONG, choice) for choice in ("a", "tie", "neither")]
    page = client.get("/api/preferences", params={"limit": 2}).json()
    assert page["data"] == votes[:0:-1]
    assert page["pagination"]["total"] == 3


def test_tally_ignores_side_order(client: TestClient) -> None:
    vote(client, RIGHT, WRONG, "a")
    vote(client, WRONG, RIGHT, "b")
    vote(client, WRONG, RIGHT, "a")
    vote(client, WRONG, RIGHT, "tie")
    vote(client, WRONG, RIGHT, "neither")
    vote(client, RIGHT, RIGHT, "a")
    (tally,) = client.get("/api/preferences").json()["tallies"]
    assert (tally["model"], tally["other"]) == ("sums:1", "sums:2")
    assert (tally["wins"]["count"], tally["wins"]["n"]) == (1, 3)
    assert (tally["num_ties"], tally["num_neither"]) == (1, 1)


def test_decided_votes_are_exported_as_pairs(client: TestClient) -> None:
    vote(client, WRONG, RIGHT, "b")
    vote(client, WRONG, RIGHT, "tie")
    answer = client.get("/api/preferences/export.jsonl")
    assert [json.loads(line) for line in answer.text.splitlines()] == [
        {
            "prompt": MESSAGES,
            "chosen": [
                {"role": "assistant", "content": "<reasoning>\n2 + 3 = 5\n</reasoning>\n<answer>5</answer>"}
            ],
            "rejected": [{"role": "assistant", "content": "6"}],
            "chosen_model": "sums:2",
            "rejected_model": "sums:1",
        }
    ]


def test_vote_can_be_deleted(client: TestClient) -> None:
    stored = vote(client, RIGHT, WRONG, "a")
    assert client.delete(f"/api/preferences/{stored['id']}").status_code == 204
    assert client.get("/api/preferences").json()["data"] == []
    assert error_of(client.delete(f"/api/preferences/{UNKNOWN_ID}"), 404)


@pytest.mark.parametrize(
    "changed", [{"choice": "both"}, {"messages": []}, {"a": {"model": "", "content": ""}}]
)
def test_invalid_votes_are_rejected(client: TestClient, changed: dict[str, Any]) -> None:
    body = {"messages": MESSAGES, "a": RIGHT, "b": WRONG, "choice": "a", **changed}
    assert client.post("/api/preferences", json=body).status_code == 422
