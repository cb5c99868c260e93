"""Arguments of `tunix-rt train` and `plan`: the recipe and the time limit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tunix_rt.base.assets import shipped_recipe_path
from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.signals import StopRequest
from tunix_rt.base.terminal.options import recipe_file
from tunix_rt.cli.main import app


def test_shipped_recipe_resolves_by_name() -> None:
    assert recipe_file(Path("smoke_tiny")) == shipped_recipe_path("smoke_tiny")


def test_local_file_shadows_shipped_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("smoke_tiny").touch()
    assert recipe_file(Path("smoke_tiny")) == Path("smoke_tiny")


def test_unknown_recipe_is_passed_through() -> None:
    assert recipe_file(Path("no_such_recipe")) == Path("no_such_recipe")


def test_stop_after_requires_one_process(tmp_path: Path) -> None:
    distributed = ["--coordinator", "127.0.0.1:1", "--num-processes", "2", "--process-id", "0"]
    command = ["train", "smoke_tiny", "--stop-after", "1h", "--engine", "jax", *distributed]
    result = CliRunner().invoke(app, [*command, "--output", str(tmp_path / "run")])
    assert isinstance(result.exception, InvalidInputError)
    assert "--stop-after works with one process" in result.exception.detail


def test_stopped_run_says_how_to_resume(tmp_path: Path) -> None:
    output = tmp_path / "my run"
    result = CliRunner().invoke(app, ["train", "smoke_tiny", "--stop-after", "0s", "--output", str(output)])
    assert result.exit_code == 7
    assert f"To resume, run the same command with --output '{output}' --resume" in " ".join(
        result.output.split()
    )


def test_deadline_applies_when_checked() -> None:
    stop = StopRequest(stop_after_s=0.0)
    assert not stop.is_made
    stop.check_deadline()
    assert stop.is_made
    assert stop.reason == "out of time"


def test_missing_deadline_never_stops() -> None:
    stop = StopRequest()
    stop.check_deadline()
    assert not stop.is_made


@pytest.fixture
def recipe_of_owner_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe with the model `owner/model`, which the working directory contains too, unusable."""
    (tmp_path / "owner" / "model").mkdir(parents=True)
    (tmp_path / "owner" / "model" / "config.json").write_text("{}")
    recipe = tmp_path / "recipe.yaml"
    values = {"model": {"name": "owner/model"}, "training": {"num_steps": 1, "batch_size": 1}}
    recipe.write_text(json.dumps(values))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return recipe


def test_command_line_accepts_a_relative_directory(recipe_of_owner_model: Path) -> None:
    result = CliRunner().invoke(app, ["plan", str(recipe_of_owner_model), "--on", "t4"])
    assert isinstance(result.exception, InvalidInputError)
    assert "not in the local cache" not in result.exception.detail


def test_submitted_recipe_never_names_a_relative_directory(
    recipe_of_owner_model: Path, tmp_path: Path
) -> None:
    command = ["train", str(recipe_of_owner_model), "--dataset", "dev-reasoning-v2", "--engine", "jax"]
    as_worker = [*command, "--output", str(tmp_path / "run"), "--device", "cpu", "--recipe-name", "client"]
    # Another process: this one must not load JAX, because other tests fork.
    result = subprocess.run(
        [sys.executable, "-m", "tunix_rt.cli", *as_worker],
        env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(tmp_path / "hub")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert "owner/model is not in the local cache" in result.stderr
