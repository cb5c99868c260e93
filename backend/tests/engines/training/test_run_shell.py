"""The run shell around a fake engine: log, manifest and events for every way that a run can end."""

import json
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.recipes import make_recipe

from tunix_rt.base.errors import ConflictError, DataError, DivergedError
from tunix_rt.base.files.jsonl import read_json_lines
from tunix_rt.base.signals import Interrupted
from tunix_rt.engines.training.job import Rows, TrainingData, TrainingJob, TrainingResult
from tunix_rt.engines.training.records import Progress, RunRecords, duration_text
from tunix_rt.engines.training.run import run
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunFigures
from tunix_rt.recipes.load import ResolvedRecipe

FIGURES = RunFigures(
    num_steps=3, num_planned_steps=3, num_examples=1, num_dropped_examples=0, fill_ratio=1.0, final_loss=0.5
)


class NullView:
    """Shows nothing."""

    def show_line(self, text: str) -> None:
        """Discard the line."""

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        """Discard the progress."""


@dataclass(frozen=True)
class FakeEngine:
    """Calls a function of the test instead of training."""

    act: Callable[[RunRecords], TrainingResult]
    name: str = "fake"

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        return self.act(records)


def make_job(directory: Path, **changes: object) -> TrainingJob:
    data = TrainingData("demo-v1", "abc", train=Rows("train", lambda: iter(())), validation=None)
    job = {"resolved": ResolvedRecipe(recipe=make_recipe()), "data": data, "run_dir": RunDir(directory)}
    return TrainingJob(**(job | changes))  # type: ignore[arg-type]


def start_run(records: RunRecords) -> TrainingResult:
    records.log("before the start")
    records.begin(step=0)
    records.event("started", "started")
    return TrainingResult(FIGURES)


def test_log_starts_with_engine_choice(tmp_path: Path) -> None:
    job = make_job(tmp_path / "run", engine_choice="engine jax: the only installed engine")
    run(FakeEngine(start_run), job, NullView())
    first_line, *_ = job.run_dir.log.read_text().splitlines()
    assert first_line == "engine jax: the only installed engine"


def test_success_is_logged_and_saved(tmp_path: Path) -> None:
    manifest = run(FakeEngine(start_run), make_job(tmp_path / "run"), NullView())
    assert (manifest.status, manifest.exit_code, manifest.engine) == ("succeeded", 0, "fake")
    saved = json.loads((tmp_path / "run" / "run_manifest.json").read_bytes())
    assert saved == manifest.to_json()
    assert (tmp_path / "run" / "log.txt").read_text() == "before the start\nstarted\nsucceeded\n"


def test_failure_is_recorded_in_manifest(tmp_path: Path) -> None:
    def diverge(records: RunRecords) -> TrainingResult:
        start_run(records)
        raise DivergedError("not finite", next_step="try less")

    with pytest.raises(DivergedError):
        run(FakeEngine(diverge), make_job(tmp_path / "run"), NullView())
    manifest = json.loads((tmp_path / "run" / "run_manifest.json").read_bytes())
    assert (manifest["status"], manifest["exit_code"]) == ("failed", 6)
    assert manifest["failure"] == {"code": "diverged", "detail": "not finite", "next_step": "try less"}


def test_bug_traceback_is_logged(tmp_path: Path) -> None:
    def crash(records: RunRecords) -> TrainingResult:
        start_run(records)
        raise KeyError("oops")

    with pytest.raises(KeyError):
        run(FakeEngine(crash), make_job(tmp_path / "run"), NullView())
    manifest = json.loads((tmp_path / "run" / "run_manifest.json").read_bytes())
    assert (manifest["exit_code"], manifest["failure"]["code"]) == (1, "bug")
    assert "KeyError: 'oops'" in (tmp_path / "run" / "log.txt").read_text()


def test_rejected_run_leaves_no_directory(tmp_path: Path) -> None:
    def refuse(records: RunRecords) -> TrainingResult:
        raise DataError("no rows", next_step="add some")

    with pytest.raises(DataError):
        run(FakeEngine(refuse), make_job(tmp_path / "run"), NullView())
    assert not (tmp_path / "run").exists()


def test_rejected_resume_keeps_old_manifest(tmp_path: Path) -> None:
    run(FakeEngine(start_run), make_job(tmp_path / "run"), NullView())
    before = (tmp_path / "run" / "run_manifest.json").read_bytes()

    def refuse(records: RunRecords) -> TrainingResult:
        raise ConflictError("another training", next_step="use its recipe")

    with pytest.raises(ConflictError):
        run(FakeEngine(refuse), make_job(tmp_path / "run", resume_from="latest"), NullView())
    assert (tmp_path / "run" / "run_manifest.json").read_bytes() == before


def test_event_numbers_continue_after_resume(tmp_path: Path) -> None:
    for resume_from in (None, "latest"):
        run(FakeEngine(start_run), make_job(tmp_path / "run", resume_from=resume_from), NullView())
    events = read_json_lines(tmp_path / "run" / "events.jsonl")
    assert [event["sequence"] for event in events] == [0, 1, 2, 3]


@pytest.mark.parametrize("has_started", [True, False])
def test_interrupted_run_is_cancelled(tmp_path: Path, has_started: bool) -> None:
    """A run that is interrupted before it starts leaves no directory."""

    def interrupt(records: RunRecords) -> TrainingResult:
        if has_started:
            start_run(records)
        raise Interrupted(signal.SIGTERM)

    manifest = run(FakeEngine(interrupt), make_job(tmp_path / "run"), NullView())
    assert (manifest.status, manifest.exit_code) == ("cancelled", 143)
    assert (tmp_path / "run").exists() == has_started


@pytest.mark.parametrize(("seconds", "text"), [(4.2, "4s"), (65, "1m 05s"), (3725, "1h 02m")])
def test_durations_are_formatted(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
