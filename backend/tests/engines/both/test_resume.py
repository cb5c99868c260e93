"""Resuming: the weights and metrics of an uninterrupted run, or an error that names the reason."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.training import TrainingWorkspace

from tunix_rt.base.errors import ConflictError, DataError, NotFoundError
from tunix_rt.engines.types import EngineName

HALF_LENGTH = "training.num_steps=8"


@pytest.fixture(scope="module")
def uninterrupted(workspace: TrainingWorkspace) -> str:
    workspace.train("uninterrupted")
    return "uninterrupted"


@pytest.fixture(scope="module")
def half_run(workspace: TrainingWorkspace) -> str:
    """A run of eight of the twelve steps, with checkpoints of steps 4, 6 and 8."""
    workspace.train("half", HALF_LENGTH, "output.keep_checkpoints=3")
    return "half"


@pytest.fixture
def half_copy(workspace: TrainingWorkspace, half_run: str, request: pytest.FixtureRequest) -> str:
    """A copy of the half run, which one test resumes."""
    # Orbax reads brackets in a path as a pattern.
    name = "copy-" + request.node.name.replace("[", "-").removesuffix("]")
    shutil.copytree(workspace.root / half_run, workspace.root / name)
    return name


def assert_same(workspace: TrainingWorkspace, resumed: str, uninterrupted: str) -> None:
    assert workspace.weights(resumed) == workspace.weights(uninterrupted)
    assert workspace.metrics(resumed) == workspace.metrics(uninterrupted)
    assert workspace.manifest(resumed)["status"] == "succeeded"


def test_resumed_run_matches_uninterrupted(
    workspace: TrainingWorkspace, half_copy: str, uninterrupted: str
) -> None:
    workspace.train(half_copy, resume_from="latest")
    assert_same(workspace, half_copy, uninterrupted)
    [resumed] = workspace.events(half_copy, "resumed")
    assert resumed["details"] == {"step": 8}
    numbers = [
        event["sequence"] for kind in ("started", "resumed") for event in workspace.events(half_copy, kind)
    ]
    assert numbers[0] == 0 < numbers[1]


def test_resume_from_any_kept_step(workspace: TrainingWorkspace, half_copy: str, uninterrupted: str) -> None:
    assert workspace.kept_steps(half_copy) == [4, 6, 8]
    workspace.train(half_copy, resume_from=4)
    assert_same(workspace, half_copy, uninterrupted)


def test_missing_step_error_lists_checkpoints(workspace: TrainingWorkspace, half_run: str) -> None:
    with pytest.raises(NotFoundError, match=r"step 5.*4, 6, 8"):
        workspace.train(half_run, resume_from=5)


def test_empty_directory_starts_fresh(workspace: TrainingWorkspace) -> None:
    manifest = workspace.train("empty", HALF_LENGTH, resume_from="latest")
    assert manifest.status == "succeeded"


def test_changed_recipe_is_rejected_untouched(workspace: TrainingWorkspace, half_run: str) -> None:
    before = {path: path.read_bytes() for path in (workspace.root / half_run).rglob("*") if path.is_file()}
    with pytest.raises(ConflictError, match=r"training.learning_rate \(was 0.01, is 0.02\)"):
        workspace.train(half_run, "training.learning_rate=0.02", resume_from="latest")
    with pytest.raises(ConflictError, match=r"training.num_steps \(was None, is 12\), training.schedule"):
        workspace.train(half_run, "training.schedule=cosine", resume_from="latest")
    assert {path: path.read_bytes() for path in before} == before


def test_changed_dataset_is_rejected(workspace: TrainingWorkspace, half_run: str) -> None:
    with pytest.raises(ConflictError, match="the content of the dataset"):
        workspace.train(half_run, "data.dataset=dev-reasoning-v2", "data.overlong=drop", resume_from="latest")


def largest_file(directory: Path) -> Path:
    return max(
        (path for path in directory.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size
    )


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_damaged_checkpoint_falls_back(
    workspace: TrainingWorkspace, half_copy: str, uninterrupted: str, damage: str
) -> None:
    state = {"jax": "state/ocdbt.process_0", "torch": "."}[workspace.engine]
    file = largest_file(workspace.root / half_copy / "checkpoints" / "8" / state)
    content = bytearray(file.read_bytes())
    if damage == "cut":
        del content[len(content) // 2 :]
    else:
        content[len(content) // 2] ^= 1
    file.write_bytes(content)
    workspace.train(half_copy, resume_from="latest")
    assert_same(workspace, half_copy, uninterrupted)
    [event] = workspace.events(half_copy, "damaged-checkpoint")
    assert event["details"] == {"step": 8}
    assert (workspace.root / half_copy / "checkpoints" / "damaged" / "8").is_dir()


def test_only_damaged_checkpoints_is_error(workspace: TrainingWorkspace, half_copy: str) -> None:
    for step in workspace.kept_steps(half_copy):
        record = {"jax": "record/metadata", "torch": "record.json"}[workspace.engine]
        (workspace.root / half_copy / "checkpoints" / str(step) / record).write_text("{")
    with pytest.raises(DataError, match=r"Every checkpoint.*damaged: 4, 6, 8"):
        workspace.train(half_copy, resume_from="latest")


def test_other_engine_is_rejected_untouched(workspace: TrainingWorkspace, half_run: str) -> None:
    other: EngineName = "torch" if workspace.engine == "jax" else "jax"
    before = {path: path.read_bytes() for path in (workspace.root / half_run).rglob("*") if path.is_file()}
    with pytest.raises(
        ConflictError, match=rf"started with the {workspace.engine} engine.*--engine {workspace.engine}"
    ):
        replace(workspace, engine=other).train(half_run, resume_from="latest")
    elsewhere = {"resume_from": "latest", "checkpoint_dir": workspace.root / half_run / "checkpoints"}
    with pytest.raises(ConflictError, match=f"started with the {workspace.engine} engine"):
        replace(workspace, engine=other).train(f"elsewhere-{half_run}", **elsewhere)
    assert {path: path.read_bytes() for path in before} == before
