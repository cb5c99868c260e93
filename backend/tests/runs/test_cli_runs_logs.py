"""`tunix-rt runs logs`: the output of a run in a terminal."""

import json
import threading
from collections.abc import Callable

import pytest
from support.live_runs import LiveRun
from typer.testing import CliRunner, Result

from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.cli.main import app

pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)

Logs = Callable[..., Result]


@pytest.fixture
def run(store: Home) -> LiveRun:
    return LiveRun(store)


@pytest.fixture
def logs(settings: Settings) -> Logs:
    def invoke(*arguments: str) -> Result:
        home = {"TUNIX_RT_HOME": str(settings.home)}
        result = CliRunner().invoke(app, ["runs", "logs", *arguments], env=home)
        assert result.exit_code == 0, result.output
        return result

    return invoke


def test_logs_print_output_verbatim(run: LiveRun, logs: Logs) -> None:
    run.print("one [bold]\n" + "x" * 100_000 + "\nthree\n")
    assert logs("run-1").stdout == "one [bold]\n" + "x" * 100_000 + "\nthree\n"


def test_tail_limits_lines(run: LiveRun, logs: Logs) -> None:
    run.print("".join(f"line {number}\n" for number in range(1_000)))
    assert logs("run-1", "--tail", "2").stdout == "line 998\nline 999\n"
    assert logs("run-1", "-n", "0").stdout == ""


def test_follow_stops_when_run_ends(run: LiveRun, logs: Logs) -> None:
    run.print("before\n")

    def finish_run() -> None:
        run.print("after\nno newline")
        run.finish("failed")

    thread = threading.Timer(0.2, finish_run)
    thread.start()
    result = logs("run-1", "--follow")
    thread.join()
    assert result.stdout == "before\nafter\nno newline"
    assert "run-1: failed" in result.stderr


def test_json_prints_stream_messages(run: LiveRun, logs: Logs) -> None:
    run.print("one\n")
    run.finish()
    messages = [json.loads(line) for line in logs("run-1", "--json").stdout.splitlines()]
    assert messages == [
        {"seq": 4, "stream": "output", "chunk": "one\n", "is_partial": False},
        {"status": "succeeded"},
    ]
