"""The model process: stdin, stdout and exit code."""

import json
import subprocess
import sys
from pathlib import Path

from support.children import environment

from tunix_rt.base.settings import Settings

PROGRAM = [sys.executable, "-m", "tunix_rt.serving.child"]


def test_missing_model_reports_one_line(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "missing"],
        env=environment(Settings(home=tmp_path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        # Stdin stays open, because closing it would also end the process.
        [line] = child.stdout.readlines()
        assert child.wait(timeout=60) == 2
        child.stdin.close()
    report = json.loads(line)
    assert (report["kind"], report["code"]) == ("failed", "not-found")
    assert "missing" in report["detail"]


def test_child_exits_when_stdin_closes(tmp_path: Path) -> None:
    """The child exits even while it is loading a model."""
    model_dir = tmp_path / "model"
    # Opening a FIFO without a writer blocks forever.
    model_dir.mkdir()
    subprocess.run(["mkfifo", model_dir / "config.json"], check=True)
    done = subprocess.run(
        [*PROGRAM, str(model_dir), "--device", "cpu"],
        env=environment(Settings(home=tmp_path)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, b"")
