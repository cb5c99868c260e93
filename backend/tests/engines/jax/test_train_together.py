"""Two processes train one model: losses, weights and checkpoints equal those of one process."""

import subprocess

import pytest
from support.children import free_port
from support.training import TrainingWorkspace

WAIT_S = 300


def train_together(workspace: TrainingWorkspace, output: str, *more: str) -> None:
    flags = ("--coordinator", f"127.0.0.1:{free_port()}", "--num-processes", "2")
    children = [workspace.start(output, *flags, "--process-id", str(number), *more) for number in range(2)]
    try:
        for child in children:
            _, errors = child.communicate(timeout=WAIT_S)
            assert child.returncode == 0, errors
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_two_processes_train_like_one(workspace: TrainingWorkspace) -> None:
    """One process can resume the run."""
    workspace.train("single")
    train_together(workspace, "together", "--set", "training.num_steps=4")
    workspace.train("together", resume_from="latest")
    single, together = workspace.metrics("single"), workspace.metrics("together")
    assert [line["step"] for line in together] == [line["step"] for line in single]
    for key in ("loss", "validation_loss"):
        losses = [line[key] for line in together if key in line]
        assert losses == pytest.approx([line[key] for line in single if key in line], rel=1e-4)
    assert workspace.manifest("together-process-1")["status"] == "succeeded"


def test_incomplete_flags_are_rejected(workspace: TrainingWorkspace) -> None:
    done: subprocess.CompletedProcess[str] = workspace.run_child("half", "--num-processes", "2")
    assert done.returncode == 2
    assert "--coordinator" in done.stderr
