"""Path traversal: nothing outside the home is read, written or revealed."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from support.apps import make_app
from support.datasets import sums
from support.encoders import write_tokenizer
from support.http import body, error_of

from tunix_rt.base.home import open_home
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.build import build_from_store
from tunix_rt.datasets.types import DatasetSpec
from tunix_rt.traces.store import TraceRepository

OUTSIDE_TEXT = "another user's text"
PATH_TRICKS = [
    "..",
    "../outside",
    "../../outside",
    "..%2foutside",
    "..\\outside",
    "demo-v1/../../outside",
    "./demo-v1",
    "/etc/passwd",
    "//etc/passwd",
    "file:///etc/passwd",
    "demo-v1\x00",
    "demo-v1\n",
    "~",
    ".hidden",
    " ",
    "CON",
    "a" * 5_000,
    "dem\u00f6-v1",
    "linked-v1",
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Another user's dataset and tokenizer beside the home, which no client may reach."""
    folder = tmp_path / "outside"
    write_tokenizer(folder)
    (folder / "train.jsonl").write_text(OUTSIDE_TEXT)
    (folder / "manifest.json").write_text(json.dumps({"detail": OUTSIDE_TEXT}))
    (folder / "template.jinja").write_text(OUTSIDE_TEXT)
    return folder


@pytest.fixture
def http(home: Path, outside: Path) -> Iterator[TestClient]:
    """A server with one dataset, and a symlink out of its datasets directory."""
    store = open_home(Settings(home=home))
    rows = sums(8)
    TraceRepository(store.database).add_many([(row.trace(), row.canonical) for row in rows])
    build_from_store(store, DatasetSpec(dataset_name="demo", splits={"train": 1.0}))
    (home / "datasets" / "linked-v1").symlink_to(outside, target_is_directory=True)
    with TestClient(make_app(store)) as started:
        yield started


@pytest.fixture(autouse=True)
def _assert_outside_unchanged(tmp_path: Path, http: TestClient) -> Iterator[None]:
    before = hash_files_outside(tmp_path)
    yield
    assert hash_files_outside(tmp_path) == before


def hash_files_outside(tmp_path: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "directory"
        for path in sorted(tmp_path.rglob("*"))
        if not path.is_relative_to(tmp_path / "home")
    }


def assert_refused(response: Response) -> None:
    assert response.status_code in (404, 405, 409, 422), (response.url, response.text)
    error_of(response, response.status_code)
    assert OUTSIDE_TEXT not in response.text


def test_path_like_dataset_keys_are_refused(http: TestClient, home: Path) -> None:
    for key in PATH_TRICKS:
        dataset = f"/api/datasets/{quote(key, safe='')}"
        for rest in ("", "/rows", "/card", "/export.jsonl", "/export.parquet", "/xray", "/xray.html"):
            assert_refused(http.get(dataset + rest))
        assert_refused(http.get("/api/datasets/demo-v1/diff", params={"other": key}))
        assert_refused(http.post(f"{dataset}/verify"))
        assert_refused(http.delete(dataset))
    assert (home / "datasets" / "linked-v1").is_symlink()


def test_path_like_names_build_nothing(http: TestClient, home: Path) -> None:
    before = sorted((home / "datasets").iterdir())
    for key in PATH_TRICKS:
        for wrong in (
            {"dataset_name": f"{key}/new"},
            {"dataset_version": key},
            {"parent_dataset_key": key},
            {"splits": {f"{key}/": 1.0}},
        ):
            assert_refused(http.post("/api/datasets/build", json={"dataset_name": "new"} | wrong))
    assert sorted((home / "datasets").iterdir()) == before


def test_build_does_not_follow_symlinks(http: TestClient) -> None:
    assert_refused(http.post("/api/datasets/build", json={"dataset_name": "linked"}))


def test_path_like_parameters_are_refused(http: TestClient, home: Path, outside: Path) -> None:
    for name in [*PATH_TRICKS, str(outside), f"{home}/../outside"]:
        for place in ("split", "model", "template"):
            assert_refused(http.get("/api/datasets/demo-v1/xray", params={place: name}))
        assert_refused(http.get("/api/datasets/demo-v1/rows", params={"split": name}))
        assert_refused(http.get("/api/datasets/demo-v1/export.jsonl", params={"split": name}))


@pytest.mark.parametrize("name", ["../../evil.jsonl", "/etc/evil.csv", "evil\x00.parquet", "..", "a" * 5_000])
def test_upload_filename_is_never_a_path(http: TestClient, home: Path, name: str) -> None:
    row = json.dumps(body("from an upload")).encode()
    response = http.post("/api/datasets/ingest", files={"file": (name, row)})
    assert response.status_code in (201, 400, 422), response.text
    assert not list(home.rglob("*evil*"))


def damaged_files() -> dict[str, bytes]:
    row = json.dumps(body()).encode() + b"\n"
    return {
        "cut.jsonl.gz": gzip.compress(row * 1_000)[:-9],
        "not-gzip.gz": b"\x1f\x8b" + bytes(range(256)),
        "bomb.jsonl.gz": gzip.compress(b"x" * 64 * 1024 * 1024),
        "not-parquet.parquet": b"PAR1" + bytes(range(256)) + b"PAR1",
        "not-text.csv": bytes(range(256)) * 10,
        "nul.csv": b"prompt\x00,completion\na,b\n",
        "unclosed.csv": b'"' + b"a" * 1_000_000,
        "utf16.jsonl": row.decode().encode("utf-16"),
        "deep.jsonl": b"[" * 1_000_000,
        "zip.jsonl": b"PK\x03\x04" + bytes(range(256)),
        "empty.jsonl": b"",
        "blank.jsonl": b"\n\n",
        "cut.jsonl": row[:-5],
        "huge-number.jsonl": row.replace(b'"meta": {}', b'"meta": {"n": 1e999999}'),
    }


def test_damaged_upload_stores_nothing(http: TestClient) -> None:
    total = http.get("/api/traces").json()["pagination"]["total"]
    for name, content in damaged_files().items():
        error = error_of(http.post("/api/datasets/ingest", files={"file": (name, content)}), 422)
        assert error["code"] == "bad-data", name
    assert http.get("/api/traces").json()["pagination"]["total"] == total


def test_symlinked_split_is_refused(http: TestClient, home: Path, outside: Path) -> None:
    split = home / "datasets" / "demo-v1" / "train.jsonl"
    split.unlink()
    split.symlink_to(outside / "train.jsonl")
    for rest in ("rows", "export.jsonl", "xray"):
        error = error_of(http.get(f"/api/datasets/demo-v1/{rest}"), 422)
        assert "link" in error["detail"]


def test_symlinked_dataset_is_not_listed(http: TestClient) -> None:
    keys = [entry["dataset_key"] for entry in http.get("/api/datasets").json()["data"]]
    assert keys == ["demo-v1"]
