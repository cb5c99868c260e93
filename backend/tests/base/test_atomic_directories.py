"""A directory appears whole or not at all, whatever happens while it is written."""

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


def test_a_directory_is_replaced_whole(tmp_path: Path) -> None:
    write(tmp_path / "model", "old")
    write(tmp_path / "model", "new")
    assert (tmp_path / "model" / "file").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_error_leaves_the_old_directory_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "model", "old")
    with pytest.raises(ZeroDivisionError), write_directory_atomically(tmp_path / "model") as directory:
        (directory / "file").write_text(str(1 / 0))
    assert (tmp_path / "model" / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_killed_process_leaves_nothing_that_looks_complete(tmp_path: Path) -> None:
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


def test_killed_between_the_renames_the_old_directory_comes_back(tmp_path: Path) -> None:
    write(tmp_path / "model", "old")
    (tmp_path / "model").rename(tmp_path / "model.old")
    with pytest.raises(ZeroDivisionError), write_directory_atomically(tmp_path / "model"):
        _ = 1 / 0
    assert (tmp_path / "model" / "file").read_text() == "old"


def test_a_place_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError), write_directory_atomically(tmp_path / "file" / "model"):
        pass
