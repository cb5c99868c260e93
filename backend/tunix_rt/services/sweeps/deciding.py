"""One decision about a sweep: made from what was read, then stored whole or not at all."""

from datetime import datetime
from typing import TYPE_CHECKING

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.home import Home
from tunix_rt.core.sweeps.sweep import Trial, TrialStatus, best_trial, trial_run_id
from tunix_rt.db.sweeps import Decision, SweepRepository
from tunix_rt.runs.types import Run
from tunix_rt.services.sweeps.measuring import final_value, points_so_far

if TYPE_CHECKING:
    from tunix_rt.services.sweeps.study import SweepStudy

_FAULTS_OF_THE_VALUES = ("does-not-fit", "diverged")
"""Failures that say something about what was tried: the sampler should stay away from there."""


class Decider:
    """What becomes of the trials of one sweep."""

    def __init__(self, home: Home, sweep_id: str, now: datetime) -> None:
        self._home = home
        self._now = now
        # Before the rows: if the journal grows in between, the decision is refused.
        self._num_known = SweepRepository(home.database).journal_length(sweep_id)
        self.sweep = SweepRepository(home.database).get(sweep_id)
        self._trials = {trial.number: trial for trial in self.sweep.trials}
        self._changed: set[int] = set()
        self._opened: SweepStudy | None = None

    @property
    def _study(self) -> "SweepStudy":
        if self._opened is None:
            # Here, because most of the time there is nothing to ask the sampler.
            from tunix_rt.services.sweeps.study import SweepStudy

            records = SweepRepository(self._home.database).journal(self.sweep.sweep_id)[: self._num_known]
            self._opened = SweepStudy(self.sweep.sweep_id, self.sweep.spec, records)
        return self._opened

    @property
    def trials(self) -> list[Trial]:
        """The trials as they stand after what was decided."""
        return list(self._trials.values())

    @property
    def best(self) -> Trial | None:
        """The best of them."""
        return best_trial(self.trials, self.sweep.spec.goal)

    def open_trials(self) -> list[Trial]:
        """Those from which something is still to come."""
        return [trial for trial in self.trials if trial.is_open]

    def num_wanted(self) -> int:
        """How many more trials the budget allows, as far as trials are counted."""
        max_trials = self.sweep.spec.max_trials
        left = self.sweep.spec.max_concurrent if max_trials is None else max_trials - len(self._trials)
        return max(left, 0)

    def ask_for_more(self) -> None:
        """Let the sampler fill the places that are free."""
        num_free = self.sweep.spec.max_concurrent - len(self.open_trials())
        for _ in range(min(num_free, self.num_wanted())):
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

    def look_at(self, trial: Trial, run: Run | None) -> None:
        """See what became of a trial's run."""
        if run is None:
            return
        if run.status == "succeeded":
            self._measure(trial, run)
        elif run.status == "failed":
            is_fault = run.failure is not None and run.failure.code in _FAULTS_OF_THE_VALUES
            self._fail(trial, run.failure.detail if run.failure else "Its run failed.", is_fault=is_fault)
        elif run.status == "cancelled":
            self.stop(trial, "Its run was cancelled.")
        else:
            self._follow(trial, run)

    def stop(self, trial: Trial, why: str) -> None:
        """Leave a trial as it is. The sampler goes on waiting for it, so that it can be resumed."""
        self._end(trial, "cancelled", error=why)

    def refuse(self, trial: Trial, error: TunixRTError) -> None:
        """A run of these values is not taken by the queue."""
        self._fail(trial, str(error), is_fault=error.code in _FAULTS_OF_THE_VALUES)

    def store_decision(self) -> bool:
        """Store what was decided since the last time; False when somebody else has decided meanwhile."""
        records = [] if self._opened is None else self._opened.journal.take_new()
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
        return SweepRepository(self._home.database).commit(self.sweep.sweep_id, decision)

    def _measure(self, trial: Trial, run: Run) -> None:
        value = final_value(self._home, self.sweep, trial, run)
        if value is None:
            metric = self.sweep.spec.metric
            self._fail(trial, f"Its run succeeded, but has no {metric}.", is_fault=False)
            return
        self._study.succeed(trial.number, value)
        self._end(trial, "succeeded", value=value)

    def _fail(self, trial: Trial, error: str, *, is_fault: bool) -> None:
        if is_fault:
            self._study.prune(trial.number)
        else:
            self._study.fail(trial.number)
        self._end(trial, "failed", error=error)

    def _follow(self, trial: Trial, run: Run) -> None:
        if run.status == "running" and trial.status == "queued":
            self._put(trial.model_copy(update={"status": "running"}))
        if run.status != "running" or self.sweep.spec.pruner == "none":
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
