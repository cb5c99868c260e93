"""Errors of the Hugging Face Hub are explained. A small local server answers as the real hub does."""

import errno
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tunix_rt.base.errors import InvalidInputError, NotFoundError, StorageError, TunixRTError
from tunix_rt.base.hub import absolute_if_directory, download_files, is_hub_id, is_revision, local_directory

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
        """Keep the test output clean."""


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


@pytest.mark.parametrize(
    ("repository", "revision", "error", "message"),
    [
        ("gated", None, InvalidInputError, r"gated.*https://huggingface\.co/google/gated.*HF_TOKEN"),
        ("unknown", None, NotFoundError, r"no repository google/unknown.*HF_TOKEN"),
        ("known", "v9", NotFoundError, r"google/known has no branch, tag or commit 'v9'"),
    ],
    ids=["gated model", "unknown repository", "unknown revision"],
)
def test_hub_refusal_is_explained(
    hub: None, repository: str, revision: str | None, error: type[TunixRTError], message: str
) -> None:
    with pytest.raises(error, match=message):
        download_files(f"google/{repository}", ("config.json",), revision=revision)


def test_unreachable_hub_suggests_local_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(InvalidInputError, match=r"cannot be reached.*local directory"):
        download_files("google/known", ("config.json",))


def test_full_disk_raises_storage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    with pytest.raises(StorageError, match=r"disk is full.*HF_HOME"):
        download_files("google/known", ("config.json",))


@pytest.mark.parametrize("text", ["google/gemma-2b", "Qwen/Qwen3-0.6B", "a/b"])
def test_owner_and_name_form_hub_id(text: str) -> None:
    assert is_hub_id(text)


@pytest.mark.parametrize(
    "text", ["gemma", "/a/b", "a/b/c", "../b", "a/..", "./b", "a/b ", "~/b", "a" * 95 + "/b"]
)
def test_path_is_not_hub_id(text: str) -> None:
    assert not is_hub_id(text)


@pytest.mark.parametrize("text", ["main", "v1.0", "refs/pr/3", "3f9c2a1", "feature/a_b+c@d", "_x"])
def test_branch_tag_and_commit_are_revisions(text: str) -> None:
    assert is_revision(text)


@pytest.mark.parametrize(
    "text",
    ["", "/dev/zero", "../main", "a/../b", "a//b", "a/", "./a", "a/.b", "~/a", "-a", "a b", "a\n", "a\x00",
     "\ud800", "a..b", "x" * 201],
)  # fmt: skip
def test_path_is_not_a_revision(text: str) -> None:
    assert not is_revision(text)
    with pytest.raises(InvalidInputError, match="not the name of a branch, a tag or a commit"):
        download_files("google/known", ("config.json",), revision=text, online=False)


def test_hub_id_is_not_a_local_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "owner" / "name").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert local_directory("owner/name") is None
    assert local_directory("./owner/name") == Path("owner/name")
    assert local_directory("owner") == Path("owner")
    assert absolute_if_directory("owner/name") == str(tmp_path / "owner" / "name")
    for name in ("owner/other", "", "a\x00", "\ud800", "x" * 5_000):
        assert local_directory(name) is None
        assert absolute_if_directory(name) == name
