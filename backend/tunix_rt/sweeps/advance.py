"""Advance a sweep by one step; called by workers.

read    the runs of the trials: which have ended, what they have logged
decide  tell the sampler, stop unpromising trials, suggest new ones: one transaction with the journal
apply   submit missing runs, cancel those of stopped trials

If a worker dies between deciding and applying, the next one repeats the step: the run of a trial has a fixed
id, so it is never submitted twice. Of two concurrent decisions only one can be stored.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from statistics import fmean
from typing import TYPE_CHECKING, Any

from tunix_rt.base.errors import ConflictError, NotFoundError, StorageError, TunixRTError
from tunix_rt.base.files.jsonl import read_json_lines
from tunix_rt.base.home import Home
from tunix_rt.base.records import flat
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunFailure, RunStatus
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.submit import submit
from tunix_rt.runs.types import TERMINAL, Run, RunFilter, RunRequest
from tunix_rt.runs.unmanaged import refreshed_runs
from tunix_rt.sweeps.create import as_override, has_optuna
from tunix_rt.sweeps.store import Decision, SweepRepository
from tunix_rt.sweeps.types import Metric, Sweep, Trial, TrialStatus, best_trial, device_seconds, trial_run_id

if TYPE_CHECKING:
    from tunix_rt.sweeps.study import SweepStudy

_STEP_PERCENT = 5


def final_value(home: Home, sweep: Sweep, trial: Trial, run: Run) -> float | None:
    """The metric of a successful run; None if it has none."""
    if sweep.spec.metric == "score":
        evaluation = EvaluationRepository(home.database).newest_of_run(
            run.run_id, evalset=sweep.spec.eval_set
        )
        return None if evaluation is None else evaluation.scores.primary_score
    if run.figures is None:
        return None
    if sweep.spec.metric == "loss":
        return run.figures.final_loss
    # The loss of the exported weights.
    is_best = value_of(sweep, trial, "output.model") == "best"
    return run.figures.best_validation_loss if is_best else run.figures.validation_loss


def points_so_far(home: Home, sweep: Sweep, trial: Trial) -> list[tuple[int, float]]:
    """The progress of a trial: percent of its training, and the metric there."""
    lines = read_json_lines(RunDir(home.settings.runs_dir / trial.run_id).metrics)
    num_steps = value_of(sweep, trial, "training.num_steps")
    num_epochs = value_of(sweep, trial, "training.num_epochs")
    name, total = ("epoch", num_epochs) if num_steps is None else ("step", num_steps)
    assert isinstance(total, int | float)  # the recipe has one of the two
    return list(progress_points(lines, sweep.spec.metric, of=name, total=total))


def progress_points(
    lines: Iterable[Mapping[str, Any]], metric: Metric, *, of: str, total: float
) -> Iterator[tuple[int, float]]:
    """The mean of the metric over each twentieth of the training.

    Trials of different lengths are comparable at the same percent, and the noise of one step is averaged out.

    Example:
        10 steps with the losses 9, 8, 7, … -> (10, 9), (20, 8), (30, 7), …
    """
    reached, values = 0, []
    for line in lines:
        if metric not in line:
            continue
        values.append(line[metric])
        percent = min(int(100 * line[of] / total) // _STEP_PERCENT * _STEP_PERCENT, 100)
        if percent > reached:
            yield percent, fmean(values)
            reached, values = percent, []


def value_of(sweep: Sweep, trial: Trial, key: str) -> object:
    """The value of a dotted key in the recipe of a trial; None if it is not set."""
    return (flat(sweep.recipe) | trial.params).get(key)


class TrialScheduler:
    """Decides about the trials of one sweep."""

    def __init__(self, home: Home, sweep_id: str, now: datetime) -> None:
        self._home = home
        self._sweeps = SweepRepository(home.database)
        self._now = now
        # Read before the rows: if the journal grows in between, the decision is refused.
        self._num_known = self._sweeps.journal_length(sweep_id)
        self.sweep = self._sweeps.get(sweep_id)
        self._trials = {trial.number: trial for trial in self.sweep.trials}
        self._changed: set[int] = set()
        self._opened: SweepStudy | None = None

    @property
    def _study(self) -> "SweepStudy":
        if self._opened is None:
            # Imported here: most of the time there is nothing to ask the sampler.
            from tunix_rt.sweeps.study import SweepStudy

            records = self._sweeps.journal(self.sweep.sweep_id)[: self._num_known]
            self._opened = SweepStudy(self.sweep.sweep_id, self.sweep.spec, records)
        return self._opened

    @property
    def trials(self) -> list[Trial]:
        """The trials after the decisions so far."""
        return list(self._trials.values())

    @property
    def best(self) -> Trial | None:
        """The best trial so far."""
        return best_trial(self.trials, self.sweep.spec.goal)

    def open_trials(self) -> list[Trial]:
        """The trials that are queued or running."""
        return [trial for trial in self.trials if trial.is_open]

    def num_remaining(self) -> int:
        """How many more trials the budget allows, not counting time."""
        max_trials = self.sweep.spec.max_trials
        left = self.sweep.spec.max_concurrent if max_trials is None else max_trials - len(self._trials)
        return max(left, 0)

    def suggest_trials(self) -> None:
        """Ask the sampler for trials, up to `max_concurrent`."""
        num_free = self.sweep.spec.max_concurrent - len(self.open_trials())
        for _ in range(min(num_free, self.num_remaining())):
            suggestion = self._study.ask()
            self._put(
                Trial(
                    number=suggestion.number,
                    run_id=trial_run_id(self.sweep.sweep_id, suggestion.number),
                    params=suggestion.params,
                    status="queued",
                    created_at=self._now,
                )
            )

    def update_trial(self, trial: Trial, run: Run) -> None:
        """Update a trial from its run."""
        if run.status == "succeeded":
            value = final_value(self._home, self.sweep, trial, run)
            if value is None:
                self.fail(trial, f"Its run succeeded, but has no {self.sweep.spec.metric}.")
            else:
                self._study.succeed(trial.number, value)
                self._end(trial, "succeeded", value=value)
        elif run.status == "failed":
            if run.failure is None:
                self.fail(trial, "Its run failed.")
            else:
                self.fail(trial, run.failure.detail, code=run.failure.code)
        elif run.status == "cancelled":
            self.stop(trial, "Its run was cancelled.")
        elif run.status == "running":
            self._follow(trial)

    def stop(self, trial: Trial, why: str) -> None:
        """Mark a trial as cancelled. The sampler still expects its result, so that it can be resumed."""
        self._end(trial, "cancelled", error=why)

    def fail(self, trial: Trial, error: str, *, code: str = "") -> None:
        """Mark a trial as failed."""
        if code in ("does-not-fit", "diverged"):
            self._study.prune(trial.number)  # because of its values: the sampler should avoid them
        else:
            self._study.fail(trial.number)
        self._end(trial, "failed", error=error)

    def commit(self) -> bool:
        """Store the decisions since the last call; False if another worker has stored one meanwhile."""
        records = [] if self._opened is None else self._opened.journal.pop_new()
        if not (records or self._changed):
            return True
        decision = Decision(
            num_known=self._num_known,
            records=records,
            trials=[self._trials[number] for number in sorted(self._changed)],
            best_run_id=None if self.best is None else self.best.run_id,
        )
        self._num_known += len(records)
        self._changed.clear()
        return self._sweeps.commit(self.sweep.sweep_id, decision)

    def _follow(self, trial: Trial) -> None:
        if trial.status == "queued":
            self._put(trial.model_copy(update={"status": "running"}))
        if self.sweep.spec.pruner == "none":
            return
        points = points_so_far(self._home, self.sweep, trial)
        stop_at = self._study.report(trial.number, points)
        if stop_at is not None:
            self._study.prune(trial.number)
            why = f"Stopped at {stop_at} % of its training."
            self._end(trial, "pruned", value=dict(points)[stop_at], error=why)

    def _end(
        self, trial: Trial, status: TrialStatus, *, value: float | None = None, error: str | None = None
    ) -> None:
        end = {"status": status, "value": value, "error": error, "finished_at": self._now}
        self._put(trial.model_copy(update=end))

    def _put(self, trial: Trial) -> None:
        self._trials[trial.number] = trial
        self._changed.add(trial.number)


MAX_FAILED_IN_A_ROW = 5
"""If the first trials all fail, the next ones would fail as well."""


def stop_reason(home: Home, sweep: Sweep, trials: Sequence[Trial], now: datetime) -> str | None:
    """Why the sweep stops its trials and starts no more; None if it continues."""
    if sweep.status == "cancelling":
        return "the sweep was cancelled"
    # Since the last start: whoever resumes a sweep has fixed something.
    since = sweep.started_at or sweep.created_at
    ended = [trial.status for trial in trials if not trial.is_open and trial.created_at >= since]
    if len(ended) >= MAX_FAILED_IN_A_ROW and set(ended) == {"failed"}:
        return f"the first {MAX_FAILED_IN_A_ROW} failed"
    limit = sweep.spec.budget.device_minutes
    if limit is not None and device_minutes(home, trials, now) >= limit:
        return f"the {limit:g} device-minutes are spent"
    return None


def device_minutes(home: Home, trials: Sequence[Trial], now: datetime) -> float:
    """Minutes on devices so far, including running trials."""
    total_s = 0.0
    for trial in trials:
        with suppress(NotFoundError):  # not submitted yet
            total_s += device_seconds(RunRepository(home.database).events(trial.run_id), now)
    return total_s / 60


_PAGE = 500


def runs_of(home: Home, sweep: Sweep) -> dict[str, Run]:
    """Every run of a sweep, by its id."""
    runs: dict[str, Run] = {}
    criteria = RunFilter(sweep_id=sweep.sweep_id)
    while True:
        page = RunRepository(home.database).list(criteria, limit=_PAGE, offset=len(runs))
        runs |= {run.run_id: run for run in page.data}
        if len(page.data) < _PAGE:
            return runs


logger = logging.getLogger(__name__)


def advance_all(home: Home, worker_id: str) -> None:
    """Advance every sweep that this worker owns; an error in one does not hold up the others."""
    for sweep_id in SweepRepository(home.database).active():
        if has_optuna() and SweepRepository(home.database).take(sweep_id, worker_id):
            try:
                advance(home, sweep_id)
            except TunixRTError as error:
                logger.warning("The sweep %s waits: %s", sweep_id, error)


def advance(home: Home, sweep_id: str, *, now: datetime | None = None) -> bool:
    """Advance a sweep by one step; False if it is over.

    Raises:
        NotFoundError: There is no such sweep.
        StorageError: The database failed; calling again is safe.
    """
    now = now or datetime.now(UTC)
    scheduler = TrialScheduler(home, sweep_id, now)
    sweep = scheduler.sweep
    if sweep.status not in ("running", "cancelling"):
        return False
    runs = runs_of(home, sweep)
    for trial in scheduler.open_trials():
        if trial.run_id in runs:
            scheduler.update_trial(trial, runs[trial.run_id])
    reason = stop_reason(home, sweep, scheduler.trials, now)
    if reason is None:
        scheduler.suggest_trials()
    # Each commit is refused if another worker has decided on newer data.
    if not (scheduler.commit() and _apply(home, scheduler, runs, is_stopping=reason is not None)):
        return True
    pruned = [trial.run_id for trial in scheduler.trials if trial.status == "pruned"]
    if any(run_id in runs and runs[run_id].status not in TERMINAL for run_id in pruned):
        return True
    if scheduler.open_trials() or (reason is None and scheduler.num_remaining()):
        return True
    _finish(home, scheduler, reason, now)
    return False


def _apply(home: Home, scheduler: TrialScheduler, runs: Mapping[str, Run], *, is_stopping: bool) -> bool:
    """Submit and cancel runs as decided; False if another worker has decided meanwhile."""
    for trial in scheduler.trials:
        is_unwanted = trial.status == "pruned" or (is_stopping and trial.is_open)
        if is_unwanted and trial.run_id in runs and runs[trial.run_id].status in ("queued", "running"):
            with suppress(ConflictError):  # it has ended; the next step sees how
                refreshed_runs(home).cancel(trial.run_id)
    for trial in scheduler.open_trials():
        if trial.run_id not in runs:
            if is_stopping:
                scheduler.stop(trial, "It never started.")
            else:
                _submit(home, scheduler, trial)
    return scheduler.commit()


def _submit(home: Home, scheduler: TrialScheduler, trial: Trial) -> None:
    """Submit the run of a trial, unless another worker has; the trial fails if the queue refuses it."""
    sweep, spec = scheduler.sweep, scheduler.sweep.spec
    request = RunRequest(
        recipe=sweep.recipe,
        overrides=tuple(as_override(key, value) for key, value in trial.params.items()),
        name=spec.name,
        engine=spec.engine,
        device=spec.device,
        priority=spec.priority,
        eval_set=spec.eval_set,
        executor=spec.executor,
    )
    try:
        # Model paths were checked when the sweep was created.
        submit(home, request, sweep_id=sweep.sweep_id, run_id=trial.run_id, allows_paths=True, is_stored=True)
    except StorageError:
        raise
    except TunixRTError as error:
        if isinstance(error, ConflictError):
            with suppress(NotFoundError):
                RunRepository(home.database).status_of(trial.run_id)
                return  # another worker has submitted it
        scheduler.fail(trial, str(error), code=error.code)


def _finish(home: Home, scheduler: TrialScheduler, reason: str | None, now: datetime) -> None:
    """End a sweep without open or further trials."""
    sweep = scheduler.sweep
    status: RunStatus = "succeeded"
    failure: RunFailure | None = None
    if sweep.status == "cancelling":
        status = "cancelled"
    elif scheduler.best is None:
        errors = [trial.error for trial in scheduler.trials if trial.status == "failed" and trial.error]
        last = f" The last one: {errors[-1]}" if errors else ""
        why = reason or "the budget is spent"
        status = "failed"
        failure = RunFailure(
            code="no-trial-succeeded",
            detail=f"None of the {len(scheduler.trials)} trials succeeded; {why}.{last}",
            next_step=f"Show its trials: tunix-rt tune show {sweep.sweep_id}",
        )
    try:
        SweepRepository(home.database).move(sweep.sweep_id, status, now, failure)
    except ConflictError:
        logger.info("The sweep %s was ended by another worker.", sweep.sweep_id)
