"""`training/eval_generate.py` and training with `--eval_after_train`: the seeds' flags, our files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.children import run_script_here
from support.evaluating import Exam, make_exam
from support.training import Workshop

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def exam(workshop: Workshop) -> Exam:
    return make_exam(workshop, 2)


def launch(exam: Exam, script: str, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, f"training/{script}", *map(str, arguments)],
        cwd=ROOT,
        env=exam.workshop.environment(COLUMNS="200"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


def test_launchers_train_and_evaluate(exam: Exam) -> None:
    run = exam.workshop.root / "run"
    done = launch(
        exam,
        "run_train_jax.py",
        *("--config", exam.workshop.recipe, "--output", run, "--dataset", "demo-v1", "--device", "cpu"),
        *("--smoke_steps", "2", "--eval_after_train", "--eval_set", exam.evalset),
    )
    assert done.returncode == 0, done.stderr
    assert "accuracy" in done.stdout
    record = json.loads((run / "evaluation.json").read_text(encoding="utf-8"))
    assert (record["model"]["run_id"], record["evalset"], record["num_items"]) == ("run", "sums", 2)
    assert record["model"]["recipe"] == "tiny"
    assert "evaluation.json" in json.loads((run / "run_manifest.json").read_text(encoding="utf-8"))["files"]
    predictions(exam, run)


def predictions(exam: Exam, run: Path) -> None:
    """The model of the run, asked once more by the launcher for evaluations."""
    file = exam.workshop.root / "predictions.jsonl"
    flags = ("--model", run, "--eval-set", exam.evalset, "--device", "cpu", "--max_new_tokens", "8")
    done = launch(exam, "eval_generate.py", *flags, "--output", file, "--limit", "1")
    assert done.returncode == 0, done.stderr
    [line] = file.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["generation"]["num_new_tokens"] <= 8
    assert file.read_bytes() == (exam.workshop.root / "predictions" / "predictions.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("flags", "exit_code", "message"),
    [
        (("--model", "base"), 2, "does not say which base model"),
        (("--model", "tiny-llama"), 2, "--weights random"),
        (
            ("--model", "owner/nothing", "--temperature", "0", "--eval-set", "none.jsonl"),
            2,
            "no eval set file",
        ),
    ],
)
def test_eval_generate_rejects_invalid_arguments(
    exam: Exam, flags: tuple[str, ...], exit_code: int, message: str
) -> None:
    output = exam.workshop.root / "refused"
    given = ("--eval-set", exam.evalset, "--output", output, *flags)
    environ = exam.workshop.environment(COLUMNS="200")
    done = run_script_here(ROOT / "training" / "eval_generate.py", *given, environ=environ)
    assert done.returncode == exit_code, done.stderr
    assert message in done.stderr
    assert "\nnext:  " in done.stderr
    assert not output.exists()
