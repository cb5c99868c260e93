"""The model process: its input, its output and when it exits."""

import json
import subprocess
import sys
from pathlib import Path

from support.children import environment

from tunix_rt.base.settings import Settings

PROGRAM = [sys.executable, "-m", "tunix_rt.serving.child"]


def test_missing_model_reports_one_line(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "nobody"],
        env=environment(Settings(home=tmp_path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        # Its input stays open: it would end for that reason otherwise.
        [line] = child.stdout.readlines()
        assert child.wait(timeout=60) == 2
        child.stdin.close()
    report = json.loads(line)
    assert (report["kind"], report["code"]) == ("failed", "not-found")
    assert "nobody" in report["detail"]


def test_child_exits_when_stdin_closes(tmp_path: Path) -> None:
    slow = tmp_path / "fifo"
    # Reading this configuration lasts for ever.
    slow.mkdir()
    subprocess.run(["mkfifo", slow / "config.json"], check=True)
    done = subprocess.run(
        [*PROGRAM, str(slow), "--device", "cpu"],
        env=environment(Settings(home=tmp_path)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, b"")
