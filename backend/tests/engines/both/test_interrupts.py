"""A signal or a time limit: the step finishes, the state is saved, and the run resumes exactly."""

import os
import shutil
import signal
import time
from collections.abc import Iterator

import pytest
from support.training import Listener, Workshop

from tunix_rt.engines.training.records import Progress
from tunix_rt.engines.training.types import RunManifest


class Interrupting(Listener):
    """Sends a signal to this process when it sees a line."""

    def __init__(self, number: signal.Signals, after: str) -> None:
        super().__init__()
        self._number = number
        self._after = after

    def show_line(self, text: str) -> None:
        super().show_line(text)
        if text.startswith(self._after):
            os.kill(os.getpid(), self._number)

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        self.show_line(str(progress))


class Dawdling(Listener):
    """Looks at the third step until the time is up."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        super().show_progress(progress, is_due=is_due)
        if progress.step == 3:
            time.sleep(self._seconds)


@pytest.fixture(autouse=True)
def _may_lose_its_terminal() -> Iterator[None]:
    """Also where the tests themselves run under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="module")
def unbroken(workshop: Workshop) -> str:
    workshop.train("unbroken")
    return "unbroken"


def assert_stopped_and_saved(workshop: Workshop, name: str, manifest: RunManifest, exit_code: int) -> None:
    assert (manifest.status, manifest.exit_code) == ("cancelled", exit_code)
    assert manifest.figures is not None
    last_step = manifest.figures.num_steps
    assert 5 <= last_step < 12
    assert workshop.kept_steps(name)[-1] == last_step == workshop.metrics(name)[-1]["step"]
    assert not (workshop.root / name / "model").exists()


def test_a_signal_finishes_the_step_saves_and_can_be_resumed(workshop: Workshop, unbroken: str) -> None:
    manifest = workshop.train("stopped", view=Interrupting(signal.SIGINT, after="step 5/12"))
    assert_stopped_and_saved(workshop, "stopped", manifest, 130)
    assert workshop.train("stopped", resume_from="latest").status == "succeeded"
    assert workshop.weights("stopped") == workshop.weights(unbroken)
    assert workshop.metrics("stopped") == workshop.metrics(unbroken)


def test_sigterm_stops_a_run_as_ctrl_c_does(workshop: Workshop) -> None:
    manifest = workshop.train("terminated", view=Interrupting(signal.SIGTERM, after="step 5/12"))
    assert_stopped_and_saved(workshop, "terminated", manifest, 143)


def test_under_nohup_a_closed_terminal_is_no_reason_to_stop(workshop: Workshop) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    manifest = workshop.train("alone", view=Interrupting(signal.SIGHUP, after="step 5/12"))
    assert manifest.status == "succeeded"


def test_a_terminal_that_closes_says_so_twice(workshop: Workshop) -> None:
    class Twice(Interrupting):
        def show_line(self, text: str) -> None:
            super().show_line(text)
            super().show_line(text)

    manifest = workshop.train("twice", view=Twice(signal.SIGHUP, after="step 5/12"))
    assert_stopped_and_saved(workshop, "twice", manifest, 129)


def test_signal_before_first_step_ends_run(workshop: Workshop) -> None:
    manifest = workshop.train("early", view=Interrupting(signal.SIGINT, after="model "))
    assert (manifest.status, manifest.exit_code) == ("cancelled", 130)
    assert workshop.metrics("early") == []


def test_time_limit_saves_and_resumes(workshop: Workshop, unbroken: str) -> None:
    # However slow the machine is: the time is up before the last step.
    manifest = workshop.train("late", view=(view := Dawdling(3.0)), stop_after_s=3.0)
    assert (manifest.status, manifest.exit_code) == ("cancelled", 7)
    assert manifest.figures is not None
    last_step = manifest.figures.num_steps
    assert last_step < 12
    if last_step:
        assert workshop.kept_steps("late")[-1] == last_step == workshop.metrics("late")[-1]["step"]
        assert f"out of time: saving step {last_step}" in view.lines
    assert workshop.train("late", resume_from="latest", stop_after_s=3600.0).status == "succeeded"
    assert workshop.weights("late") == workshop.weights(unbroken)


def test_a_run_without_any_time_can_be_resumed_from_the_start(workshop: Workshop) -> None:
    manifest = workshop.train("no-time", stop_after_s=0.0)
    assert (manifest.status, manifest.exit_code) == ("cancelled", 7)
    assert workshop.metrics("no-time") == []
    assert workshop.train("no-time", resume_from="latest").status == "succeeded"


def test_a_finished_run_is_exported_however_late_it_is(workshop: Workshop, unbroken: str) -> None:
    shutil.copytree(workshop.root / unbroken, workshop.root / "finished")
    assert workshop.train("finished", resume_from="latest", stop_after_s=0.0).status == "succeeded"


def test_the_handlers_of_before_are_back_after_a_run(workshop: Workshop) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    workshop.train("handlers", "training.num_steps=1", "training.warmup_steps=0")
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
