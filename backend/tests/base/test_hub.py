"""What the hub refuses is explained. The hub here is a small server that answers as the real one does."""

import errno
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tunix_rt.base.errors import InvalidInputError, NotFoundError, StorageError
from tunix_rt.base.hub import download_files, is_hub_id

REFUSALS = {
    "/api/models/google/gated": (403, "GatedRepo"),
    "/api/models/google/unknown": (401, "RepoNotFound"),
    "/api/models/google/known": (404, "RevisionNotFound"),
}


class Hub(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.partition("/revision/")[0].partition("?")[0]
        status, code = REFUSALS.get(path, (500, "Broken"))
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Keeps the output of the tests clean."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_gated_model_says_where_to_accept_its_licence(hub: None) -> None:
    with pytest.raises(InvalidInputError, match=r"gated.*https://huggingface\.co/google/gated.*HF_TOKEN"):
        download_files("google/gated", ("config.json",))


def test_an_unknown_repository_may_be_private(hub: None) -> None:
    with pytest.raises(NotFoundError, match=r"no repository google/unknown.*HF_TOKEN"):
        download_files("google/unknown", ("config.json",))


def test_an_unknown_revision_is_named(hub: None) -> None:
    with pytest.raises(NotFoundError, match=r"google/known has no branch, tag or commit 'v9'"):
        download_files("google/known", ("config.json",), revision="v9")


def test_a_hub_that_cannot_be_reached_leaves_the_local_ways(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(InvalidInputError, match=r"cannot be reached.*local directory"):
        download_files("google/known", ("config.json",))


def test_a_full_disk_is_not_mistaken_for_a_lost_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    with pytest.raises(StorageError, match=r"disk is full.*HF_HOME"):
        download_files("google/known", ("config.json",))


@pytest.mark.parametrize("text", ["google/gemma-2b", "Qwen/Qwen3-0.6B", "a/b"])
def test_an_owner_and_a_name_are_a_hub_id(text: str) -> None:
    assert is_hub_id(text)


@pytest.mark.parametrize(
    "text", ["gemma", "/a/b", "a/b/c", "../b", "a/..", "./b", "a/b ", "~/b", "a" * 95 + "/b"]
)
def test_a_path_is_not_a_hub_id(text: str) -> None:
    assert not is_hub_id(text)
