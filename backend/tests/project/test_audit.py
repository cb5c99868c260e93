"""`make audit`: its findings, and the questions that the index did not answer."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from supply_chain.audit import Answer, of_each, verdict
from supply_chain.index_pages import NotAskedError, known_vulnerabilities, yanked_files
from supply_chain.locked import LockedPackage

SIMPLE_PAGE = """
<a href="https://files/a/two_words-1.2.tar.gz#sha256=0">two_words-1.2.tar.gz</a><br/>
<a href="https://files/b/two_words-1.2-py3-none-any.whl#sha256=1" data-yanked="breaks &lt;all&gt;">…</a><br/>
<a href="https://files/c/two_words-1.20-py3-none-any.whl#sha256=2" data-yanked="another release">…</a><br/>
"""
JSON_PAGE = {
    "files": [
        {"filename": "other-1.0.tar.gz", "yanked": True},
        {"filename": "other-2.0.tar.gz", "yanked": False},
    ]
}
RELEASE = {"vulnerabilities": [{"id": "PYSEC-1"}, {"id": "PYSEC-2", "withdrawn": "2026-01-01T00:00:00Z"}]}
PAGES = {
    "/simple/two-words/": ("text/html", SIMPLE_PAGE),
    "/simple/other/": ("application/vnd.pypi.simple.v1+json", json.dumps(JSON_PAGE)),
    "/pypi/two-words/1.2/json": ("application/json", json.dumps(RELEASE)),
}


class Index(BaseHTTPRequestHandler):
    """A package index of two packages."""

    def do_GET(self) -> None:
        kind, body = PAGES.get(self.path, ("text/plain", ""))
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Suppress the request log."""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield
        server.shutdown()
        thread.join()


def locked(name: str, version: str) -> LockedPackage:
    return LockedPackage(name, version, None, ())


@pytest.mark.usefixtures("index")
def test_yanked_files_are_found_with_reason() -> None:
    assert yanked_files("two-words", "1.2") == {"two_words-1.2-py3-none-any.whl": "breaks <all>"}
    assert yanked_files("other", "1.0") == {"other-1.0.tar.gz": "no reason given"}
    assert yanked_files("other", "2.0") == {}


@pytest.mark.usefixtures("index")
def test_accepted_vulnerabilities_are_left_out() -> None:
    packages = [locked("two-words", "1.2")]
    found = of_each("vulnerabilities", packages, known_vulnerabilities)
    assert found.findings == ("two-words 1.2: PYSEC-1",)
    assert verdict([found], complete=False) == 1
    assert of_each("vulnerabilities", packages, known_vulnerabilities, {"PYSEC-1"}).findings == ()


@pytest.mark.usefixtures("index")
def test_unanswered_package_stays_open() -> None:
    answer = of_each(
        "vulnerabilities", [locked("two-words", "1.2"), locked("other", "1.0")], known_vulnerabilities
    )
    assert (answer.num_asked, answer.not_asked) == (1, "not about 1: the index answers 404")


def test_unreachable_index_is_not_clean(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    answer = of_each("yanked", [locked("a", "1")], yanked_files)
    assert str(answer).startswith("yanked: NOT ASKED (the index cannot be reached")
    assert (verdict([answer], complete=False), verdict([answer], complete=True)) == (0, 1)
    assert "0 findings; 1 of 1 questions stay open" in capsys.readouterr().out


def test_finding_fails_the_audit() -> None:
    assert verdict([Answer("yanked", 2, ("a 1: withdrawn",))], complete=False) == 1
    assert verdict([Answer("yanked", 2)], complete=True) == 0


@pytest.mark.usefixtures("index")
def test_answer_without_list_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PAGES, "/pypi/other/1.0/json", ("application/json", "{}"))
    with pytest.raises(NotAskedError, match="without a list"):
        known_vulnerabilities("other", "1.0")
