"""Files that join a finished run: its manifest is true at every moment."""

import json
from pathlib import Path

import pytest
from support.run_dirs import finished_run

from tunix_rt.base.errors import ConflictError, DataError
from tunix_rt.datasets.files import file_sha256
from tunix_rt.engines.training.run_dir import RunDir, add_run_files, read_manifest


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    return finished_run(tmp_path / "runs" / "first")


def listed(run_dir: RunDir) -> dict[str, str]:
    manifest = read_manifest(run_dir)
    assert manifest is not None
    return manifest.files


def assert_true(run_dir: RunDir) -> None:
    for name, digest in listed(run_dir).items():
        assert file_sha256(run_dir.path / name) == digest, name


def test_a_file_is_copied_and_listed(run_dir: RunDir, tmp_path: Path) -> None:
    source = tmp_path / "source.json"
    source.write_text("1")
    before = listed(run_dir)
    add_run_files(run_dir, {"evaluation.json": source})
    assert_true(run_dir)
    assert listed(run_dir).keys() == before.keys() | {"evaluation.json"}
    assert "null" not in run_dir.manifest.read_text()


def test_a_crash_while_replacing_leaves_a_manifest_that_is_true(run_dir: RunDir, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("1")
    second.write_text("2")
    add_run_files(run_dir, {"evaluation.json": first, "predictions.jsonl": first})
    with pytest.raises(FileNotFoundError):
        add_run_files(run_dir, {"evaluation.json": second, "predictions.jsonl": tmp_path / "missing"})
    assert (run_dir.path / "evaluation.json").read_text() == "2"
    assert_true(run_dir)
    add_run_files(run_dir, {"evaluation.json": second, "predictions.jsonl": second})
    assert_true(run_dir)
    assert {"evaluation.json", "predictions.jsonl"} <= listed(run_dir).keys()


def test_a_run_that_is_not_finished_takes_no_files(run_dir: RunDir, tmp_path: Path) -> None:
    run_dir.manifest.unlink()
    with pytest.raises(ConflictError, match="is not finished"):
        add_run_files(run_dir, {})
    assert read_manifest(run_dir) is None


def test_a_run_that_is_being_written_takes_no_files(run_dir: RunDir) -> None:
    with run_dir.held(), pytest.raises(ConflictError, match="Another process"):
        add_run_files(run_dir, {}, wait_s=0)


def test_a_damaged_manifest_is_named(run_dir: RunDir) -> None:
    run_dir.manifest.write_text(json.dumps({"run_id": "first"}))
    with pytest.raises(DataError, match="manifest of the run first"):
        read_manifest(run_dir)
