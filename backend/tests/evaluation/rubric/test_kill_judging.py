"""Killed or interrupted judging keeps the grades that were paid for."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.children import environment, run_program, start_program
from support.evaluations import write_evaluation
from support.judge_server import JudgeServer, grades, hangs, judge_server

from tunix_rt.base.settings import Settings

NUM_ITEMS, NUM_BEFORE = 5, 2
HANG_GUARD_S = 60


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as started:
        yield started


def command(server: JudgeServer, exam: Path) -> list[str]:
    flags = ["--model", "judge-1", "--base-url", server.url, "--concurrency", "1", "--timeout", "600"]
    return ["eval", "judge", str(exam), *flags]


def start_and_hang(server: JudgeServer, exam: Path, settings: Settings) -> "subprocess.Popen[str]":
    """Judging in a child that has some grades and waits for the next one."""
    server.script = [*[grades()] * NUM_BEFORE, hangs]
    process = start_program(*command(server, exam), environ=environment(settings))
    deadline_s = time.monotonic() + HANG_GUARD_S
    while len(server.bodies) <= NUM_BEFORE:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline_s, "the judge was never asked"
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_stopped_judging_keeps_paid_grades(how: signal.Signals, server: JudgeServer, tmp_path: Path) -> None:
    settings, exam = Settings(home=tmp_path / "home"), tmp_path / "exam"
    write_evaluation(exam, "1" * NUM_ITEMS)
    with start_and_hang(server, exam, settings) as process:
        process.send_signal(how)
        try:
            process.communicate(timeout=HANG_GUARD_S)
        finally:
            process.kill()  # one that hangs must not hang the tests
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    num_asked = len(server.bodies)
    again = run_program(*command(server, exam), settings=settings)
    assert again.returncode == 0, again.stderr
    assert len(server.bodies) == num_asked + NUM_ITEMS - NUM_BEFORE
    assert f"{NUM_BEFORE} of {NUM_ITEMS} texts were graded earlier and cost nothing" in again.stdout
