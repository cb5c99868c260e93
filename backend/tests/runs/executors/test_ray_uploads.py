"""Checkpoint uploads to the mirror and restores from it."""

import shutil
from pathlib import Path

import pytest
from support.jobs import wait_for

from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.runs.executors.ray.mirror import CheckpointMirror
from tunix_rt.runs.executors.ray.node import CheckpointUploads


class Node:
    """A node with one run."""

    def __init__(self, root: Path, url: str) -> None:
        self.run_dir = RunDir(root / "run")
        self.run_dir.checkpoints.mkdir(parents=True)
        self.warnings: list[str] = []
        self.mirror = CheckpointMirror(url, "run")
        self.uploads = CheckpointUploads(self.mirror, self.run_dir, root / "staging", self.warnings.append)

    def save(self, step: int, *, num_metrics: int) -> None:
        self.run_dir.metrics.write_text(
            "".join(f'{{"step": {number}}}\n' for number in range(1, num_metrics + 1))
        )
        unfinished = self.run_dir.checkpoints / f"{step}.tmp"
        unfinished.mkdir()
        (unfinished / "state").write_text(f"state of {step}")
        unfinished.rename(self.run_dir.checkpoints / str(step))

    def drop(self, step: int) -> None:
        shutil.rmtree(self.run_dir.checkpoints / str(step))

    def steps(self) -> list[int]:
        return [checkpoint.step for checkpoint in self.mirror.complete()]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"file://{tmp_path / 'shared'}"


@pytest.fixture
def node(tmp_path: Path, url: str) -> Node:
    return Node(tmp_path / "first", url)


@pytest.fixture
def other(tmp_path: Path, url: str) -> Node:
    """A second node of the same run."""
    return Node(tmp_path / "second", url)


def test_mirror_follows_checkpoints(node: Node) -> None:
    node.uploads.begin()
    node.save(10, num_metrics=10)
    wait_for(lambda: node.steps() == [10])
    node.save(20, num_metrics=20)
    node.drop(10)
    wait_for(lambda: node.steps() == [20])
    node.uploads.finish(is_needed=False)


def test_newest_mirrored_checkpoint_is_kept(node: Node) -> None:
    node.save(10, num_metrics=10)
    node.uploads.finish(is_needed=True)
    node.drop(10)
    node.uploads.finish(is_needed=True)
    assert node.steps() == [10]


def test_partial_checkpoint_is_not_mirrored(node: Node) -> None:
    (node.run_dir.checkpoints / "10.orbax-checkpoint-tmp").mkdir()
    node.uploads.finish(is_needed=True)
    assert node.steps() == []


def test_restore_brings_checkpoint_and_metrics(node: Node, other: Node) -> None:
    node.save(10, num_metrics=12)
    node.uploads.finish(is_needed=True)
    other.run_dir.metrics.write_text('{"step": 1}\n')  # copied back before the node was lost
    other.uploads.restore()
    assert (other.run_dir.checkpoints / "10" / "state").read_text() == "state of 10"
    assert other.run_dir.metrics.read_text().count("\n") == 12


def test_restore_keeps_longer_metrics(node: Node, other: Node) -> None:
    node.save(10, num_metrics=10)
    node.uploads.finish(is_needed=True)
    other.run_dir.metrics.write_text("x" * 10_000)
    other.uploads.restore()
    assert other.run_dir.metrics.read_text() == "x" * 10_000


def test_restore_keeps_newer_checkpoints(node: Node, other: Node) -> None:
    node.save(10, num_metrics=10)
    node.uploads.finish(is_needed=True)
    other.save(30, num_metrics=30)
    other.uploads.restore()
    assert [path.name for path in other.run_dir.checkpoints.iterdir()] == ["30"]


def test_restore_skips_damaged_checkpoint(node: Node, other: Node, tmp_path: Path) -> None:
    for step in (10, 20):
        node.save(step, num_metrics=step)
    node.uploads.finish(is_needed=True)
    [state] = (tmp_path / "shared" / "run").glob("20-*/checkpoint/state")
    state.write_text("something else")
    other.uploads.restore()
    assert [path.name for path in other.run_dir.checkpoints.iterdir()] == ["10"]
    assert "step 20 is damaged" in other.warnings[0]


def test_resaved_step_is_mirrored_again(node: Node, other: Node, tmp_path: Path) -> None:
    node.save(10, num_metrics=10)
    node.uploads.finish(is_needed=True)
    other.uploads.restore()
    other.drop(10)
    other.save(10, num_metrics=10)
    (other.run_dir.checkpoints / "10" / "state").write_text("the other's state")
    other.uploads.finish(is_needed=True)
    [mirrored] = other.mirror.complete()
    other.mirror.fetch(mirrored, tmp_path / "third")
    assert (tmp_path / "third" / "10" / "state").read_text() == "the other's state"


def test_unwritable_mirror_warns_once(tmp_path: Path) -> None:
    (tmp_path / "shared").write_text("no directory")
    node = Node(tmp_path / "first", f"file://{tmp_path / 'shared'}")
    node.save(10, num_metrics=10)
    node.uploads.finish(is_needed=True)
    node.uploads.finish(is_needed=True)
    assert len(node.warnings) == 1
    assert "TUNIX_RT_CHECKPOINT_URL" in node.warnings[0]
