"""How the fault soak detects two engines that train the same run at once."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from support.engine_processes import doubled_runs, engines_alive
from support.jobs import wait_for

from tunix_rt.runs.executors.supervisor import MARK_VARIABLE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
# Forks, as a process does before it starts a program, and lives until its stdin closes.
FORKING_ENGINE = "import os, sys\nchild = os.fork()\nsys.stdin.read()\nchild and os.waitpid(child, 0)\n"


@contextmanager
def running_engines(folder: Path, *marks: str) -> Iterator[None]:
    """Start processes with the command line of an engine, all for the same run."""
    (folder / "tunix_rt").mkdir()
    (folder / "tunix_rt" / "__init__.py").touch()
    (folder / "tunix_rt" / "cli.py").write_text(FORKING_ENGINE)
    command = [sys.executable, "-m", "tunix_rt.cli", "train", "--output", str(folder / "run")]
    with ExitStack() as running:
        for mark in marks:
            environment = {**os.environ, MARK_VARIABLE: mark}
            running.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, cwd=folder, env=environment)
            )
        wait_for(lambda: len(engines_alive(folder)) == 2 * len(marks))
        yield


def test_forked_engine_counts_once(tmp_path: Path) -> None:
    with running_engines(tmp_path, "run/first"):
        assert not doubled_runs(tmp_path)


def test_two_attempts_are_detected(tmp_path: Path) -> None:
    with running_engines(tmp_path, "run/first", "run/second"):
        assert doubled_runs(tmp_path) == {"run"}
        assert not doubled_runs(tmp_path / "elsewhere")
    assert not engines_alive(tmp_path)
