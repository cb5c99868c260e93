"""Two processes train one model: losses, weights and checkpoints equal those of one process."""

import socket
import subprocess

import pytest
from support.training import Workshop

WAIT_S = 300


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def train_together(workshop: Workshop, output: str, *more: str) -> None:
    together = ("--coordinator", f"127.0.0.1:{free_port()}", "--num-processes", "2")
    children = [workshop.start(output, *together, "--process-id", str(number), *more) for number in range(2)]
    try:
        for child in children:
            _, errors = child.communicate(timeout=WAIT_S)
            assert child.returncode == 0, errors
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_two_processes_train_as_one_and_go_on_alone(workshop: Workshop) -> None:
    workshop.train("alone")
    train_together(workshop, "together", "--set", "training.num_steps=4")
    workshop.train("together", resume_from="latest")
    alone, together = workshop.metrics("alone"), workshop.metrics("together")
    assert [line["step"] for line in together] == [line["step"] for line in alone]
    for key in ("loss", "validation_loss"):
        losses = [line[key] for line in together if key in line]
        assert losses == pytest.approx([line[key] for line in alone if key in line], rel=1e-4)
    assert workshop.manifest("together-process-1")["status"] == "succeeded"


def test_half_of_the_flags_is_refused(workshop: Workshop) -> None:
    done: subprocess.CompletedProcess[str] = workshop.run_child("half", "--num-processes", "2")
    assert done.returncode == 2
    assert "--coordinator" in done.stderr
