"""Artifacts and metrics of runs over HTTP: whole files, byte ranges, nothing outside the run directory."""

import os
from pathlib import Path
from urllib.parse import quote

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient
from support.children import live_server
from support.http import error_of
from support.live_runs import LiveRun
from support.queued_runs import queued
from support.run_dirs import finished_run

from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.run_dir import RunDir

RUN = "/api/tunix/runs/run-1"
INVALID_PATHS = [
    "../run-2/secret.txt",
    "model/../../run-2/secret.txt",
    "..",
    "/etc/passwd",
    "//etc/passwd",
    ".lock",
    "model/.hidden",
    "model",
    "",
    ".",
    "a\x00b",
    "escaping",
    "escaping-dir/passwd",
    "dangling",
    "loop/loop",
    "..\\run-2\\secret.txt",
    "x" * 1000,
]
on_sqlite = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


@pytest.fixture
def run_dir(store: Home) -> RunDir:
    queued(store)
    return finished_run(store.settings.runs_dir / "run-1")


def download(client: TestClient, path: str, **headers: str) -> httpx.Response:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.get(f"{RUN}/artifacts/{quote(path, safe='')}/download", headers=fields)


def test_artifacts_include_manifest_hashes(client: TestClient, run_dir: RunDir) -> None:
    (run_dir.checkpoints / "20").mkdir(parents=True)
    (run_dir.checkpoints / "20" / "state.pt").write_bytes(b"12345")
    (run_dir.path / ".lock").touch()
    (run_dir.path / ".metrics.jsonl.x1").write_text("being written")
    listed = client.get(f"{RUN}/artifacts").json()
    files = {file["path"]: file for file in listed["artifacts"]}
    assert list(files) == [
        "checkpoints/20/state.pt",
        "model/model.safetensors",
        "recipe.resolved.json",
        "run_manifest.json",
    ]
    assert listed["total_bytes"] == sum(file["size"] for file in files.values())
    state, weights = files["checkpoints/20/state.pt"], files["model/model.safetensors"]
    assert (state["name"], state["size"], "sha256" in state) == ("state.pt", 5, False)
    assert weights["sha256"] == run_dir.file_hashes()["model/model.safetensors"]


def test_queued_run_has_no_output_files(client: TestClient, store: Home) -> None:
    queued(store)
    assert client.get(f"{RUN}/artifacts").json() == {"run_id": "run-1", "artifacts": [], "total_bytes": 0}
    assert client.get(f"{RUN}/metrics").json() == []


def test_metrics_skip_torn_last_line(client: TestClient, store: Home) -> None:
    run = LiveRun(store)
    for step in range(1, 4):
        run.log_step(step)
    metrics = run.metrics()
    with run.run_dir.metrics.open("a") as file:
        file.write('{"step": 4, "lo')
    response = client.get(f"{RUN}/metrics")
    assert response.headers["content-type"] == "application/json"
    assert response.json() == metrics
    run.run_dir.metrics.write_text('{"step": 1')
    assert client.get(f"{RUN}/metrics").json() == []
    run.run_dir.metrics.write_text('{"step": 1}\n' * 100_000)
    assert client.get(f"{RUN}/metrics").json() == [{"step": 1}] * 100_000


@on_sqlite
def test_download_supports_byte_ranges(client: TestClient, run_dir: RunDir) -> None:
    content = bytes(range(256)) * 4096
    (run_dir.model / "weights.bin").write_bytes(content)
    complete = download(client, "model/weights.bin")
    assert (complete.status_code, complete.content) == (200, content)
    assert complete.headers["content-disposition"] == "attachment; filename*=utf-8''weights.bin"
    ranged = download(client, "model/weights.bin", Range="bytes=255-256", If_Range=complete.headers["etag"])
    assert (ranged.status_code, ranged.content) == (206, b"\xff\x00")
    assert ranged.headers["content-range"] == f"bytes 255-256/{len(content)}"
    rest = download(client, "model/weights.bin", Range="bytes=1000000-")
    assert (rest.status_code, rest.content) == (206, content[1_000_000:])
    changed = download(client, "model/weights.bin", Range="bytes=0-1", If_Range='"another"')
    assert (changed.status_code, len(changed.content)) == (200, len(content))


