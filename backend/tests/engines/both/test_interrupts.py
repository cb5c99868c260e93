"""A signal or a time limit: the step finishes, the state is saved, and the run resumes exactly."""

import os
import shutil
import signal
import time
from collections.abc import Iterator

import pytest
from support.training import Listener, TrainingWorkspace

from tunix_rt.engines.training.records import Progress
from tunix_rt.engines.training.types import RunManifest


class SignalListener(Listener):
    """Sends a signal to this process when a line starts with `after`."""

    def __init__(self, number: signal.Signals, after: str, *, num_times: int = 1) -> None:
        super().__init__()
        self._number = number
        self._after = after
        self._num_times = num_times

    def show_line(self, text: str) -> None:
        super().show_line(text)
        if text.startswith(self._after):
            for _ in range(self._num_times):
                os.kill(os.getpid(), self._number)

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        self.show_line(str(progress))


class SlowListener(Listener):
    """Blocks at the third step, so that the time limit passes."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        super().show_progress(progress, is_due=is_due)
        if progress.step == 3:
            time.sleep(self._seconds)


@pytest.fixture(autouse=True)
def _default_sighup() -> Iterator[None]:
    """Reset SIGHUP, which is ignored if the tests run under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="module")
def uninterrupted(workspace: TrainingWorkspace) -> str:
    workspace.train("uninterrupted")
    return "uninterrupted"


def assert_stopped_and_saved(
    workspace: TrainingWorkspace, name: str, manifest: RunManifest, exit_code: int
) -> None:
    assert (manifest.status, manifest.exit_code) == ("cancelled", exit_code)
    assert manifest.figures is not None
    last_step = manifest.figures.num_steps
    assert 5 <= last_step < 12
    assert workspace.kept_steps(name)[-1] == last_step == workspace.metrics(name)[-1]["step"]
    assert not (workspace.root / name / "model").exists()


def test_interrupted_run_resumes_exactly(workspace: TrainingWorkspace, uninterrupted: str) -> None:
    manifest = workspace.train("stopped", view=SignalListener(signal.SIGINT, after="step 5/12"))
    assert_stopped_and_saved(workspace, "stopped", manifest, 130)
    assert workspace.train("stopped", resume_from="latest").status == "succeeded"
    assert workspace.weights("stopped") == workspace.weights(uninterrupted)
    assert workspace.metrics("stopped") == workspace.metrics(uninterrupted)


@pytest.mark.parametrize(("number", "num_times"), [(signal.SIGTERM, 1), (signal.SIGHUP, 2)])
def test_stop_signal_saves_checkpoint(
    workspace: TrainingWorkspace, number: signal.Signals, num_times: int
) -> None:
    """A closing terminal sends SIGHUP twice."""
    view = SignalListener(number, after="step 5/12", num_times=num_times)
    manifest = workspace.train(number.name, view=view)
    assert_stopped_and_saved(workspace, number.name, manifest, 128 + number)


def test_nohup_ignores_sighup(workspace: TrainingWorkspace) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    manifest = workspace.train("alone", view=SignalListener(signal.SIGHUP, after="step 5/12"))
    assert manifest.status == "succeeded"


def test_signal_before_first_step_ends_run(workspace: TrainingWorkspace) -> None:
    manifest = workspace.train("early", view=SignalListener(signal.SIGINT, after="model "))
    assert (manifest.status, manifest.exit_code) == ("cancelled", 130)
    assert workspace.metrics("early") == []


def test_time_limit_saves_and_resumes(workspace: TrainingWorkspace, uninterrupted: str) -> None:
    # The time limit passes before the last step, however slow the machine is.
    manifest = workspace.train("late", view=(view := SlowListener(3.0)), stop_after_s=3.0)
    assert (manifest.status, manifest.exit_code) == ("cancelled", 7)
    assert manifest.figures is not None
    last_step = manifest.figures.num_steps
    assert last_step < 12
    if last_step:
        assert workspace.kept_steps("late")[-1] == last_step == workspace.metrics("late")[-1]["step"]
        assert f"out of time: saving step {last_step}" in view.lines
    assert workspace.train("late", resume_from="latest", stop_after_s=3600.0).status == "succeeded"
    assert workspace.weights("late") == workspace.weights(uninterrupted)


def test_zero_time_limit_can_resume(workspace: TrainingWorkspace) -> None:
    manifest = workspace.train("no-time", stop_after_s=0.0)
    assert (manifest.status, manifest.exit_code) == ("cancelled", 7)
    assert workspace.metrics("no-time") == []
    assert workspace.train("no-time", resume_from="latest").status == "succeeded"


def test_finished_run_ignores_time_limit(workspace: TrainingWorkspace, uninterrupted: str) -> None:
    shutil.copytree(workspace.root / uninterrupted, workspace.root / "finished")
    assert workspace.train("finished", resume_from="latest", stop_after_s=0.0).status == "succeeded"


def test_signal_handlers_are_restored(workspace: TrainingWorkspace) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    workspace.train("handlers", "training.num_steps=1", "training.warmup_steps=0")
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
