"""Datasets over HTTP."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from fastapi.testclient import TestClient
from support.apps import make_app
from support.builders import make_trace
from support.datasets import ALL_IN_TRAIN, add, jsonl, sums

from tunix_rt.base.home import open_home
from tunix_rt.base.settings import Settings
from tunix_rt.traces.types import Trace


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    opened = open_home(Settings(home=tmp_path / "home"))
    add(opened, sums(20))
    with TestClient(make_app(opened)) as started:
        yield started


BODY = {"dataset_name": "demo", "splits": ALL_IN_TRAIN}


def test_build_is_idempotent(client: TestClient) -> None:
    first = client.post("/api/datasets/build", json=BODY)
    second = client.post("/api/datasets/build", json=BODY)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["dataset_key"] == "demo-v1"
    assert first.json()["trace_count"] == 20
    conflict = client.post("/api/datasets/build", json=BODY | {"limit": 3})
    assert (conflict.status_code, conflict.json()["code"]) == (409, "conflict")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"dataset_name": "../x"}, 422),
        ({"dataset_name": "x", "unknown": 1}, 422),
        ({"dataset_name": "x", "filters": {"source": "nowhere"}}, 422),
        ({"dataset_name": "x", "filters": {"source": "a\x00b"}}, 422),
        ({"dataset_name": "x", "parent_dataset_key": "nowhere-v1"}, 404),
        ({"dataset_name": "x", "provenance": {"note": "\ud800"}}, 422),
    ],
)
def test_bad_build_is_refused(client: TestClient, body: dict[str, Any], status: int) -> None:
    headers = {"content-type": "application/json"}
    response = client.post("/api/datasets/build", content=json.dumps(body).encode(), headers=headers)
    assert response.status_code == status
    assert set(response.json()) == {"detail", "next_step", "code"}


def test_list_show_page_and_delete(client: TestClient) -> None:
    client.post("/api/datasets/build", json=BODY)
    listed = client.get("/api/datasets").json()
    assert [entry["dataset_key"] for entry in listed["data"]] == ["demo-v1"]
    assert listed["pagination"]["total"] == 1
    assert client.get("/api/datasets/demo-v1").json()["num_rows"] == 20
    page = client.get(
        "/api/datasets/demo-v1/rows", params={"split": "train", "limit": 5, "offset": 18}
    ).json()
    assert (len(page["data"]), page["pagination"]["total"]) == (2, 20)
    assert client.get("/api/datasets/demo-v1/card").text.startswith("---\nlicense: unknown\n")
    assert client.post("/api/datasets/demo-v1/verify").json()["intact"] is True
    assert client.delete("/api/datasets/demo-v1").status_code == 204
    assert client.get("/api/datasets/demo-v1").status_code == 404


@pytest.mark.parametrize("key", ["nowhere-v1", "..%2Fhome", "%2e%2e", "A", "a%00b"])
def test_unknown_and_unsafe_keys_are_refused(client: TestClient, key: str) -> None:
    for path in ("", "/rows", "/diff?other=x-v1", "/export.jsonl", "/export.parquet"):
        response = client.get(f"/api/datasets/{key}{path}")
        assert response.status_code in (404, 422)
        assert set(response.json()) == {"detail", "next_step", "code"}


def test_export_jsonl_and_parquet(client: TestClient) -> None:
    client.post("/api/datasets/build", json=BODY)
    lines = client.get("/api/datasets/demo-v1/export.jsonl").text.splitlines()
    assert len(lines) == 20
    assert Trace.model_validate_json(lines[0])
    chat = client.get("/api/datasets/demo-v1/export.jsonl", params={"format": "messages"}).text
    assert json.loads(chat.splitlines()[0])["messages"][1]["role"] == "assistant"
    parquet = client.get("/api/datasets/demo-v1/export.parquet", params={"split": "train"})
    assert pyarrow.parquet.read_table(io.BytesIO(parquet.content)).num_rows == 20
    assert client.get("/api/datasets/demo-v1/export.jsonl", params={"format": "xml"}).status_code == 422
    assert client.get("/api/datasets/demo-v1/export.jsonl", params={"split": "no"}).status_code == 404


def test_export_validates_rows_before_sending(client: TestClient) -> None:
    client.post("/api/traces", json=make_trace("Say <end_of_turn> now", source="odd").model_dump())
    client.post("/api/datasets/build", json=BODY)
    response = client.get("/api/datasets/demo-v1/export.jsonl", params={"format": "tunix_sft"})
    assert (response.status_code, response.json()["code"]) == (422, "bad-data")


def test_ingest_builds_dataset_of_upload(client: TestClient) -> None:
    upload = {"file": ("my traces.jsonl", jsonl(make_trace("One?"), make_trace("Two?")))}
    response = client.post("/api/datasets/ingest", files=upload, data={"dataset_name": "mine"})
    assert response.status_code == 201
    body = response.json()
    assert (body["ingested_count"], len(body["trace_ids"]), body["dataset"]["dataset_key"]) == (
        2,
        2,
        "mine-v1",
    )


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "a\x00.jsonl", "x." + "y" * 300, "🍎.jsonl"])
def test_ingest_survives_hostile_file_names(client: TestClient, name: str) -> None:
    upload = {"file": (name, jsonl(make_trace("One?")))}
    response = client.post("/api/datasets/ingest", files=upload)
    assert response.status_code in (201, 400, 422)


def test_ingest_with_bad_row_stores_nothing(client: TestClient) -> None:
    upload = {"file": ("rows.jsonl", jsonl(make_trace("One?")) + b"\xff\xfe\n")}
    response = client.post("/api/datasets/ingest", files=upload)
    assert response.status_code == 422
    assert "line 2" in response.json()["detail"]
    assert client.get("/api/traces").json()["pagination"]["total"] == 20


def test_ingest_rejects_server_paths(client: TestClient) -> None:
    response = client.post("/api/datasets/ingest", json={"path": "/etc/passwd", "source_name": "x"})
    assert response.status_code == 422
    assert "root" not in response.text
