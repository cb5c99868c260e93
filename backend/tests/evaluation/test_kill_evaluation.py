"""A killed or interrupted evaluation, or one on a full disk, loses no completion."""

import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.children import run_here, start_program
from support.evaluating import EvaluationWorkspace, make_evaluation_workspace
from support.small_disk import small_disk_in
from support.training import TrainingWorkspace

NUM_ITEMS = 40
NUM_KILLS = 2
WAIT_S = 120


@pytest.fixture(scope="module")
def env(workspace: TrainingWorkspace) -> EvaluationWorkspace:
    return make_evaluation_workspace(workspace, NUM_ITEMS)


def command(env: EvaluationWorkspace, output: Path, *options: str) -> list[str | Path]:
    sampling = ("--temperature", "1", "--num-samples", "2", "--max-new-tokens", "48", "--batch-size", "4")
    model = ("tiny-llama", "--weights", "random", "--device", "cpu")
    return ["eval", *model, "--eval-set", env.evalset, *sampling, "--output", output, *options]


def run(env: EvaluationWorkspace, output: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    return run_here(*command(env, output, *options), settings=env.settings)


@pytest.fixture(scope="module")
def uninterrupted(env: EvaluationWorkspace) -> bytes:
    output = env.workspace.root / "uninterrupted"
    result = run(env, output)
    assert result.returncode == 0, result.stderr
    return (output / "predictions.jsonl").read_bytes()


def num_texts(output: Path) -> int:
    file = output / "generations.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def wait_for(child: "subprocess.Popen[str]", ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while child.poll() is None and not ready():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_killed_evaluation_equals_uninterrupted(env: EvaluationWorkspace, uninterrupted: bytes) -> None:
    output = env.workspace.root / "killed"
    rng = random.Random(7)
    for _ in range(NUM_KILLS):
        before = num_texts(output)
        target = before + rng.randint(1, 12)
        with start_program(*command(env, output), environ=env.workspace.environment()) as child:
            wait_for(child, lambda target=target: num_texts(output) >= target)
            child.kill()
        assert child.returncode == -signal.SIGKILL
        assert before < num_texts(output) < 2 * NUM_ITEMS
    result = run(env, output)
    assert result.returncode == 0, result.stderr
    assert f"of {2 * NUM_ITEMS} texts are done" in result.stderr
    assert (output / "predictions.jsonl").read_bytes() == uninterrupted


def test_ctrl_c_keeps_texts(env: EvaluationWorkspace, uninterrupted: bytes) -> None:
    output = env.workspace.root / "interrupted"
    with start_program(*command(env, output), environ=env.workspace.environment()) as child:
        wait_for(child, lambda: num_texts(output) > 0)
        child.send_signal(signal.SIGINT)
        _, stderr = child.communicate(timeout=WAIT_S)
    assert child.returncode == 130, stderr
    assert "texts are kept. Run the same command again to resume." in stderr
    assert "Traceback" not in stderr
    assert 0 < num_texts(output) < 2 * NUM_ITEMS
    assert run(env, output).returncode == 0
    assert (output / "predictions.jsonl").read_bytes() == uninterrupted


def test_full_disk_keeps_texts(env: EvaluationWorkspace, uninterrupted: bytes, tmp_path: Path) -> None:
    with small_disk_in(tmp_path, megabytes=1) as disk:
        output = disk / "evaluation"
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * (shutil.disk_usage(disk).free - 28 * 1024))
        result = run(env, output)
        assert result.returncode == 1, result.stderr
        assert "The disk is full" in result.stderr
        assert "Traceback" not in result.stderr
        num_kept = num_texts(output)
        assert 0 < num_kept < 2 * NUM_ITEMS
        assert not (output / "evaluation.json").exists()
        ballast.unlink()
        result = run(env, output)
        assert result.returncode == 0, result.stderr
        assert f"{num_kept} of {2 * NUM_ITEMS} texts are done" in result.stderr
        assert (output / "predictions.jsonl").read_bytes() == uninterrupted
