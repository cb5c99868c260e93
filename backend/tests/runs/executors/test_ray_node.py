"""The node side of a Ray run, without Ray: `Node` is an ordinary class."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from support.jobs import RECIPE as RECIPE_VALUES
from support.jobs import wait_for

from tunix_rt.base.errors import InvalidInputError, MissingExtraError
from tunix_rt.base.settings import Settings
from tunix_rt.recipes.load import validate_recipe
from tunix_rt.runs.executors.base import ChildExit
from tunix_rt.runs.executors.ray.bootstrap import hold, remove_abandoned
from tunix_rt.runs.executors.ray.executor import RayExecutor
from tunix_rt.runs.executors.ray.messages import RECIPE, RUN_DIR, Assignment, ReplicaState
from tunix_rt.runs.executors.ray.node import Node

SLEEPS = "import signal; signal.pause()"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with closing(Node(tmp_path / "home", "run")) as opened:
        yield opened


def assignment(*command: str, worker_timeout_s: float = 600.0) -> Assignment:
    return Assignment(
        attempt=1,
        command=command,
        environment={"GREETING": "hello"},
        recipe=validate_recipe(RECIPE_VALUES),
        grace_s=60.0,
        worker_timeout_s=worker_timeout_s,
        checkpoint_url=None,
    )


def wait_for_exit(node: Node) -> ChildExit:
    return wait_for(lambda: node.report(ReplicaState()).exit)


def output_text(node: Node) -> str:
    return node.report(ReplicaState()).growths["output.log"].data.decode()


def test_command_gets_node_paths(node: Node, tmp_path: Path) -> None:
    node.write("jobs/run/recipe.yaml", 0, b"mode")
    node.write("jobs/run/recipe.yaml", 4, b"l: 1\n")
    program = "import os, sys; print(*sys.argv[1:], os.environ['TUNIX_RT_HOME'], os.environ['GREETING'])"
    node.start(assignment("-S", "-c", program, RECIPE, RUN_DIR))
    assert wait_for_exit(node).code == 0
    home = tmp_path / "home"
    assert output_text(node) == f"{home}/jobs/run/recipe.yaml {home}/runs/run {home} hello\n"
    assert (home / "jobs/run/recipe.yaml").read_bytes() == b"model: 1\n"


def test_start_is_idempotent(node: Node) -> None:
    for _ in range(2):
        node.start(assignment("-S", "-c", "print('once')"))
    assert wait_for_exit(node).code == 0
    assert output_text(node) == "once\n"


def test_node_stops_when_worker_is_silent(node: Node, tmp_path: Path) -> None:
    node.start(assignment("-S", "-c", SLEEPS, worker_timeout_s=0.0))
    wait_for(lambda: (tmp_path / "home/jobs/run/exit.json").exists())
    exit_ = wait_for_exit(node)
    assert exit_.signal == signal.SIGTERM
    assert "silent" in exit_.detail


def test_close_kills_child(node: Node) -> None:
    node.start(assignment("-S", "-c", SLEEPS))
    node.close()
    exit_ = node.report(ReplicaState()).exit
    assert exit_ is not None
    assert exit_.was_killed


def test_only_abandoned_homes_are_removed(tmp_path: Path) -> None:
    for name in ("used", "abandoned"):
        (tmp_path / name / "home").mkdir(parents=True)
    os.close(hold(tmp_path / "abandoned"))
    held = hold(tmp_path / "used")
    remove_abandoned(tmp_path)
    os.close(held)
    assert [path.name for path in tmp_path.iterdir()] == ["used"]


def test_missing_ray_names_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match="'ray'"):
        RayExecutor(Settings())


def test_invalid_mirror_fails_before_cluster() -> None:
    with pytest.raises(InvalidInputError, match="TUNIX_RT_CHECKPOINT_URL"):
        RayExecutor(Settings(checkpoint_url="nowhere://x", ray_address="127.0.0.1:9"))


def test_model_missing_on_node_is_named(node: Node, tmp_path: Path) -> None:
    missing = str(tmp_path / "models" / "mine")
    recipe = validate_recipe({**RECIPE_VALUES, "model": {"name": missing}})
    with pytest.raises(InvalidInputError, match="models/mine, which the Ray node") as raised:
        node.start(replace(assignment("-c", ""), recipe=recipe))
    assert "share" in raised.value.next_step
