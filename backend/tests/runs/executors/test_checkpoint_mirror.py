"""The checkpoint mirror: complete checkpoints only, verified when they are fetched."""

from pathlib import Path

import pytest

from tunix_rt.base.errors import InvalidInputError, StorageError
from tunix_rt.runs.executors.ray.mirror import CheckpointMirror


@pytest.fixture
def mirror(tmp_path: Path) -> CheckpointMirror:
    return CheckpointMirror(f"file://{tmp_path / 'shared'}", "demo")


def make_checkpoint(directory: Path, step: int) -> Path:
    path = directory / str(step)
    (path / "state" / "d").mkdir(parents=True)
    (path / "state" / "d" / "part").write_bytes(b"weights of step %d" % step)
    (path / "record.json").write_text("{}")
    return path


def put_checkpoint(mirror: CheckpointMirror, tmp_path: Path, step: int) -> None:
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_text(f'{{"step": {step}}}\n')
    mirror.put(step, make_checkpoint(tmp_path / "run", step), {"metrics.jsonl": metrics})


def read_tree(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("protocol", ["file", "memory"])
def test_checkpoint_round_trips_with_records(tmp_path: Path, protocol: str) -> None:
    mirror = CheckpointMirror(f"{protocol}://{tmp_path / 'shared'}", "demo")
    put_checkpoint(mirror, tmp_path, 5)
    records = mirror.fetch(mirror.complete()[0], tmp_path / "elsewhere")
    assert read_tree(tmp_path / "elsewhere" / "5") == read_tree(tmp_path / "run" / "5")
    assert records == {"metrics.jsonl": b'{"step": 5}\n'}
    mirror.remove()
    assert mirror.complete() == []


def test_complete_checkpoints_are_sorted_by_step(mirror: CheckpointMirror, tmp_path: Path) -> None:
    for step in (100, 9, 20):
        put_checkpoint(mirror, tmp_path, step)
    assert [checkpoint.step for checkpoint in mirror.complete()] == [9, 20, 100]
    assert mirror.newest_step() == 100


def test_empty_mirror_has_no_checkpoints(mirror: CheckpointMirror) -> None:
    assert mirror.complete() == []
    assert mirror.newest_step() == 0
    mirror.remove()


@pytest.mark.parametrize("torn_to", [None, 10])
def test_incomplete_marker_hides_checkpoint(
    mirror: CheckpointMirror, tmp_path: Path, torn_to: int | None
) -> None:
    put_checkpoint(mirror, tmp_path, 1)
    put_checkpoint(mirror, tmp_path, 2)
    [marker] = (tmp_path / "shared" / "demo").glob("2-*.json")
    if torn_to is None:
        marker.unlink()
    else:
        marker.write_bytes(marker.read_bytes()[:torn_to])
    assert [checkpoint.step for checkpoint in mirror.complete()] == [1]


def test_corrupt_file_aborts_fetch(mirror: CheckpointMirror, tmp_path: Path) -> None:
    put_checkpoint(mirror, tmp_path, 7)
    [part] = (tmp_path / "shared").rglob("part")
    part.write_bytes(b"weights of step 8")
    with pytest.raises(StorageError, match="step 7 is damaged"):
        mirror.fetch(mirror.complete()[0], tmp_path / "elsewhere")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_marker_cannot_escape_checkpoint(mirror: CheckpointMirror, tmp_path: Path) -> None:
    put_checkpoint(mirror, tmp_path, 7)
    [marker] = (tmp_path / "shared" / "demo").glob("7-*.json")
    marker.write_text(marker.read_text().replace("checkpoint/record.json", "checkpoint/../../record.json"))
    with pytest.raises(StorageError, match="outside"):
        mirror.fetch(mirror.complete()[0], tmp_path / "elsewhere")


def test_same_step_uploads_stay_separate(mirror: CheckpointMirror, tmp_path: Path) -> None:
    for machine in (tmp_path / "a", tmp_path / "b"):
        machine.mkdir()
        put_checkpoint(mirror, machine, 3)
    first, second = mirror.complete()
    mirror.drop(first)
    assert mirror.complete() == [second]
    mirror.fetch(second, tmp_path / "elsewhere")


def test_unknown_protocol_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="nowhere") as raised:
        CheckpointMirror("nowhere://x", "demo").complete()
    assert "file:///" in raised.value.next_step


def test_unwritable_mirror_raises_storage_error(tmp_path: Path) -> None:
    (tmp_path / "shared").write_text("a file, not a directory")
    with pytest.raises(StorageError, match="Mirroring the checkpoint of step 1") as raised:
        put_checkpoint(CheckpointMirror(f"file://{tmp_path / 'shared'}", "demo"), tmp_path, 1)
    assert "TUNIX_RT_CHECKPOINT_URL" in raised.value.next_step
