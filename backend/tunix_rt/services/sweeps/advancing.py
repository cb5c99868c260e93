"""What a sweep does next. A worker asks every couple of seconds; nothing is remembered between two answers.

    look    at the trials' runs: what ended, what was reported
    decide  tell the sampler, stop hopeless trials, ask for new ones: one transaction, its journal included
    act     submit the runs that are missing, cancel those that are not wanted any more

Whoever dies between deciding and acting is followed by somebody who looks again: a trial's run has a fixed
id, so it is never submitted twice. Two who decide at the same time cannot both store it.
"""

import logging
from datetime import UTC, datetime

from tunix_rt.base.errors import ConflictError, StorageError, TunixRTError
from tunix_rt.base.home import Home
from tunix_rt.core.sweeps.sweep import Trial
from tunix_rt.db.sweeps import SweepRepository
from tunix_rt.engines.training.types import RunFailure
from tunix_rt.runs.types import TERMINAL, Run
from tunix_rt.services.sweeps.deciding import Decider
from tunix_rt.services.sweeps.extra import has_optuna
from tunix_rt.services.sweeps.stopping import stop_reason
from tunix_rt.services.sweeps.trial_runs import Runs, cancel_if_live, runs_of, submit_trial

logger = logging.getLogger(__name__)


def advance_all(home: Home, worker_id: str) -> None:
    """Advance every sweep that this worker looks after; one that cannot go on does not hold up the others."""
    for sweep_id in SweepRepository(home.database).active():
        if has_optuna() and SweepRepository(home.database).take(sweep_id, worker_id):
            try:
                advance(home, sweep_id)
            except TunixRTError as error:
                logger.warning("The sweep %s waits: %s", sweep_id, error)


def advance(home: Home, sweep_id: str, *, now: datetime | None = None) -> bool:
    """Take a sweep one step further; False when it is over.

    Raises:
        NotFoundError: There is no such sweep.
        StorageError: The database did not do its part; asking again is safe.
    """
    now = now or datetime.now(UTC)
    decider = Decider(home, sweep_id, now)
    sweep = decider.sweep
    if sweep.status not in ("running", "cancelling"):
        return False
    runs = runs_of(home, sweep)
    for trial in decider.open_trials():
        decider.look_at(trial, runs.get(trial.run_id))
    reason = stop_reason(home, sweep, decider.trials, now)
    if reason is None:
        decider.ask_for_more()
    if not decider.store_decision():
        return True  # Somebody else was quicker, and knows more.
    if not _act(home, decider, runs, is_stopping=reason is not None):
        return True
    if any(run.status not in TERMINAL for run in _unwanted(decider, runs)):
        return True
    return not _finish(home, decider, reason, now)


def _unwanted(decider: Decider, runs: Runs, *, is_stopping: bool = False) -> list[Run]:
    """The runs of trials from which nothing more is expected."""
    unwanted = [trial for trial in decider.trials if trial.status == "pruned"]
    stopped = decider.open_trials() if is_stopping else []
    return [runs[trial.run_id] for trial in (*unwanted, *stopped) if trial.run_id in runs]


def _act(home: Home, decider: Decider, runs: Runs, *, is_stopping: bool) -> bool:
    """Make the runs what was decided; False when somebody else decides meanwhile."""
    for run in _unwanted(decider, runs, is_stopping=is_stopping):
        cancel_if_live(home, run)
    for trial in decider.open_trials():
        if trial.run_id in runs:
            continue
        if is_stopping:
            decider.stop(trial, "It never began.")
        else:
            _submit(home, decider, trial)
    return decider.store_decision()


def _submit(home: Home, decider: Decider, trial: Trial) -> None:
    try:
        submit_trial(home, decider.sweep, trial)
    except StorageError:
        raise
    except TunixRTError as error:
        decider.refuse(trial, error)


def _finish(home: Home, decider: Decider, reason: str | None, now: datetime) -> bool:
    """End a sweep of which nothing more will come."""
    if decider.open_trials() or (reason is None and decider.num_wanted()):
        return False
    sweep_id = decider.sweep.sweep_id
    try:
        if decider.sweep.status == "cancelling":
            SweepRepository(home.database).move(sweep_id, "cancelled", now)
        elif decider.best is None:
            SweepRepository(home.database).move(sweep_id, "failed", now, _failure(decider, reason))
        else:
            SweepRepository(home.database).move(sweep_id, "succeeded", now)
    except ConflictError:
        logger.info("The sweep %s was ended by somebody else.", sweep_id)
    return True


def _failure(decider: Decider, reason: str | None) -> RunFailure:
    errors = [trial.error for trial in decider.trials if trial.status == "failed" and trial.error]
    last = f" The last one: {errors[-1]}" if errors else ""
    why = reason or "the budget is spent"
    return RunFailure(
        code="no-trial-succeeded",
        detail=f"None of the {len(decider.trials)} trials succeeded; {why}.{last}",
        next_step=f"Look at its trials: tunix-rt tune show {decider.sweep.sweep_id}",
    )
