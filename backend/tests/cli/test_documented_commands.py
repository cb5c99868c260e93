"""Every documented command works, in the order of its page, in a fresh home."""

import re
import shlex
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.documented_commands import (
    SHELL,
    blocks_of,
    fill_placeholders,
    parse,
    request,
    run,
    run_elsewhere,
)
from support.documented_home import write_files, write_home

ROOT = Path(__file__).parents[3]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md")), ROOT / "submission_runs" / "README.md"]
PAGES = [page for page in PAGES if any(block.commands for block in blocks_of(page))]

ONLY_PARSED = {
    r"tunix-rt (up|worker)\b": "serves until stopped",
    r"tunix-rt doctor\b": "starts both engines",
    r"tunix-rt train (?!.*--device cpu)": "trains; only the smoke run of training.md runs",
    r"python training|torchrun": "trains or evaluates; test_launchers.py runs them",
    r"tunix-rt eval (?!list|show|items|rescore|score|export|add|rm|leaderboard)": "generates with a model",
    r"tunix-rt (chat|models export|models register .*--step)\b": "loads a model",
    r"tunix-rt data xray .*--model google/": "needs the Hugging Face Hub",
    r"tunix-rt runs submit .*--wait": "waits for a worker",
    r"tunix-rt kaggle (preflight|pull|push)\b": "needs a TPU or Kaggle; see test_kaggle_client.py",
    r"tunix-rt tune (training|resume|best)": "trains, or needs a trained trial",
    r"tunix-rt evidence verify submission_runs/(demo_cpu|gsm8k)": "test_submission_runs.py verifies them",
}
"""Commands that cannot run quickly here, by prefix, with the reason. They are still parsed."""

CHEAPER = {r"tunix-rt plan ": "--fast", r"tunix-rt kaggle notebook ": "--fast"}
"""Flags that make a command fast: a plan is estimated instead of compiled for a TPU."""

EXIT_CODES = {r"tunix-rt plan training/configs/seed_m38_tpu.yaml": 1}
"""Exit codes of commands that fail on their page."""


@dataclass(frozen=True)
class Project:
    """A home, a work directory, and values for the placeholders on the pages."""

    home: Path
    work: Path
    stand_ins: Mapping[str, str]


@pytest.fixture(scope="session")
def project_template(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("documented")
    home, work = root / "home", root / "work"
    work.mkdir()
    write_files(work, ROOT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TUNIX_RT_HOME", str(home))
        return Project(home, work, write_home(sqlite_template, home, work))


@pytest.fixture
def project(project_template: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A copy of the template for one page."""
    home, work = tmp_path / "home", tmp_path / "work"
    shutil.copytree(project_template.home, home)
    shutil.copytree(project_template.work, work, symlinks=True)
    monkeypatch.setenv("TUNIX_RT_HOME", str(home))
    monkeypatch.chdir(work)
    stand_ins = {
        word: name.replace(str(project_template.home), str(home)).replace(
            str(project_template.work), str(work)
        )
        for word, name in project_template.stand_ins.items()
    }
    return Project(home, work, stand_ins)


def lookup(table: Mapping[str, str | int], command: str) -> str | int | None:
    """Return the first value whose pattern matches the command."""
    return next((value for pattern, value in table.items() if re.match(pattern, command)), None)


def check(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command, or at least parse it."""
    program, *words = shlex.split(command)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.M), command
    elif program == "pip":
        check_extras(words[-1])
    elif program == "export":
        name, _, value = words[0].partition("=")
        monkeypatch.setenv(name, value)
    elif program == "curl":
        status, body = request(command)
        assert status < 400, f"{command}: {status} {body}"
    elif program == "openssl":
        run_elsewhere(command)
    elif words[:1] == ["-m"]:
        check_module(words[1], words[2:])
    elif lookup(ONLY_PARSED, command):
        parse(command)
    else:
        check_run(command)


def check_run(command: str) -> None:
    before, _, after = command.rpartition(" | ")
    stdin = run_elsewhere(before) if before else None
    code, output = run(f"{after} {lookup(CHEAPER, after) or ''}", stdin=stdin)
    assert code == (lookup(EXIT_CODES, command) or 0), f"{command}: exit {code}\n{output}"


def check_extras(requirement: str) -> None:
    """Check that the extras of `tunix-rt[a,b]` exist."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    requested = re.fullmatch(r"tunix-rt(?:\[(.*)\])?", requirement)
    assert requested, requirement
    assert set(filter(None, (requested[1] or "").split(","))) <= set(known), requirement


def check_module(module: str, words: list[str]) -> None:
    """Check that a benchmark exists and knows the flags; running it takes minutes or a GPU."""
    source = (ROOT / f"{module.replace('.', '/')}.py").read_text()
    for flag in (word for word in words if word.startswith("--")):
        assert f'"{flag}"' in source, f"{module} has no {flag}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_commands_succeed(page: Path, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for block in blocks_of(page):
        if block.title:
            (project.work / block.title).write_text(block.text, encoding="utf-8")
        for command in block.commands:
            check(fill_placeholders(command, project.stand_ins), monkeypatch)


def test_workflow_commands_parse() -> None:
    yaml = [block.text for page in PAGES for block in blocks_of(page) if block.language == "yaml"]
    commands = re.findall(r"^- run: (tunix-rt .*?)(?: >>.*)?$", "".join(yaml), re.M)
    assert commands
    for command in commands:
        parse(command)


def test_every_exception_matches_a_command() -> None:
    commands = [command for page in PAGES for block in blocks_of(page) for command in block.commands]
    for pattern in [*ONLY_PARSED, *CHEAPER, *EXIT_CODES]:
        assert any(re.match(pattern, command) for command in commands), pattern


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_appear_only_in_shell_blocks(page: Path) -> None:
    for block in blocks_of(page):
        if block.language != SHELL:
            assert not re.search(r"^\s*(\$ )?(tunix-rt|curl|make|python|pip) ", block.text, re.M), block.text
