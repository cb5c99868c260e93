"""The documentation site: the navigation is complete, and every link and anchor resolves."""

import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *PAGES, *ROOT.glob("benchmarks/*.md"), *ROOT.glob("submission_runs/*.md")]
)


class NavigationLoader(yaml.SafeLoader):
    """Load MkDocs tags as text, because they name Python objects of packages that may not be installed."""


NavigationLoader.add_multi_constructor(
    "tag:yaml.org,2002:python/name:", lambda _loader, suffix, _node: suffix
)


def pages_in(entry: Any) -> Iterator[str]:
    """Yield every page of the navigation, at any depth."""
    if isinstance(entry, str):
        yield entry
    else:
        for child in entry if isinstance(entry, list) else entry.values():
            yield from pages_in(child)


def test_navigation_lists_every_page_once() -> None:
    site = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), NavigationLoader)
    assert sorted(pages_in(site["nav"])) == [page.relative_to(DOCS).as_posix() for page in PAGES]


def anchors_of(document: Path) -> set[str]:
    """Return the anchors that GitHub and MkDocs give the headings of a page.

    Example:
        "## `bad-data` and so on" -> bad-data-and-so-on
    """
    text = re.sub(r"(?ms)^```.*?^```", "", document.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_and_anchors_resolve(document: Path) -> None:
    text = re.sub(r"(?ms)^```.*?^```", "", document.read_text(encoding="utf-8"))
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text):
        target = (document.parent / path) if path else document
        assert target.exists(), f"{document.name} links to {path}"
        if anchor:
            assert anchor in anchors_of(target), f"{document.name} links to {path}#{anchor}"


def test_layer_diagram_matches_import_linter() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    diagram = re.search(r"(?s)```mermaid\n(.*?)```", page)
    assert diagram
    drawn = re.findall(r"^  (\w+)\[", diagram[1], re.M)
    assert sorted(drawn) == sorted(name for layer in layers for name in layer.split(" | "))
    level = {name: number for number, layer in enumerate(reversed(layers)) for name in layer.split(" | ")}
    arrows = re.findall(r"^  (\w+) --> (\w+)$", diagram[1], re.M)
    assert [(upper, lower) for upper, lower in arrows if level[upper] != level[lower] + 1] == []
    # Every pair of neighbouring layers is connected, so that an arrow means "everything below".
    assert len(arrows) == sum(
        len(upper.split(" | ")) * len(lower.split(" | ")) for upper, lower in pairwise(layers)
    )


def test_readme_speeds_match_measurements() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    measured = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|[^|]*\| \**(\d[\d.]*)\** \| (\d[^|]*) \|$", readme, re.M)
    assert len(rows) == 10
    for speed, gib in rows:
        assert re.search(rf"^\|.*\| {speed} \|.*\| {gib} \|$", measured, re.M), (speed, gib)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_page_starts_with_its_title(page: Path) -> None:
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", text, re.M)) == 1
