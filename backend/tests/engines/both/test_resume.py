"""Resuming: the weights and metrics of an uninterrupted run, or an error that names the reason."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.training import Workshop

from tunix_rt.base.errors import ConflictError, DataError, NotFoundError
from tunix_rt.engines.types import EngineName

HALF = "training.num_steps=8"


@pytest.fixture(scope="module")
def unbroken(workshop: Workshop) -> str:
    workshop.train("unbroken")
    return "unbroken"


@pytest.fixture(scope="module")
def half(workshop: Workshop) -> str:
    """A run that ended after eight of the twelve steps, with checkpoints of steps 4, 6 and 8."""
    workshop.train("half", HALF, "output.keep_checkpoints=3")
    return "half"


@pytest.fixture
def copy(workshop: Workshop, half: str, request: pytest.FixtureRequest) -> str:
    """The half run again, to be continued by one test."""
    # Orbax reads brackets in a path as a pattern.
    name = "copy-" + request.node.name.replace("[", "-").removesuffix("]")
    shutil.copytree(workshop.root / half, workshop.root / name)
    return name


def assert_same(workshop: Workshop, resumed: str, unbroken: str) -> None:
    assert workshop.weights(resumed) == workshop.weights(unbroken)
    assert workshop.metrics(resumed) == workshop.metrics(unbroken)
    assert workshop.manifest(resumed)["status"] == "succeeded"


def test_a_resumed_run_ends_as_an_unbroken_one(workshop: Workshop, copy: str, unbroken: str) -> None:
    workshop.train(copy, resume_from="latest")
    assert_same(workshop, copy, unbroken)
    [resumed] = workshop.events(copy, "resumed")
    assert resumed["details"] == {"step": 8}
    numbers = [event["sequence"] for kind in ("started", "resumed") for event in workshop.events(copy, kind)]
    assert numbers[0] == 0 < numbers[1]


def test_any_kept_step_can_be_resumed_from(workshop: Workshop, copy: str, unbroken: str) -> None:
    assert workshop.kept_steps(copy) == [4, 6, 8]
    workshop.train(copy, resume_from=4)
    assert_same(workshop, copy, unbroken)


def test_a_step_without_a_checkpoint_names_those_that_exist(workshop: Workshop, half: str) -> None:
    with pytest.raises(NotFoundError, match=r"step 5.*4, 6, 8"):
        workshop.train(half, resume_from=5)


def test_an_empty_directory_is_resumed_from_the_start(workshop: Workshop) -> None:
    manifest = workshop.train("empty", HALF, resume_from="latest")
    assert manifest.status == "succeeded"


def test_another_training_is_refused_with_its_keys_and_touches_nothing(workshop: Workshop, half: str) -> None:
    before = {path: path.read_bytes() for path in (workshop.root / half).rglob("*") if path.is_file()}
    with pytest.raises(ConflictError, match=r"training.learning_rate \(was 0.01, is 0.02\)"):
        workshop.train(half, "training.learning_rate=0.02", resume_from="latest")
    with pytest.raises(ConflictError, match=r"training.num_steps \(was None, is 12\), training.schedule"):
        workshop.train(half, "training.schedule=cosine", resume_from="latest")
    assert {path: path.read_bytes() for path in before} == before


def test_other_data_is_refused(workshop: Workshop, half: str) -> None:
    with pytest.raises(ConflictError, match="the content of the dataset"):
        workshop.train(half, "data.dataset=dev-reasoning-v2", "data.overlong=drop", resume_from="latest")


def largest_file(directory: Path) -> Path:
    return max(
        (path for path in directory.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size
    )


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_checkpoint_is_set_aside_for_the_one_before(
    workshop: Workshop, copy: str, unbroken: str, damage: str
) -> None:
    state = {"jax": "state/ocdbt.process_0", "torch": "."}[workshop.engine]
    file = largest_file(workshop.root / copy / "checkpoints" / "8" / state)
    content = bytearray(file.read_bytes())
    if damage == "cut":
        del content[len(content) // 2 :]
    else:
        content[len(content) // 2] ^= 1
    file.write_bytes(content)
    workshop.train(copy, resume_from="latest")
    assert_same(workshop, copy, unbroken)
    [event] = workshop.events(copy, "damaged-checkpoint")
    assert event["details"] == {"step": 8}
    assert (workshop.root / copy / "checkpoints" / "damaged" / "8").is_dir()


def test_a_run_with_only_damaged_checkpoints_says_so(workshop: Workshop, copy: str) -> None:
    for step in workshop.kept_steps(copy):
        record = {"jax": "record/metadata", "torch": "record.json"}[workshop.engine]
        (workshop.root / copy / "checkpoints" / str(step) / record).write_text("{")
    with pytest.raises(DataError, match=r"Every checkpoint.*damaged: 4, 6, 8"):
        workshop.train(copy, resume_from="latest")


def test_run_of_other_engine_is_rejected_untouched(workshop: Workshop, half: str) -> None:
    other: EngineName = "torch" if workshop.engine == "jax" else "jax"
    before = {path: path.read_bytes() for path in (workshop.root / half).rglob("*") if path.is_file()}
    with pytest.raises(
        ConflictError, match=rf"started with the {workshop.engine} engine.*--engine {workshop.engine}"
    ):
        replace(workshop, engine=other).train(half, resume_from="latest")
    elsewhere = {"resume_from": "latest", "checkpoint_dir": workshop.root / half / "checkpoints"}
    with pytest.raises(ConflictError, match=f"started with the {workshop.engine} engine"):
        replace(workshop, engine=other).train(f"elsewhere-{half}", **elsewhere)
    assert {path: path.read_bytes() for path in before} == before
