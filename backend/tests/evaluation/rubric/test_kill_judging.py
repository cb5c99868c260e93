"""Killed or interrupted judging keeps the grades that were paid for."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.children import environment, run_program, start_program
from support.evaluations import write_evaluation
from support.judge_server import JudgeServer, grades, hang, judge_server

from tunix_rt.base.settings import Settings

NUM_ITEMS, NUM_BEFORE = 5, 2
HANG_GUARD_S = 60


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as started:
        yield started


def command(server: JudgeServer, evaluation_dir: Path) -> list[str]:
    flags = ["--model", "judge-1", "--base-url", server.url, "--concurrency", "1", "--timeout", "600"]
    return ["eval", "judge", str(evaluation_dir), *flags]


def start_and_hang(server: JudgeServer, evaluation_dir: Path, settings: Settings) -> "subprocess.Popen[str]":
    """Start judging in a child process that has some grades and waits for the next reply."""
    server.script = [*[grades()] * NUM_BEFORE, hang]
    process = start_program(*command(server, evaluation_dir), environ=environment(settings))
    deadline_s = time.monotonic() + HANG_GUARD_S
    while len(server.bodies) <= NUM_BEFORE:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline_s, "the judge received no request"
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("stop_signal", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_stopped_judging_keeps_paid_grades(
    stop_signal: signal.Signals, server: JudgeServer, tmp_path: Path
) -> None:
    settings, evaluation_dir = Settings(home=tmp_path / "home"), tmp_path / "evaluation"
    write_evaluation(evaluation_dir, "1" * NUM_ITEMS)
    with start_and_hang(server, evaluation_dir, settings) as process:
        process.send_signal(stop_signal)
        try:
            process.communicate(timeout=HANG_GUARD_S)
        finally:
            process.kill()  # a child that hangs must not block the tests
    assert process.returncode == (130 if stop_signal == signal.SIGINT else -signal.SIGKILL)
    num_requests = len(server.bodies)
    again = run_program(*command(server, evaluation_dir), settings=settings)
    assert again.returncode == 0, again.stderr
    assert len(server.bodies) == num_requests + NUM_ITEMS - NUM_BEFORE
    assert f"{NUM_BEFORE} of {NUM_ITEMS} texts were graded earlier and cost nothing" in again.stdout
