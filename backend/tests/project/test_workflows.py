"""The workflow files: actions by commit, as few rights as can be, and nothing but our own make targets."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from supply_chain.locked import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
MAY_BE_WRITTEN = {"release.yml": {"id-token", "attestations"}}
"""Rights beyond reading that a workflow may have."""

every_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def parsed(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in parsed(path)["jobs"].values() for step in job["steps"]]


def targets_of(lines: list[str]) -> list[str]:
    return [line.split()[1] for line in lines if line.startswith("make ")]


def test_there_are_workflows_for_changes_and_for_releases() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "release.yml"]


@every_workflow
def test_every_action_is_pinned_by_its_commit_and_says_its_version(path: Path) -> None:
    uses = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert len(uses) >= 4
    assert [
        use for use in uses if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)
    ] == []


@every_workflow
def test_every_command_is_a_make_target_that_exists(path: Path) -> None:
    commands = [step["run"] for step in steps(path) if "run" in step]
    assert commands
    assert [one for one in commands if not re.fullmatch(r"make [a-z-]+( [A-Z]+=\S+)?", one)] == []
    assert set(targets_of(commands)) <= TARGETS


@every_workflow
def test_a_workflow_may_read_and_little_else(path: Path) -> None:
    content = parsed(path)
    assert content["permissions"] == {"contents": "read"}
    written = {
        right
        for job in content["jobs"].values()
        for right, level in job.get("permissions", {}).items()
        if level != "read"
    }
    assert written <= MAY_BE_WRITTEN.get(path.name, set())


@every_workflow
def test_the_checkout_leaves_no_key_behind(path: Path) -> None:
    checkouts = [step for step in steps(path) if step.get("uses", "").startswith("actions/checkout@")]
    assert [step["with"]["persist-credentials"] for step in checkouts] == [False]


def test_what_guards_main_runs_in_the_workflow_too_in_the_same_order() -> None:
    guard = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    workflow = [step["run"] for step in steps(ROOT / ".github" / "workflows" / "ci.yml") if "run" in step]
    guarding = targets_of(guard)
    assert {"check", "test"} <= set(guarding)
    assert guarding == [target for target in targets_of(workflow) if target in guarding]
