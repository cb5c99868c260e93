"""Packing, verifying and replaying the evidence of a real training run on both engines."""

from pathlib import Path
from typing import get_args

import pytest
from support.evidence_runs import evaluate
from support.training import TrainingWorkspace, workspace_fixture
from typer.testing import CliRunner

from tunix_rt.cli.main import app
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.types import EngineName

workspace = workspace_fixture(*get_args(EngineName))


def test_replay_retrains_first_steps(
    workspace: TrainingWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUNIX_RT_HOME", str(workspace.settings.home))
    workspace.train("home/runs/proved", "training.num_steps=3", "eval.every_steps=3")
    evaluate(workspace.settings.home, RunDir(workspace.settings.runs_dir / "proved"))
    bundle = str(tmp_path / "bundle")

    packed = CliRunner().invoke(app, ["evidence", "pack", "proved", "--to", bundle])
    verified = CliRunner().invoke(app, ["evidence", "verify", bundle, "--replay", "2"])

    assert packed.exit_code == 0, packed.output
    assert verified.exit_code == 0, verified.output
    assert "2 steps trained again" in " ".join(verified.output.split())
