"""Looking on while a sweep goes on, with a worker of one's own where there is none."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta

from rich.live import Live

from tunix_rt.base.home import Home
from tunix_rt.base.terminal.output import err, note
from tunix_rt.cli.tune_view import progress_table, trial_line
from tunix_rt.core.sweeps.sweep import SweepDetail
from tunix_rt.db.sweeps import SweepRepository
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.types import TERMINAL
from tunix_rt.runs.worker.companion import worker_beside

_LOOK_EVERY_S = 0.5
# A worker says every couple of seconds that it lives.
_SILENT_AFTER = timedelta(seconds=30)


def follow(home: Home, sweep_id: str) -> SweepDetail:
    """Show how a sweep goes on until it has ended. Ctrl-C ends the looking on, not the sweep."""
    note(f"sweep {sweep_id}; stop it with: tunix-rt tune cancel {sweep_id}")
    with _some_worker(home), _view(home, sweep_id) as view:
        while True:
            sweep = SweepRepository(home.database).get(sweep_id)
            view.show(sweep)
            if sweep.status in TERMINAL:
                return sweep
            time.sleep(_LOOK_EVERY_S)


@contextmanager
def _some_worker(home: Home) -> Iterator[None]:
    needs_one = not has_worker(home)
    if needs_one:
        note("no worker is there: this command brings its own, until it ends")
    # Only its warnings: what it does is to be seen in the trials.
    settings = home.settings.model_copy(update={"log_level": "warning"})
    with worker_beside(settings) if needs_one else nullcontext():
        yield


def has_worker(home: Home) -> bool:
    """Whether somebody is there who takes runs and looks after sweeps."""
    since = datetime.now(UTC) - _SILENT_AFTER
    return any(
        worker.status == "active" and worker.last_seen_at > since
        for worker in WorkerRepository(home.database).list()
    )


class _Lines:
    """For a file or a pipe: a line for each trial that ends."""

    def __init__(self) -> None:
        self._said: set[int] = set()

    def show(self, sweep: SweepDetail) -> None:
        """Say what is new."""
        for trial in sweep.trials:
            if not trial.is_open and trial.number not in self._said:
                self._said.add(trial.number)
                note(trial_line(sweep, trial))


class _Table:
    """For a terminal: a table that is drawn again and again."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def show(self, sweep: SweepDetail) -> None:
        """Draw it as it stands."""
        self._live.update(progress_table(sweep), refresh=True)


@contextmanager
def _view(home: Home, sweep_id: str) -> Iterator[_Lines | _Table]:
    if not err.is_terminal:
        yield _Lines()
        return
    first = progress_table(SweepRepository(home.database).get(sweep_id))
    with Live(first, console=err, auto_refresh=False, transient=True) as live:
        yield _Table(live)
