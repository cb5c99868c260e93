"""Whether a sweep must stop before its last trial."""

from collections.abc import Sequence
from datetime import datetime

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.core.sweeps.device_time import device_seconds
from tunix_rt.core.sweeps.sweep import Sweep, Trial
from tunix_rt.runs.store.repository import RunRepository

MAX_FAILED_IN_A_ROW = 5
"""When the first trials all fail, the next ones would fail as well."""
_MINUTE_S = 60


def stop_reason(home: Home, sweep: Sweep, trials: Sequence[Trial], now: datetime) -> str | None:
    """Why no more trials begin and those that run are stopped; None: the sweep goes on."""
    if sweep.status == "cancelling":
        return "the sweep was cancelled"
    if _only_failures(sweep, trials):
        return f"the first {MAX_FAILED_IN_A_ROW} failed"
    limit = sweep.spec.budget.device_minutes
    if limit is not None and device_minutes(home, trials, now) >= limit:
        return f"the {limit:g} device-minutes are spent"
    return None


def device_minutes(home: Home, trials: Sequence[Trial], now: datetime) -> float:
    """Minutes that the trials have had a device so far, running ones included."""
    return sum(_seconds(home, trial, now) for trial in trials) / _MINUTE_S


def _seconds(home: Home, trial: Trial, now: datetime) -> float:
    try:
        return device_seconds(RunRepository(home.database).events(trial.run_id), now)
    except NotFoundError:
        return 0.0  # Not submitted yet.


def _only_failures(sweep: Sweep, trials: Sequence[Trial]) -> bool:
    # From the last start on: who resumes a sweep has mended something.
    since = sweep.started_at or sweep.created_at
    ended = [trial for trial in trials if not trial.is_open and trial.created_at >= since]
    return len(ended) >= MAX_FAILED_IN_A_ROW and all(trial.status == "failed" for trial in ended)
