"""The documentation matches the code: its pages are generated from it or compared with it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.planning_page import measured_table, plans_table, targets_table, torch_table
from support.references import (
    cli_reference,
    errors_reference,
    http_reference,
    recipe_reference,
    settings_reference,
)
from typer.main import get_command

from tunix_rt.api.openapi import openapi_document
from tunix_rt.base.http.errors import ANY_REQUEST, STATUS_OF
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
    page = DOCS / "http.md"
    head, _ = re.split(r"(?<=<!-- routes -->\n)", page.read_text(encoding="utf-8"))
    assert_page(page, head + http_reference(openapi_document()))
    assert f"may answer {', '.join(map(str, ANY_REQUEST[:-1]))} and {ANY_REQUEST[-1]};" in head


def test_every_setting_is_documented(assert_page: AssertPage) -> None:
    page = DOCS / "configuration.md"
    head, table = re.split(r"(?<=<!-- settings -->\n)", page.read_text(encoding="utf-8"))
    assert_page(page, head + settings_reference())
    assert "None" not in table


def test_every_recipe_key_is_documented(assert_page: AssertPage) -> None:
    page = DOCS / "recipes.md"
    head, table = re.split(r"(?<=<!-- keys -->\n)", page.read_text(encoding="utf-8"))
    assert_page(page, head + recipe_reference())
    assert "None" not in table


def test_every_error_is_documented(assert_page: AssertPage) -> None:
    page = DOCS / "troubleshooting.md"
    text = page.read_text(encoding="utf-8")
    table = errors_reference()
    assert_page(page, re.sub(r"(?s)(<!-- codes -->\n).*?(?=\n## )", lambda found: found[1] + table, text))
    for kind in STATUS_OF:
        assert len(section(text, f"`{kind.code}`").split()) > 3, f"{kind.code} has no next step"


def section(text: str, title: str) -> str:
    """Return the text below a second-level heading."""
    found = re.search(rf"(?ms)^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text)
    assert found, f"there is no section {title}"
    return found[1]


def test_http_only_codes_exist() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("api", "base/http")
        for path in (ROOT / "backend/tunix_rt" / folder).glob("*.py")
    )
    table = section((DOCS / "troubleshooting.md").read_text(encoding="utf-8"), "Over HTTP only")
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    codes = [code for row in rows for code in re.findall(r"`([a-z-]+)`", row)]
    assert [code for code in codes if f'"{code}"' not in sources] == []


def test_planning_tables_are_fresh(assert_page: AssertPage) -> None:
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


def test_python_examples_compile_and_import() -> None:
    blocks = [
        block
        for page in DOCS.glob("*.md")
        for block in re.findall(r"(?ms)^```python\n(.*?)^```", page.read_text(encoding="utf-8"))
    ]
    statements = [line for block in blocks for line in block.splitlines() if re.match("from|import", line)]
    assert len(statements) >= 5
    for block in blocks:
        compile(block, "page", "exec")
    exec("\n".join(statements), {})


DOCUMENTS = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "benchmarks" / "README.md"])


@pytest.mark.parametrize(
    "document",
    [page for page in DOCUMENTS if page.name not in {"log.md", "CHANGELOG.md"}],
    ids=lambda path: path.name,
)
def test_modules_named_in_pages_exist(document: Path) -> None:
    folders = ("backend", "benchmarks", "supply_chain", "training", "training_pt")
    modules = [
        f"/{path.relative_to(ROOT).as_posix()}" for name in folders for path in (ROOT / name).rglob("*.py")
    ]
    for name in re.findall(r"[\w.-]+(?:/[\w.-]+)*\.py\b", document.read_text(encoding="utf-8")):
        path = re.sub(r"^(\.\./)+", "", name)
        assert any(module.endswith(f"/{path}") for module in modules), name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_inline_commands_and_flags_exist(document: Path) -> None:
    text = re.sub(r"(?ms)^```.*?^```", "", document.read_text(encoding="utf-8"))
    for words in map(str.split, re.findall(r"`(tunix-rt [^`]*)`", text)):
        command: Any = get_command(cli)
        assert words[1] in command.commands or not words[1].islower() or words[1].startswith("-"), words
        for word in words[1:]:
            command = getattr(command, "commands", {}).get(word) or command
        command = getattr(command, "commands", {}).get(getattr(command, "default_command", None)) or command
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
        flags = {word.strip(",.;") for word in words if word.startswith("--")}
        assert flags <= known | {"--help"}, " ".join(words)
