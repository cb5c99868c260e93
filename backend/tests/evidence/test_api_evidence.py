"""Evidence over HTTP."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from support.evidence_runs import RUN, evaluated_run, trained_run
from support.http import error_of
from support.models import sqlite_home

from tunix_rt.base.settings import Settings
from tunix_rt.evidence.verify import verify_evidence

EVIDENCE = "/api/evidence"


@pytest.fixture
def settings(sqlite_template: Path, tmp_path: Path) -> Settings:
    return sqlite_home(sqlite_template, tmp_path / "home")


def test_pack_list_verify_download(client: TestClient, settings: Settings, tmp_path: Path) -> None:
    evaluated_run(settings.home_dir)
    assert client.get(EVIDENCE).json()["data"] == []

    packed = client.post(f"{EVIDENCE}/pack", json={"run_id": RUN})

    assert packed.status_code == 201, packed.text
    listed = client.get(EVIDENCE, params={"run_id": RUN}).json()
    assert [row["content_hash"] for row in listed["data"]] == [packed.json()["content_hash"]]
    assert client.get(EVIDENCE, params={"run_id": "another"}).json()["pagination"]["total"] == 0
    detail = client.get(f"{EVIDENCE}/{RUN}").json()
    assert detail == packed.json()
    assert all(file["proves"] for file in detail["files"])
    assert client.post(f"{EVIDENCE}/{RUN}/verify").json()["passed"]
    *steps, verdict = map(json.loads, client.post(f"{EVIDENCE}/{RUN}/verify/live").text.splitlines())
    assert verdict["passed"]
    assert [len(step["checks"]) for step in steps] == sorted(len(step["checks"]) for step in steps)
    assert steps[-1]["checks"] == verdict["checks"]
    assert 0 < steps[-1]["num_bytes"] == steps[-1]["total_bytes"]
    answer = client.get(f"{EVIDENCE}/{RUN}/download")
    (tmp_path / "bundle.zip").write_bytes(answer.content)
    assert verify_evidence(tmp_path / "bundle.zip").passed
    assert "evidence.json" in zipfile.ZipFile(io.BytesIO(answer.content)).namelist()


def test_bundle_files_are_served_sandboxed(client: TestClient, settings: Settings) -> None:
    evaluated_run(settings.home_dir)
    client.post(f"{EVIDENCE}/pack", json={"run_id": RUN})

    page = client.get(f"{EVIDENCE}/{RUN}/files/evidence.html")
    rows = client.get(f"{EVIDENCE}/{RUN}/files/dataset/train.jsonl")

    assert page.text.count("<h1>Evidence: run-1</h1>") == 1
    assert page.headers["content-type"].startswith("text/html")
    assert "sandbox" in page.headers["content-security-policy"]
    assert len(rows.text.splitlines()) == 4
    for path in ("nothing.txt", "..%2F..%2Ftunix_rt.db", "dataset", ""):
        error_of(client.get(f"{EVIDENCE}/{RUN}/files/{path}"), 404)


def test_missing_files_are_named(client: TestClient, settings: Settings) -> None:
    trained_run(settings.home_dir)

    error = error_of(client.post(f"{EVIDENCE}/pack", json={"run_id": RUN}), 422)

    assert "predictions.jsonl is missing" in error["detail"]
    assert error["next_step"].startswith("Evaluate it")


def test_unknown_bundles_are_not_found(client: TestClient) -> None:
    error_of(client.post(f"{EVIDENCE}/pack", json={"run_id": "nothing"}), 404)
    error_of(client.get(f"{EVIDENCE}/nothing"), 404)
    error_of(client.get(f"{EVIDENCE}/nothing/download"), 404)
    error_of(client.post(f"{EVIDENCE}/nothing/verify"), 404)
    error_of(client.post(f"{EVIDENCE}/nothing/verify/live"), 404)
    error_of(client.post(f"{EVIDENCE}/pack", json={"run_id": "../x"}), 422)


def test_changed_bundle_is_listed_as_damaged(client: TestClient, settings: Settings) -> None:
    evaluated_run(settings.home_dir)
    client.post(f"{EVIDENCE}/pack", json={"run_id": RUN})
    path = settings.evidence_dir / RUN / "evidence.json"
    path.write_text(path.read_text().replace("50.0%", "99.0%"))

    assert client.get(EVIDENCE).json()["damaged"] == [RUN]
    error_of(client.get(f"{EVIDENCE}/{RUN}"), 422)
    assert not client.post(f"{EVIDENCE}/{RUN}/verify").json()["passed"]
