"""Sweeps for people: a list, one sweep with its trials, the best of them."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import JsonValue
from rich.markup import escape
from rich.table import Table

from tunix_rt.base.terminal.output import print_table, say
from tunix_rt.core.sweeps.sweep import Sweep, SweepDetail, SweepPage, Trial
from tunix_rt.services.sweeps.reporting import MIN_TRIALS, Importances

_MAX_LIVE_ROWS = 20
_BAR_CHARS = 20


def print_sweeps(page: SweepPage) -> None:
    """A page of sweeps as a table."""
    if not page.data:
        say("There are no sweeps yet. Start one: tunix-rt tune training/sweeps/learning_rate.yaml")
        return
    rows = [
        (sweep.sweep_id, sweep.status, trials_text(sweep), sweep.spec.metric, sweep.best_run_id)
        for sweep in page.data
    ]
    print_table(("id", "status", "trials", "metric", "best run"), rows)


def print_sweep(sweep: SweepDetail, shares: Importances, recipe: Path | None = None) -> None:
    """Where a sweep stands, every trial, the best one, and what mattered."""
    say(f"{sweep.status}: {sweep.sweep_id}, {trials_text(sweep)} trials by {sweep.spec.metric}")
    if sweep.failure is not None:
        say(f"failure  {sweep.failure.detail}")
        say(f"next     {sweep.failure.next_step}")
    if sweep.trials:
        print_table(_columns(sweep), [_row(sweep, trial) for trial in sweep.trials])
    print_importances(shares)
    if sweep.best is not None:
        print_best(sweep, recipe)


def print_importances(shares: Importances) -> None:
    """How much each key mattered, as bars."""
    if not shares.importances:
        say(f"importances need {MIN_TRIALS} trials that succeeded; there are {shares.num_trials}")
        return
    rows = [
        (key, f"{share:.0%}", "█" * round(share * _BAR_CHARS)) for key, share in shares.importances.items()
    ]
    print_table(("importance", "share", ""), rows)


def print_best(sweep: SweepDetail, recipe: Path | None) -> None:
    """The best trial and where its recipe is."""
    best = sweep.best
    assert best is not None
    say(f"best     trial {best.number}: {sweep.spec.metric} {value_text(best.value)}, run {best.run_id}")
    for key, value in best.params.items():
        say(f"         {key} = {value_text(value)}")
    if recipe is not None:
        say(f"recipe   {recipe}")
        say(f"next: tunix-rt train {recipe}, or tunix-rt tune best {sweep.sweep_id} --register NAME")
    else:
        say(f"next: tunix-rt tune best {sweep.sweep_id} --register NAME")


def progress_table(sweep: SweepDetail) -> Table:
    """The newest trials, for a terminal that is drawn again and again."""
    title = f"{sweep.status}: {trials_text(sweep)} trials"
    if sweep.best is not None:
        title += f", best {sweep.spec.metric} {value_text(sweep.best.value)} (trial {sweep.best.number})"
    table = Table(title=escape(title), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in _columns(sweep):
        table.add_column(column)
    for trial in sweep.trials[-_MAX_LIVE_ROWS:]:
        table.add_row(*(escape(str(cell)) for cell in _row(sweep, trial)))
    return table


def trial_line(sweep: SweepDetail, trial: Trial) -> str:
    """One trial that has ended, on one line."""
    result = trial.error if trial.value is None else f"{sweep.spec.metric} {value_text(trial.value)}"
    return f"trial {trial.number} {trial.status}: {result} ({', '.join(_params(trial))})"


def trials_text(sweep: Sweep) -> str:
    """How many trials there are, of how many.

    Example:
        "3 of 12"
    """
    limit = sweep.spec.max_trials
    return str(sweep.num_trials) if limit is None else f"{sweep.num_trials} of {limit}"


def value_text(value: JsonValue) -> str:
    """A number with four digits that count; anything else as it is."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _columns(sweep: Sweep) -> tuple[str, ...]:
    names = (key.rpartition(".")[2] for key in sweep.spec.search_space)
    return ("trial", "status", sweep.spec.metric, *names, "note")


def _row(sweep: Sweep, trial: Trial) -> tuple[str, ...]:
    values = (value_text(trial.params.get(key)) for key in sweep.spec.search_space)
    value = "–" if trial.value is None else value_text(trial.value)
    return (str(trial.number), trial.status, value, *values, trial.error or "")


def _params(trial: Trial) -> Iterable[str]:
    return (f"{key} {value_text(value)}" for key, value in trial.params.items())
