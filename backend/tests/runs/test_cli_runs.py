"""The `runs` and `queue` commands, with terminal and JSON output; no model runs here."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from support.queued_runs import ANY_SLOT, make_worker
from support.run_dirs import finished_run
from support.submitting import SMALL_RECIPE, build_demo
from typer.testing import CliRunner, Result

from tunix_rt.base.errors import ConflictError, InvalidInputError, NotFoundError
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.cli.main import app
from tunix_rt.engines.training.types import RunFailure, RunFigures
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import WorkerRepository

FIGURES = RunFigures(
    num_steps=2,
    num_planned_steps=2,
    num_examples=4,
    num_dropped_examples=0,
    fill_ratio=0.5,
    final_loss=1.25,
    peak_memory_bytes=2**30,
)
FAILURE = RunFailure(code="bad-data", detail="The rows are gone.", next_step="Build them again.")


@pytest.fixture(autouse=True)
def recipe(tmp_path: Path) -> str:
    """Write a small recipe and build its dataset in the home."""
    build_demo(Settings())
    path = tmp_path / "small.yaml"
    path.write_text(json.dumps(SMALL_RECIPE), encoding="utf-8")
    return str(path)


@pytest.fixture
def home_store() -> Iterator[Home]:
    """Open the home that the commands use."""
    opened = open_home(Settings())
    yield opened
    opened.close()


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def run(*arguments: str) -> str:
    """Run a command and return its terminal output."""
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def run_json(*arguments: str) -> Any:
    """Run a command and return its JSON output."""
    return json.loads(run(*arguments, "--json"))


def submit_run(recipe: str, *options: str) -> str:
    run_id: str = run_json("runs", "submit", recipe, "--device", "cpu", *options)["run_id"]
    return run_id


def test_submit_accepts_file_or_name(recipe: str) -> None:
    result = invoke("runs", "submit", recipe, "--device", "cpu", "--set", "training.num_steps=1")
    assert result.exit_code == 0, result.output
    assert "tunix-rt worker" in result.stderr
    assert "tunix-rt runs logs -f " in result.stderr
    by_name = run_json("runs", "submit", "smoke_tiny", "--dataset", "demo-v1", "--set", "eval={}", "--hold")
    assert (by_name["recipe_name"], by_name["is_held"]) == ("smoke_tiny", True)
    rows = run_json("runs", "list")
    assert [row["recipe_name"] for row in rows] == ["smoke_tiny", "small"]
    assert rows[1]["run_id"] in run("runs", "list")


def test_partial_run_ids_are_resolved(recipe: str) -> None:
    first, second = submit_run(recipe), submit_run(recipe)
    suffix = first.rpartition("-")[2]
    assert run_json("runs", "show", suffix)["run_id"] == first
    assert run_json("runs", "show", second)["run_id"] == second
    with pytest.raises(InvalidInputError, match="several runs"):
        reraise(invoke("runs", "show", "20"))
    with pytest.raises(NotFoundError, match="runs list"):
        reraise(invoke("runs", "cancel", "nothing"))


def reraise(result: Result) -> None:
    """Raise the error that the command line would print."""
    assert result.exception is not None
    raise result.exception


def test_pause_resume_reprioritize_cancel_and_remove(recipe: str) -> None:
    run_id = submit_run(recipe)
    assert run("runs", "pause", run_id).startswith("paused")
    assert run("runs", "resume", run_id).startswith("queued")
    assert run("runs", "priority", run_id, "--", "-5").startswith("queued")
    assert run_json("runs", "priority", run_id, "7")["priority"] == 7
    assert run("runs", "cancel", run_id).startswith("cancelled")
    with pytest.raises(ConflictError, match="was cancelled"):
        reraise(invoke("runs", "cancel", run_id))
    assert run_json("runs", "rm", run_id) == {"removed": [run_id]}
    assert run_json("runs", "list") == []


def test_show_compares_plan_and_measurements(recipe: str, home_store: Home) -> None:
    run_id = submit_run(recipe)
    claim = RunRepository(home_store.database).claim("worker-a", ANY_SLOT)
    assert claim is not None
    RunRepository(home_store.database).finish(claim.lease, "succeeded", "Done.", exit_code=0, figures=FIGURES)
    text = run("runs", "show", run_id)
    steps, memory = (line.split() for line in text.splitlines() if line.startswith(("steps", "memory")))
    assert steps == ["steps", "2", "2"]
    assert memory[-2:] == ["1.00", "GiB"]
    assert [event["kind"] for event in run_json("runs", "show", run_id)["events"]] == [
        "submitted",
        "claimed",
        "succeeded",
    ]


def test_wait_exits_with_run_code(recipe: str, home_store: Home) -> None:
    WorkerRepository(home_store.database).register(make_worker())

    def fail_next_run() -> None:
        while (claim := RunRepository(home_store.database).claim("worker-a", ANY_SLOT)) is None:
            time.sleep(0.02)
        RunRepository(home_store.database).finish(
            claim.lease, "failed", "Failed.", exit_code=3, failure=FAILURE
        )

    worker = Thread(target=fail_next_run)
    worker.start()
    result = invoke("runs", "submit", recipe, "--device", "cpu", "--wait")
    worker.join()
    assert result.exit_code == 3, result.output
    assert "failed: Failed." in result.stderr
    assert "The rows are gone." in run("runs", "show", RunRepository(home_store.database).find_ids("20")[0])


def test_list_includes_unmanaged_runs(home_store: Home) -> None:
    finished_run(home_store.settings.runs_dir / "by-hand")
    assert [row["run_id"] for row in run_json("runs", "list", "--status", "succeeded")] == ["by-hand"]
    assert run_json("runs", "list", "--status", "failed") == []
    with pytest.raises(InvalidInputError, match="Did you mean 'cancelled'"):
        reraise(invoke("runs", "list", "--status", "canceled"))


def test_queue_pauses_and_resumes(home_store: Home) -> None:
    assert "tunix-rt worker" in run("queue", "status")
    WorkerRepository(home_store.database).register(make_worker())
    assert run_json("queue", "pause")["is_paused"] is True
    assert "paused" in run("queue", "status")
    assert "worker-a" in run("queue", "resume")
