"""A directory is written completely or not at all, even when the writer fails or is killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tunix_rt.base.errors import StorageError
from tunix_rt.base.files.atomic import write_directory_atomically


def write(path: Path, text: str) -> None:
    with write_directory_atomically(path) as directory:
        (directory / "file").write_text(text)
        assert not path.exists() or (path / "file").read_text() != text


def test_write_replaces_directory(tmp_path: Path) -> None:
    write(tmp_path / "model", "old")
    write(tmp_path / "model", "new")
    assert (tmp_path / "model" / "file").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_error_keeps_old_directory(tmp_path: Path) -> None:
    write(tmp_path / "model", "old")
    with pytest.raises(ZeroDivisionError), write_directory_atomically(tmp_path / "model") as directory:
        (directory / "file").write_text(str(1 / 0))
    assert (tmp_path / "model" / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_killed_write_leaves_no_directory(tmp_path: Path) -> None:
    path = tmp_path / "model"
    code = f"""
import os, pathlib
from tunix_rt.base.files.atomic import write_directory_atomically
with write_directory_atomically(pathlib.Path({str(path)!r})) as directory:
    (directory / "file").write_text("half")
    os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert not path.exists()
    write(path, "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_interrupted_rename_restores_old_directory(tmp_path: Path) -> None:
    write(tmp_path / "model", "old")
    (tmp_path / "model").rename(tmp_path / "model.old")
    with pytest.raises(ZeroDivisionError), write_directory_atomically(tmp_path / "model"):
        _ = 1 / 0
    assert (tmp_path / "model" / "file").read_text() == "old"


def test_unwritable_path_raises_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError), write_directory_atomically(tmp_path / "file" / "model"):
        pass
