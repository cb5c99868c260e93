"""Run directories: single-writer locks, crash-safe JSON lines and file hashes."""

import hashlib
from pathlib import Path

import pytest

from tunix_rt.base.errors import ConflictError
from tunix_rt.base.files.jsonl import JsonLines, keep_json_lines, read_json_lines
from tunix_rt.base.files.locks import is_held, is_unused, remove_if_unused
from tunix_rt.engines.training.run_dir import RunDir


def test_second_writer_is_rejected(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path / "run")
    with run_dir.held(), pytest.raises(ConflictError, match="Another process"), run_dir.held():
        pass
    with run_dir.held():
        pass  # the lock was released


def test_only_empty_run_is_removed(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path / "run")
    with run_dir.held():
        assert is_unused(run_dir.path)
        remove_if_unused(run_dir.path)
    assert not run_dir.path.exists()
    run_dir.path.mkdir()
    run_dir.log.write_text("hello")
    remove_if_unused(run_dir.path)
    assert run_dir.log.exists()


def test_torn_last_line_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2}\n{"st')
    assert read_json_lines(path) == [{"step": 1}, {"step": 2}]


def test_lines_are_truncated_then_appended(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2}\n{"step": 3}\n{"st')
    keep_json_lines(path, lambda line: bool(line["step"] <= 2))
    lines = JsonLines(path)
    lines.append({"step": 3, "unit": "µs"})
    lines.close()
    assert path.read_text(encoding="utf-8") == '{"step": 1}\n{"step": 2}\n{"step": 3, "unit": "µs"}\n'


def test_nan_is_rejected(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "metrics.jsonl")
    with pytest.raises(ValueError, match="JSON"):
        lines.append({"loss": float("nan")})
    lines.close()


def test_every_file_except_manifest_is_hashed(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_bytes(b"{}")
    run_dir.log.write_bytes(b"hello")
    run_dir.manifest.write_bytes(b"{}")
    assert run_dir.file_hashes() == {
        "log.txt": hashlib.sha256(b"hello").hexdigest(),
        "model/config.json": hashlib.sha256(b"{}").hexdigest(),
    }


def test_lock_check_does_not_take_lock(tmp_path: Path) -> None:
    path = tmp_path / "run"
    assert not is_held(path)
    with RunDir(path).held():
        assert is_held(path)
    assert not is_held(path)
    with RunDir(path).held():
        pass
