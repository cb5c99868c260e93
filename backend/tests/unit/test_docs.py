"""The documentation says what the code does: pages are made from it or compared with it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.planning_page import measured_table, plans_table, targets_table, torch_table
from support.references import cli_reference, http_reference, recipe_reference, settings_reference

from tunix_rt.api.openapi import openapi_document
from tunix_rt.cli.main import app as cli

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"

AssertPage = Callable[[Path, str], None]


@pytest.fixture
def assert_page(request: pytest.FixtureRequest) -> AssertPage:
    def check(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is stale: run make docs"

    return check


def test_every_command_and_option_is_documented(assert_page: AssertPage) -> None:
    assert_page(DOCS / "cli.md", cli_reference(cli))


def test_every_route_is_documented(assert_page: AssertPage) -> None:
    assert_page(DOCS / "http.md", http_reference(openapi_document()))


def test_every_setting_is_documented(assert_page: AssertPage) -> None:
    page = DOCS / "configuration.md"
    head, table = re.split(r"(?<=<!-- settings -->\n)", page.read_text(encoding="utf-8"))
    assert_page(page, head + settings_reference())
    assert "None" not in table


def test_every_key_of_the_recipe_is_documented(assert_page: AssertPage) -> None:
    page = DOCS / "recipes.md"
    head, table = re.split(r"(?<=<!-- keys -->\n)", page.read_text(encoding="utf-8"))
    assert_page(page, head + recipe_reference())
    assert "None" not in table


def test_targets_and_plans_are_those_of_the_code_and_of_the_compilers(assert_page: AssertPage) -> None:
    page = DOCS / "planning.md"
    text = page.read_text(encoding="utf-8")
    tables = {
        "targets": targets_table(),
        "plans": plans_table(),
        "measured": measured_table(),
        "torch": torch_table(),
    }
    for name, table in tables.items():
        text = re.sub(rf"(?s)(<!-- {name} -->\n).*?(?=\n## |\Z)", lambda found, t=table: found[1] + t, text)
    assert_page(page, text)


def documents() -> list[Path]:
    return [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_commands_in_documents_exist(document: Path) -> None:
    known = set(re.findall(r"^## `(tunix-rt[^`]*)`", cli_reference(cli), re.M))
    text = document.read_text(encoding="utf-8")
    for line in re.findall(r"^\s*(?:\$ )?(tunix-rt [^#\n]*)", text, re.M):
        words = line.split()
        names = {" ".join(words[:count]) for count in (2, 3)}
        assert names & known or words[1].startswith("-"), line
