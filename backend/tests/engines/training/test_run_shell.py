"""The shell around every engine: what a run leaves however it ends. The engine is a hand-written one."""

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


class Silence:
    def show_line(self, text: str) -> None:
        """Nobody looks."""

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        """Nobody looks."""


@dataclass(frozen=True)
class FakeEngine:
    """Does what the test wants in place of a training."""

    act: Callable[[RunRecords], TrainingResult]
    name: str = "fake"

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        return self.act(records)


def make_job(directory: Path, **changes: object) -> TrainingJob:
    data = TrainingData("demo-v1", "abc", train=Rows("train", lambda: iter(())), validation=None)
    job = {"resolved": ResolvedRecipe(recipe=make_recipe()), "data": data, "run_dir": RunDir(directory)}
    return TrainingJob(**(job | changes))  # type: ignore[arg-type]


def begun(records: RunRecords) -> TrainingResult:
    records.log("before it began")
    records.begin(step=0)
    records.event("started", "begun")
    return TrainingResult(FIGURES)


def test_the_log_begins_with_the_engine_and_why_it_runs(tmp_path: Path) -> None:
    job = make_job(tmp_path / "run", engine_choice="engine jax: the only installed engine")
    run(FakeEngine(begun), job, Silence())
    first_line, *_ = job.run_dir.log.read_text().splitlines()
    assert first_line == "engine jax: the only installed engine"


def test_a_run_that_succeeds_says_so_last(tmp_path: Path) -> None:
    manifest = run(FakeEngine(begun), make_job(tmp_path / "run"), Silence())
    assert (manifest.status, manifest.exit_code, manifest.engine) == ("succeeded", 0, "fake")
    written = json.loads((tmp_path / "run" / "run_manifest.json").read_bytes())
    assert written == manifest.to_json()
    assert (tmp_path / "run" / "log.txt").read_text() == "before it began\nbegun\nsucceeded\n"


def test_a_run_that_fails_after_it_began_has_a_manifest_with_the_error(tmp_path: Path) -> None:
    def diverge(records: RunRecords) -> TrainingResult:
        begun(records)
        raise DivergedError("not finite", next_step="try less")

    with pytest.raises(DivergedError):
        run(FakeEngine(diverge), make_job(tmp_path / "run"), Silence())
    manifest = json.loads((tmp_path / "run" / "run_manifest.json").read_bytes())
    assert (manifest["status"], manifest["exit_code"]) == ("failed", 6)
    assert manifest["failure"] == {"code": "diverged", "detail": "not finite", "next_step": "try less"}


def test_a_bug_keeps_its_traceback_in_the_log(tmp_path: Path) -> None:
    def crash(records: RunRecords) -> TrainingResult:
        begun(records)
        raise KeyError("oops")

    with pytest.raises(KeyError):
        run(FakeEngine(crash), make_job(tmp_path / "run"), Silence())
    manifest = json.loads((tmp_path / "run" / "run_manifest.json").read_bytes())
    assert (manifest["exit_code"], manifest["failure"]["code"]) == (1, "bug")
    assert "KeyError: 'oops'" in (tmp_path / "run" / "log.txt").read_text()


def test_what_is_refused_before_it_began_leaves_nothing(tmp_path: Path) -> None:
    def refuse(records: RunRecords) -> TrainingResult:
        raise DataError("no rows", next_step="add some")

    with pytest.raises(DataError):
        run(FakeEngine(refuse), make_job(tmp_path / "run"), Silence())
    assert not (tmp_path / "run").exists()


def test_a_resume_that_is_refused_leaves_the_old_run_as_it_is(tmp_path: Path) -> None:
    run(FakeEngine(begun), make_job(tmp_path / "run"), Silence())
    before = (tmp_path / "run" / "run_manifest.json").read_bytes()

    def refuse(records: RunRecords) -> TrainingResult:
        raise ConflictError("another training", next_step="use its recipe")

    with pytest.raises(ConflictError):
        run(FakeEngine(refuse), make_job(tmp_path / "run", resume_from="latest"), Silence())
    assert (tmp_path / "run" / "run_manifest.json").read_bytes() == before


def test_events_are_numbered_over_every_resume(tmp_path: Path) -> None:
    for resume_from in (None, "latest"):
        run(FakeEngine(begun), make_job(tmp_path / "run", resume_from=resume_from), Silence())
    events = read_json_lines(tmp_path / "run" / "events.jsonl")
    assert [event["sequence"] for event in events] == [0, 1, 2, 3]


@pytest.mark.parametrize("is_begun", [True, False])
def test_an_interrupted_run_is_cancelled(tmp_path: Path, is_begun: bool) -> None:
    def interrupt(records: RunRecords) -> TrainingResult:
        if is_begun:
            begun(records)
        raise Interrupted(signal.SIGTERM)

    manifest = run(FakeEngine(interrupt), make_job(tmp_path / "run"), Silence())
    assert (manifest.status, manifest.exit_code) == ("cancelled", 143)
    assert (tmp_path / "run").exists() == is_begun


@pytest.mark.parametrize(("seconds", "text"), [(4.2, "4s"), (65, "1m 05s"), (3725, "1h 02m")])
def test_durations_are_words(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
