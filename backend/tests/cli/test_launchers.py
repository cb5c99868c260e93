"""The seed training scripts keep their flags and exit codes, and refuse what they cannot do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.children import run_script_here
from support.training import TrainingWorkspace

from tunix_rt.datasets.service import iter_rows
from tunix_rt.traces.types import canonical_json

ROOT = Path(__file__).parents[3]


def launch(
    workspace: TrainingWorkspace, script: str, *arguments: str | Path
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, f"training/{script}", *map(str, arguments)],
        cwd=ROOT,
        env=workspace.environment(COLUMNS="200"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


def test_launcher_scripts_stay_short() -> None:
    for script in ("run_train_jax.py", "train_jax.py", "eval_generate.py"):
        assert len((ROOT / "training" / script).read_text().splitlines()) <= 15


def test_help_lists_every_flag(workspace: TrainingWorkspace) -> None:
    environ = workspace.environment(COLUMNS="200")
    done = run_script_here(ROOT / "training" / "train_jax.py", "--help", environ=environ)
    assert done.returncode == 0
    for flag in (
        "--config --output --dataset --data --device --device_index --smoke_steps --smoke_config "
        "--checkpoint_dir --resume_from --save_every_steps --eval_after_train --eval_set"
    ).split():
        assert f"{flag} " in done.stdout, flag


def test_smoke_run_trains_and_exports(workspace: TrainingWorkspace) -> None:
    output, checkpoints = workspace.root / "smoke", workspace.root / "checkpoints"
    done = launch(
        workspace,
        "run_train_jax.py",
        *("--config", "training/configs/submission_tpu.yaml", "--smoke_config", workspace.recipe),
        *("--output", output, "--dataset", "demo-v1", "--device", "auto", "--smoke_steps", "2"),
        *("--save_every_steps", "1", "--checkpoint_dir", checkpoints, "--device_index", "0"),
    )
    assert done.returncode == 0, done.stderr
    assert [line["step"] for line in workspace.metrics("smoke") if "loss" in line] == [1, 2]
    assert (output / "model" / "model.safetensors").is_file()
    assert {"1", "2"} <= set(os.listdir(checkpoints))
    overrides = {
        event["details"]["key"]: event["details"]["reason"] for event in workspace.events("smoke", "override")
    }
    assert overrides == {
        "training.num_steps": "--smoke_steps",
        "output.save_every_steps": "--save_every_steps",
    }


def test_trace_file_can_be_trained_on(workspace: TrainingWorkspace, tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    rows = iter_rows(workspace.settings.datasets_dir, "demo-v1", "train")
    file.write_text("".join(canonical_json(row.trace()) + "\n" for row in rows), encoding="utf-8")
    recipe = tmp_path / "without-validation.yaml"
    recipe.write_text(workspace.recipe.read_text().replace("eval: {every_steps: 4, max_batches: 2}\n", ""))
    flags = ("--config", recipe, "--output", workspace.root / "from-file", "--data", file, "--device", "cpu")
    done = launch(workspace, "train_jax.py", *flags, "--resume_from", "latest", "--smoke_steps", "1")
    assert done.returncode == 0, done.stderr
    assert workspace.manifest("from-file")["dataset"] == "traces.jsonl"


@pytest.mark.parametrize(
    ("flags", "exit_code", "message"),
    [
        (("--smoke_steps", "2", "--smoke_config", "missing.yaml"), 2, "There is no recipe missing.yaml"),
        (("--smoke_config", "training/configs/smoke_tiny.yaml"), 2, "without --smoke_steps"),
        (("--eval_set", "eval_v2"), 2, "--eval_set is given without --eval_after_train"),
        (("--eval_after_train", "--eval_set", "eval_v1"), 2, "Did you mean 'eval_v2'?"),
        (("--resume_from", "newest"), 2, "neither a step nor 'latest'"),
        (("--data", "missing.jsonl"), 2, "There is no file missing.jsonl"),
        (("--device", "gpu"), 4, "no GPU"),
    ],
)
def test_invalid_flags_are_refused(
    workspace: TrainingWorkspace,
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...],
    exit_code: int,
    message: str,
) -> None:
    data = () if "--data" in flags else ("--dataset", "demo-v1")
    given = ("--config", workspace.recipe, "--output", workspace.root / "refused", *data)
    monkeypatch.chdir(ROOT)
    script, environ = Path("training/train_jax.py"), workspace.environment(COLUMNS="200")
    done = run_script_here(script, *given, *flags, environ=environ)
    assert done.returncode == exit_code, done.stderr
    assert message in done.stderr
    assert "\nnext:  " in done.stderr
    assert not (workspace.root / "refused").exists()
