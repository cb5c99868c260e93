"""`training/eval_generate.py`, and training with `--eval_after_train`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.children import run_script_here
from support.evaluating import EvaluationWorkspace, make_evaluation_workspace
from support.training import TrainingWorkspace

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def env(workspace: TrainingWorkspace) -> EvaluationWorkspace:
    return make_evaluation_workspace(workspace, 2)


def launch(
    env: EvaluationWorkspace, script: str, *arguments: str | Path
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, f"training/{script}", *map(str, arguments)],
        cwd=ROOT,
        env=env.workspace.environment(COLUMNS="200"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


def test_launchers_train_and_evaluate(env: EvaluationWorkspace) -> None:
    """Training evaluates the exported model; eval_generate.py then evaluates the run again."""
    run = env.workspace.root / "run"
    result = launch(
        env,
        "run_train_jax.py",
        *("--config", env.workspace.recipe, "--output", run, "--dataset", "demo-v1", "--device", "cpu"),
        *("--smoke_steps", "2", "--eval_after_train", "--eval_set", env.evalset),
    )
    assert result.returncode == 0, result.stderr
    assert "accuracy" in result.stdout
    record = json.loads((run / "evaluation.json").read_text(encoding="utf-8"))
    assert (record["model"]["run_id"], record["evalset"], record["num_items"]) == ("run", "sums", 2)
    assert record["model"]["recipe"] == "tiny"
    assert "evaluation.json" in json.loads((run / "run_manifest.json").read_text(encoding="utf-8"))["files"]
    check_eval_generate(env, run)


def check_eval_generate(env: EvaluationWorkspace, run: Path) -> None:
    file = env.workspace.root / "predictions.jsonl"
    flags = ("--model", run, "--eval-set", env.evalset, "--device", "cpu", "--max_new_tokens", "8")
    result = launch(env, "eval_generate.py", *flags, "--output", file, "--limit", "1")
    assert result.returncode == 0, result.stderr
    [line] = file.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["generation"]["num_new_tokens"] <= 8
    assert file.read_bytes() == (env.workspace.root / "predictions" / "predictions.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--model", "base"), "does not say which base model"),
        (("--model", "tiny-llama"), "--weights random"),
        (("--model", "owner/nothing", "--temperature", "0", "--eval-set", "none.jsonl"), "no eval set file"),
    ],
)
def test_eval_generate_rejects_invalid_arguments(
    env: EvaluationWorkspace, flags: tuple[str, ...], message: str
) -> None:
    output = env.workspace.root / "refused"
    arguments = ("--eval-set", env.evalset, "--output", output, *flags)
    environ = env.workspace.environment(COLUMNS="200")
    result = run_script_here(ROOT / "training" / "eval_generate.py", *arguments, environ=environ)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr
    assert "\nnext:  " in result.stderr
    assert not output.exists()
