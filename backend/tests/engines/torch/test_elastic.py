"""Multi-process runs through the CLI: torchrun, a changed number of processes, and a lost process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.children import PROGRAM, free_port
from support.training import TrainingWorkspace

WAIT_S = 300


def run_torchrun(workspace: TrainingWorkspace, output: str, *more: str) -> "subprocess.CompletedProcess[str]":
    """Train with two processes under torchrun."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--no-python"]
    return subprocess.run(
        [*torchrun, f"--master-port={free_port()}", *PROGRAM, *workspace.command(output, *more)],
        env=workspace.environment(),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )


@contextmanager
def two_processes(
    workspace: TrainingWorkspace, output: str, *more: str
) -> Iterator[list["subprocess.Popen[str]"]]:
    """Start two processes that join through a coordinator; kill them on exit."""
    flags = ("--coordinator", f"127.0.0.1:{free_port()}", "--num-processes", "2")
    children = [workspace.start(output, *flags, "--process-id", str(number), *more) for number in range(2)]
    try:
        yield children
    finally:
        for child in children:
            child.kill()
            child.communicate()


def wait_for_checkpoint(
    workspace: TrainingWorkspace, output: str, children: list["subprocess.Popen[str]"]
) -> None:
    directory = workspace.root / output / "checkpoints"
    deadline = time.monotonic() + WAIT_S
    while not directory.is_dir() or not any(name.isdecimal() for name in os.listdir(directory)):
        assert time.monotonic() < deadline
        assert all(child.poll() is None for child in children)
        time.sleep(0.1)


# Slow: torchrun and two processes that import torch; test_distributed.py covers training with two processes.
@pytest.mark.slow
def test_resume_changes_number_of_processes(workspace: TrainingWorkspace) -> None:
    workspace.train("single")
    workspace.train("changing", "training.num_steps=4")
    result = run_torchrun(workspace, "changing", "--resume", "--set", "training.num_steps=8")
    assert result.returncode == 0, result.stderr
    assert "data 1 x fsdp 2 x tensor 1" in (workspace.root / "changing" / "log.txt").read_text()
    workspace.train("changing", resume_from="latest")
    single, changing = workspace.metrics("single"), workspace.metrics("changing")
    assert [line["step"] for line in changing] == [line["step"] for line in single]
    for key in ("loss", "validation_loss"):
        losses = [line[key] for line in changing if key in line]
        assert losses == pytest.approx([line[key] for line in single if key in line], abs=1e-4)
    assert workspace.manifest("changing-process-1")["status"] == "succeeded"
    assert not (workspace.root / "changing-process-1" / "model").exists()


def test_lost_process_ends_the_others(workspace: TrainingWorkspace) -> None:
    with two_processes(workspace, "lost", "--set", "training.num_steps=100000") as children:
        wait_for_checkpoint(workspace, "lost", children)
        children[1].send_signal(signal.SIGKILL)
        assert children[0].stderr is not None
        errors = children[0].stderr.read()
        assert children[0].wait(timeout=WAIT_S) == 4
    assert "lost the connection to another of the 2 processes" in errors
    assert "--resume" in errors
    assert workspace.manifest("lost")["failure"]["code"] == "device"