@on_sqlite
def test_range_past_end_returns_416(client: TestClient, run_dir: RunDir) -> None:
    (run_dir.path / "notes.txt").write_text("12345")
    refused = download(client, "notes.txt", Range="bytes=5-")
    assert "5 bytes" in error_of(refused, 416)["detail"]
    assert refused.headers["content-range"] == "bytes */5"


@on_sqlite
def test_matching_etag_returns_304(client: TestClient, run_dir: RunDir) -> None:
    tag = download(client, "run_manifest.json").headers["etag"]
    cached = download(client, "run_manifest.json", If_None_Match=tag)
    assert (cached.status_code, cached.content) == (304, b"")
    (run_dir.path / "run_manifest.json").write_text("{}")
    assert download(client, "run_manifest.json", If_None_Match=tag).status_code == 200


@on_sqlite
def test_head_returns_headers_only(client: TestClient, run_dir: RunDir) -> None:
    (run_dir.path / "ünï code.txt").write_text("12345")
    response = client.head(f"{RUN}/artifacts/{quote('ünï code.txt')}/download")
    assert (response.status_code, response.content) == (200, b"")
    assert (response.headers["content-length"], response.headers["accept-ranges"]) == ("5", "bytes")
    assert quote("ünï code.txt") in response.headers["content-disposition"]


@on_sqlite
def test_invalid_artifact_paths_return_404(client: TestClient, run_dir: RunDir) -> None:
    outside = run_dir.path.with_name("run-2")
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (run_dir.path / ".lock").write_text("locked")
    (run_dir.model / ".hidden").write_text("hidden")
    (run_dir.path / "escaping").symlink_to(outside / "secret.txt")
    (run_dir.path / "escaping-dir").symlink_to("/etc")
    (run_dir.path / "dangling").symlink_to("nowhere")
    (run_dir.path / "loop").symlink_to("loop")
    for path in INVALID_PATHS:
        error_of(download(client, path), 404)
    listed = {file["path"] for file in client.get(f"{RUN}/artifacts").json()["artifacts"]}
    assert listed == {"model/model.safetensors", "recipe.resolved.json", "run_manifest.json"}


@on_sqlite
def test_internal_symlink_is_followed(client: TestClient, run_dir: RunDir) -> None:
    (run_dir.path / "latest").symlink_to("model/model.safetensors")
    assert download(client, "latest").content == b"not really weights"


@on_sqlite
def test_symlinked_run_dir_is_served(client: TestClient, store: Home, tmp_path: Path) -> None:
    queued(store)
    target = finished_run(tmp_path / "large-disk" / "run-1")
    store.settings.runs_dir.mkdir()
    (store.settings.runs_dir / "run-1").symlink_to(target.path)
    assert download(client, "model/model.safetensors").content == b"not really weights"


@on_sqlite
def test_large_download_uses_constant_memory(settings: Settings, store: Home, run_dir: RunDir) -> None:
    size = 250 * 1024 * 1024
    with (run_dir.path / "large.bin").open("wb") as file:
        os.truncate(file.fileno(), size)  # sparse: takes no disk space
    with live_server(settings) as server, httpx.Client(base_url=server.url, timeout=60) as client:
        client.get("/api/health").raise_for_status()
        client.get(f"{RUN}/artifacts").raise_for_status()
        before_mib = server.peak_memory_mib()
        num_bytes = 0
        with client.stream("GET", f"{RUN}/artifacts/large.bin/download") as response:
            for chunk in response.iter_raw():
                num_bytes += len(chunk)
        assert num_bytes == size
        assert server.peak_memory_mib() - before_mib < 50
