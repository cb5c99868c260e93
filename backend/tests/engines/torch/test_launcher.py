"""The `training_pt/train.py` launcher of the torch engine, and resuming its run with `--engine auto`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.children import run_here, run_script_here
from support.training import DATASET, Listener, TrainingWorkspace

from tunix_rt.engines.select import has_nvidia_gpu

ROOT = Path(__file__).parents[4]
SCRIPT = ROOT / "training_pt" / "train.py"


def launch(workspace: TrainingWorkspace, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        cwd=ROOT,
        env=workspace.environment(COLUMNS="200"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


def test_launcher_is_short() -> None:
    assert len(SCRIPT.read_text().splitlines()) <= 15


def test_help_lists_every_flag(workspace: TrainingWorkspace) -> None:
    result = launch(workspace, "--help")
    assert result.returncode == 0
    for flag in (
        "--config --output --dataset --data --device --device_index --smoke_steps --smoke_config "
        "--checkpoint_dir --resume_from --save_every_steps --eval_after_train --eval_set"
    ).split():
        assert f"{flag} " in result.stdout, flag


def test_launcher_trains_and_auto_resumes(workspace: TrainingWorkspace) -> None:
    output = workspace.root / "launched"
    flags = ("--output", output, "--dataset", DATASET, "--device", "cpu", "--smoke_steps", 2)
    result = launch(workspace, "--config", workspace.recipe, *flags)
    assert result.returncode == 0, result.stderr
    assert workspace.manifest("launched")["engine"] == "torch"
    assert [override["message"] for override in workspace.events("launched", "override")] == [
        "training.num_steps: 12 -> 2 (--smoke_steps)"
    ]
    assert (output / "log.txt").read_text().splitlines()[0] == "engine torch: --engine torch"

    longer = ("--output", output, "--device", "cpu", "--resume", "--set", "training.num_steps=3", "--json")
    result = run_here("train", workspace.recipe, *longer, settings=workspace.settings, OMP_NUM_THREADS="1")
    assert result.returncode == 0, result.stderr
    assert "engine torch: the resumed run was started with it" in result.stderr
    assert json.loads(result.stdout)["figures"]["num_steps"] == 3


def test_missing_padding_and_template_are_added(workspace: TrainingWorkspace) -> None:
    workspace.train("whole", "training.num_steps=1", "training.warmup_steps=0")
    model = workspace.root / "whole" / "model"
    (model / "chat_template.jinja").unlink()
    config = json.loads((model / "tokenizer_config.json").read_bytes())
    stripped = {key: value for key, value in config.items() if key not in ("pad_token", "eos_token")}
    (model / "tokenizer_config.json").write_text(json.dumps(stripped))

    listener = Listener()
    changes = (
        f"model.name={model}",
        "model.weights=pretrained",
        "training.num_steps=1",
        "training.warmup_steps=0",
    )
    manifest = workspace.train("bare", *changes, view=listener)
    assert manifest.status == "succeeded"
    assert any("built-in chat template" in line for line in listener.lines)


@pytest.mark.skipif(has_nvidia_gpu(), reason="this machine has an NVIDIA GPU")
def test_missing_gpu_is_an_error(workspace: TrainingWorkspace) -> None:
    output = workspace.root / "nowhere"
    flags = ("--config", workspace.recipe, "--output", output, "--device", "cuda")
    result = run_script_here(SCRIPT, *flags, environ=workspace.environment(COLUMNS="200"))
    assert result.returncode == 4
    assert "error: " in result.stderr
    assert "--device cpu" in result.stderr
    assert not output.exists()
