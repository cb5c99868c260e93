"""The workflow files pin their actions, have minimal permissions and run only make targets."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from supply_chain.locked import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
ALLOWED_PERMISSIONS = {"release.yml": {"id-token", "attestations"}}
"""Permissions beyond reading that a workflow may have."""

every_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def parse(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in parse(path)["jobs"].values() for step in job["steps"]]


def targets_of(lines: list[str]) -> list[str]:
    return [line.split()[1] for line in lines if line.startswith("make ")]


def test_ci_and_release_workflows_exist() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "release.yml"]


@every_workflow
def test_actions_are_pinned_by_commit(path: Path) -> None:
    uses = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert len(uses) >= 4
    assert [
        use for use in uses if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)
    ] == []


@every_workflow
def test_commands_are_make_targets(path: Path) -> None:
    commands = [step["run"] for step in steps(path) if "run" in step]
    assert commands
    assert [one for one in commands if not re.fullmatch(r"make [a-z-]+( [A-Z]+=\S+)?", one)] == []
    assert set(targets_of(commands)) <= TARGETS


@every_workflow
def test_permissions_are_minimal(path: Path) -> None:
    content = parse(path)
    assert content["permissions"] == {"contents": "read"}
    permissions = {
        permission
        for job in content["jobs"].values()
        for permission, level in job.get("permissions", {}).items()
        if level != "read"
    }
    assert permissions <= ALLOWED_PERMISSIONS.get(path.name, set())


@every_workflow
def test_checkout_persists_no_credentials(path: Path) -> None:
    checkouts = [step for step in steps(path) if step.get("uses", "").startswith("actions/checkout@")]
    assert [step["with"]["persist-credentials"] for step in checkouts] == [False]


def test_ci_runs_the_guard_targets() -> None:
    guard = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    workflow = [step["run"] for step in steps(ROOT / ".github" / "workflows" / "ci.yml") if "run" in step]
    guard_targets = targets_of(guard)
    assert {"check", "test"} <= set(guard_targets)
    assert guard_targets == [target for target in targets_of(workflow) if target in guard_targets]
