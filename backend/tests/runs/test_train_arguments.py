"""What `tunix-rt train` and `plan` take: a recipe by file or name, and a time to stop after."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tunix_rt.base.assets import shipped_recipe_path
from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.signals import StopRequest
from tunix_rt.base.terminal.options import recipe_file
from tunix_rt.cli.main import app


def test_a_shipped_recipe_has_a_name() -> None:
    assert recipe_file(Path("smoke_tiny")) == shipped_recipe_path("smoke_tiny")


def test_a_file_stands_before_a_shipped_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("smoke_tiny").touch()
    assert recipe_file(Path("smoke_tiny")) == Path("smoke_tiny")


def test_a_recipe_that_is_neither_is_left_to_the_error_that_names_it() -> None:
    assert recipe_file(Path("no_such_recipe")) == Path("no_such_recipe")


def test_processes_that_train_together_cannot_stop_by_their_own_clocks(tmp_path: Path) -> None:
    together = ["--coordinator", "127.0.0.1:1", "--num-processes", "2", "--process-id", "0"]
    command = ["train", "smoke_tiny", "--stop-after", "1h", "--engine", "jax", *together]
    done = CliRunner().invoke(app, [*command, "--output", str(tmp_path / "run")])
    assert isinstance(done.exception, InvalidInputError)
    assert "--stop-after works with one process" in done.exception.detail


def test_the_time_is_up_only_when_somebody_looks() -> None:
    stop = StopRequest(stop_after_s=0.0)
    assert not stop.is_made
    stop.check_deadline()
    assert stop.is_made
    assert stop.reason == "out of time"


def test_without_a_limit_the_time_is_never_up() -> None:
    stop = StopRequest()
    stop.check_deadline()
    assert not stop.is_made
