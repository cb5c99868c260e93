"""The model registry over HTTP."""

import io
import zipfile
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient
from support.http import error_of
from support.models import registered, sqlite_home, succeeded_run

from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.models.files import ModelStore

MODELS = "/api/models"


@pytest.fixture
def settings(sqlite_template: Path, tmp_path: Path) -> Settings:
    return sqlite_home(sqlite_template, tmp_path / "home")


def create_model(client: TestClient, **values: Any) -> dict[str, Any]:
    answer = client.post(MODELS, json={"name": "demo", **values})
    assert answer.status_code == 201, answer.text
    model: dict[str, Any] = answer.json()
    return model


def promote_run(
    client: TestClient, run_id: str = "first", *, status: int = 201, **values: Any
) -> dict[str, Any]:
    answer = client.post(f"{MODELS}/demo/versions/promote", json={"source_run_id": run_id, **values})
    assert answer.status_code == status, answer.text
    version: dict[str, Any] = answer.json()
    return version


def test_model_is_created_once(client: TestClient) -> None:
    model = create_model(client, description="sums", task_type="text-generation")
    error_of(client.post(MODELS, json={"name": "demo"}), 409)
    for key in ("demo", model["id"]):
        assert client.get(f"{MODELS}/{key}").json() == {**model, "versions": []}
    assert client.get(MODELS).json()["data"] == [model]
    error_of(client.get(f"{MODELS}/{uuid4()}"), 404)


def test_invalid_names_are_rejected(client: TestClient) -> None:
    for name in ("", "a b", "../x", "versions", str(uuid4()), "a\x00b"):
        error_of(client.post(MODELS, json={"name": name}), 422)
    error_of(client.get(f"{MODELS}/a%00b"), 422)


def test_promoting_run_creates_version(client: TestClient, store: Home) -> None:
    create_model(client)
    succeeded_run(store)
    version = promote_run(client, version_label="v1.0", description="good", tags={"team": "a"})
    assert (version["version"], version["label"], version["notes"]) == (1, "v1.0", "good")
    assert promote_run(client, status=200) == version
    detail = client.get(f"{MODELS}/demo").json()
    assert (detail["latest_version"], detail["versions"]) == (1, [version])
    shown = client.get(f"{MODELS}/versions/{version['id']}").json()
    assert shown == {**version, "evaluations": []}
    assert shown["lineage"]["dataset"] == "demo-v1"


def test_invalid_promotions_are_rejected(client: TestClient, store: Home) -> None:
    promote = f"{MODELS}/demo/versions/promote"
    error_of(client.post(promote, json={"source_run_id": "first"}), 404)
    create_model(client)
    error_of(client.post(promote, json={"source_run_id": "gone"}), 404)
    error_of(client.post(promote, json={"source_run_id": "../../etc"}), 422)
    succeeded_run(store, status="failed", exit_code=1)
    assert (
        "only a run that succeeded"
        in error_of(client.post(promote, json={"source_run_id": "first"}), 409)["detail"]
    )


def test_alias_set_move_delete(client: TestClient, store: Home) -> None:
    registered(store)
    registered(store, run_id="second")
    alias = f"{MODELS}/demo/aliases/champion"
    for number in (1, 2):
        assert client.put(alias, json={"version": number}).json()["aliases"] == ["champion"]
    assert client.get(f"{MODELS}/demo").json()["aliases"] == {"champion": 2}
    error_of(client.put(alias, json={"version": 2**31 - 1}), 404)
    error_of(client.put(alias, json={"version": 2**31}), 422)
    assert client.delete(alias).status_code == 204
    error_of(client.delete(alias), 404)


def test_notes_and_tags_are_editable(client: TestClient, store: Home) -> None:
    version = f"{MODELS}/versions/{registered(store).id}"
    assert client.put(f"{version}/notes", json={"notes": "reviewed"}).json()["notes"] == "reviewed"
    assert client.put(f"{version}/tags/team", json={"value": "a"}).json()["tags"] == {"team": "a"}
    error_of(client.put(f"{version}/tags/team", json={"value": "\x00"}), 422)
    assert client.delete(f"{version}/tags/team").status_code == 204
    error_of(client.delete(f"{version}/tags/team"), 404)


def test_aliased_version_cannot_be_deleted(client: TestClient, store: Home) -> None:
    version = f"{MODELS}/versions/{registered(store).id}"
    client.put(f"{MODELS}/demo/aliases/champion", json={"version": 1})
    assert "unalias demo@champion" in error_of(client.delete(version), 409)["next_step"]
    error_of(client.delete(f"{MODELS}/demo"), 409)
    client.delete(f"{MODELS}/demo/aliases/champion")
    assert client.delete(version).status_code == 204
    error_of(client.get(version), 404)
    assert client.delete(f"{MODELS}/demo").status_code == 204


def test_download_contains_files_and_card(client: TestClient, store: Home) -> None:
    version = registered(store)
    answer = client.get(f"{MODELS}/versions/{version.id}/download")
    assert answer.headers["content-disposition"] == 'attachment; filename="demo-1.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        assert archive.read("model.safetensors") == b"weights of first"
        assert archive.read("README.md").decode() == client.get(f"{MODELS}/versions/{version.id}/card").text


def test_files_are_listed_and_verified(client: TestClient, store: Home) -> None:
    version = registered(store)
    url = f"{MODELS}/versions/{version.id}"
    assert [file["path"] for file in client.get(f"{url}/files").json()["files"]] == [
        "config.json",
        "model.safetensors",
    ]
    assert client.post(f"{url}/verify").json()["problems"] == []
    weights = client.get(f"{url}/files").json()["files"][1]
    ModelStore(store.settings.models_dir).blob(weights["sha256"]).unlink()
    assert client.post(f"{url}/verify").json()["problems"] == ["model.safetensors: is missing"]
    assert "model.safetensors" in error_of(client.get(f"{url}/download"), 422)["detail"]
