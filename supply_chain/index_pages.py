"""What the package index says of a release: whether it was yanked, and which vulnerabilities are known."""

import json
import os
import re
import urllib.error
import urllib.request
from html.parser import HTMLParser

DEFAULT_INDEX = "https://pypi.org/simple"
_TIMEOUT_S = 10.0
_JSON_PAGE = "application/vnd.pypi.simple.v1+json"
_LINK = re.compile(r"<a\s[^>]*>")
_YANKED = "data-yanked"


class NotAskedError(Exception):
    """The question could not be put, or was not answered. The text says why."""


def index_url() -> str:
    """The index that pip installs from, by its variable."""
    return os.environ.get("PIP_INDEX_URL", DEFAULT_INDEX).rstrip("/")


def yanked_files(name: str, version: str) -> dict[str, str]:
    """The files of a release that its authors withdrew -> their reason.

    Raises:
        NotAskedError: The index does not answer.
    """
    kind, body = _fetch(f"{index_url()}/{name}/", accept=f"{_JSON_PAGE}, text/html;q=0.1")
    files = _json_files(body) if kind == _JSON_PAGE else _html_files(body)
    prefixes = tuple(f"{spelt}-{version}" for spelt in {name, name.replace("-", "_"), name.replace("-", ".")})
    return {file: reason or "no reason given" for file, reason in files.items() if _belongs(file, prefixes)}


def known_vulnerabilities(name: str, version: str) -> list[str]:
    """Identifiers of the vulnerabilities of a release, withdrawn ones left out.

    Raises:
        NotAskedError: The index has no such service, or does not answer.
    """
    base = index_url().removesuffix("/simple")
    _, body = _fetch(f"{base}/pypi/{name}/{version}/json", accept="application/json")
    try:
        entries = json.loads(body)["vulnerabilities"]
    except (ValueError, KeyError) as error:
        raise NotAskedError("the index answers without a list of vulnerabilities") from error
    return [entry["id"] for entry in entries if not entry.get("withdrawn")]


def _fetch(url: str, *, accept: str) -> tuple[str, str]:
    request = urllib.request.Request(url, headers={"Accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            return answer.headers.get_content_type(), answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            raise NotAskedError(f"the index answers {error.code}") from error
    except OSError as error:
        raise NotAskedError(f"the index cannot be reached ({type(error).__name__})") from error


def _belongs(file: str, prefixes: tuple[str, ...]) -> bool:
    """Whether a file is of the release: `a-1.2-py3…` and `a-1.2.tar.gz` are of a 1.2, `a-1.20…` is not."""
    lowered = file.lower()
    return any(lowered.startswith((f"{prefix}-", f"{prefix}.tar", f"{prefix}.zip")) for prefix in prefixes)


def _json_files(body: str) -> dict[str, str]:
    """Yanked file -> the reason; "" where there is none."""
    entries = [entry for entry in json.loads(body)["files"] if entry.get("yanked")]
    return {entry["filename"]: "" if entry["yanked"] is True else entry["yanked"] for entry in entries}


def _html_files(body: str) -> dict[str, str]:
    page = _SimplePage()
    # A page may have ten thousand links; few are of yanked files, and parsing takes its time.
    page.feed("".join(link for link in _LINK.findall(body) if _YANKED in link))
    page.close()
    return page.files


class _SimplePage(HTMLParser):
    """Links of a page of the simple index (PEP 503), with the reason that PEP 592 adds to them."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "a" and (href := attributes.get("href")):
            file = href.partition("#")[0].rpartition("/")[2]
            self.files[file] = attributes.get(_YANKED) or ""
