"""Adding files to a finished run keeps its manifest valid at every moment."""

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


def listed_files(run_dir: RunDir) -> dict[str, str]:
    manifest = read_manifest(run_dir)
    assert manifest is not None
    return manifest.files


def assert_hashes_match(run_dir: RunDir) -> None:
    for name, digest in listed_files(run_dir).items():
        assert file_sha256(run_dir.path / name) == digest, name


def test_added_file_is_copied_and_listed(run_dir: RunDir, tmp_path: Path) -> None:
    source = tmp_path / "source.json"
    source.write_text("1")
    before = listed_files(run_dir)
    add_run_files(run_dir, {"evaluation.json": source})
    assert_hashes_match(run_dir)
    assert listed_files(run_dir).keys() == before.keys() | {"evaluation.json"}
    assert "null" not in run_dir.manifest.read_text()


def test_failed_replacement_keeps_manifest_valid(run_dir: RunDir, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("1")
    second.write_text("2")
    add_run_files(run_dir, {"evaluation.json": first, "predictions.jsonl": first})
    with pytest.raises(FileNotFoundError):
        add_run_files(run_dir, {"evaluation.json": second, "predictions.jsonl": tmp_path / "missing"})
    assert (run_dir.path / "evaluation.json").read_text() == "2"
    assert_hashes_match(run_dir)
    add_run_files(run_dir, {"evaluation.json": second, "predictions.jsonl": second})
    assert_hashes_match(run_dir)
    assert {"evaluation.json", "predictions.jsonl"} <= listed_files(run_dir).keys()


def test_unfinished_run_rejects_files(run_dir: RunDir, tmp_path: Path) -> None:
    run_dir.manifest.unlink()
    with pytest.raises(ConflictError, match="is not finished"):
        add_run_files(run_dir, {})
    assert read_manifest(run_dir) is None


def test_locked_run_rejects_files(run_dir: RunDir) -> None:
    with run_dir.held(), pytest.raises(ConflictError, match="Another process"):
        add_run_files(run_dir, {}, wait_s=0)


def test_damaged_manifest_error_names_run(run_dir: RunDir) -> None:
    run_dir.manifest.write_text(json.dumps({"run_id": "first"}))
    with pytest.raises(DataError, match="manifest of the run first"):
        read_manifest(run_dir)
