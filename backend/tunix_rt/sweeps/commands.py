"""tunix-rt tune, its tables and its live view."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import Home, opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import err, note, print_json, print_table, say
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.types import TERMINAL
from tunix_rt.runs.worker.background import background_worker
from tunix_rt.sweeps import service
from tunix_rt.sweeps.create import create, load_sweep
from tunix_rt.sweeps.service import (
    MIN_TRIALS,
    Importances,
    find_sweep,
    importances,
    promote_best,
    require_best,
    save_best_recipe,
)
from tunix_rt.sweeps.store import SweepRepository
from tunix_rt.sweeps.types import Sweep, SweepDetail, SweepPage, Trial

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
    """A sweep: its status, its trials, the best one and the importances."""
    say(f"{sweep.status}: {sweep.sweep_id}, {trials_text(sweep)} trials by {sweep.spec.metric}")
    if sweep.failure is not None:
        say(f"failure  {sweep.failure.detail}")
        say(f"next     {sweep.failure.next_step}")
    if sweep.trials:
        print_table(_columns(sweep), [_row(sweep, trial) for trial in sweep.trials])
    if shares.importances:
        bars = [
            (key, f"{share:.0%}", "█" * round(share * _BAR_CHARS))
            for key, share in shares.importances.items()
        ]
        print_table(("importance", "share", ""), bars)
    else:
        say(f"importances need {MIN_TRIALS} successful trials; there are {shares.num_trials}")
    if sweep.best is not None:
        print_best(sweep, sweep.best, recipe)


def print_best(sweep: Sweep, best: Trial, recipe: Path | None) -> None:
    """The best trial and where its recipe is."""
    say(f"best     trial {best.number}: {sweep.spec.metric} {value_text(best.value)}, run {best.run_id}")
    for key, value in best.params.items():
        say(f"         {key} = {value_text(value)}")
    register = f"tunix-rt tune best {sweep.sweep_id} --register NAME"
    if recipe is not None:
        say(f"recipe   {recipe}")
        say(f"next: tunix-rt train {recipe}, or {register}")
    else:
        say(f"next: {register}")


def progress_table(sweep: SweepDetail) -> Table:
    """The newest trials, for the live view."""
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
    """A trial that has ended, on one line."""
    result = trial.error if trial.value is None else f"{sweep.spec.metric} {value_text(trial.value)}"
    params = ", ".join(f"{key} {value_text(value)}" for key, value in trial.params.items())
    return f"trial {trial.number} {trial.status}: {result} ({params})"


def trials_text(sweep: Sweep) -> str:
    """The number of trials, and the limit if there is one.

    Example:
        "3 of 12"
    """
    limit = sweep.spec.max_trials
    return str(sweep.num_trials) if limit is None else f"{sweep.num_trials} of {limit}"


def value_text(value: JsonValue) -> str:
    """A float with four significant digits; any other value as it is."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _columns(sweep: Sweep) -> tuple[str, ...]:
    names = (key.rpartition(".")[2] for key in sweep.spec.search_space)
    return ("trial", "status", sweep.spec.metric, *names, "note")


def _row(sweep: Sweep, trial: Trial) -> tuple[str, ...]:
    values = (value_text(trial.params.get(key)) for key in sweep.spec.search_space)
    value = "–" if trial.value is None else value_text(trial.value)
    return (str(trial.number), trial.status, value, *values, trial.error or "")


_POLL_EVERY_S = 0.5
# A worker sends a heartbeat every few seconds.
_WORKER_TIMEOUT = timedelta(seconds=30)


def follow(home: Home, sweep_id: str) -> SweepDetail:
    """Show the progress of a sweep until it has ended. Ctrl-C stops the view, not the sweep."""
    note(f"sweep {sweep_id}; stop it with: tunix-rt tune cancel {sweep_id}")
    with _ensured_worker(home), _view() as show:
        while True:
            sweep = SweepRepository(home.database).get(sweep_id)
            show(sweep)
            if sweep.status in TERMINAL:
                return sweep
            time.sleep(_POLL_EVERY_S)


def _ensured_worker(home: Home) -> AbstractContextManager[None]:
    if has_worker(home):
        return nullcontext()
    note("no worker is running: this command runs its own until it ends")
    # Only its warnings: the trials show its progress.
    return background_worker(home.settings.model_copy(update={"log_level": "warning"}))


def has_worker(home: Home) -> bool:
    """Whether a worker is running."""
    since = datetime.now(UTC) - _WORKER_TIMEOUT
    return any(
        worker.status == "active" and worker.last_seen_at > since
        for worker in WorkerRepository(home.database).list()
    )


@contextmanager
def _view() -> Iterator[Callable[[SweepDetail], None]]:
    """On a terminal a live table; in a file or a pipe one line per trial that has ended."""
    if err.is_terminal:
        with Live(console=err, auto_refresh=False, transient=True) as live:
            yield lambda sweep: live.update(progress_table(sweep), refresh=True)
        return
    printed: set[int] = set()

    def print_ended(sweep: SweepDetail) -> None:
        for trial in sweep.trials:
            if not trial.is_open and trial.number not in printed:
                printed.add(trial.number)
                note(trial_line(sweep, trial))

    yield print_ended


SweepFile = Annotated[
    Path, typer.Argument(metavar="SWEEP.yaml", help="The sweep file; docs/sweeps.md lists its keys.")
]
Reference = Annotated[
    str,
    typer.Argument(
        metavar="SWEEP", help="Id of a sweep, the start of it, its last word, or the name of the sweep."
    ),
]
Detach = Annotated[bool, typer.Option("--detach", help="Start the sweep and exit; workers continue it.")]
Output = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File for the recipe. Default: in the recipes of the home."),
]
Register = Annotated[
    str | None, typer.Option(metavar="NAME", help="Register the model of the best trial under this name.")
]
Alias = Annotated[str | None, typer.Option(help="Set this alias on it, e.g. champion.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of sweeps.")]


def run(sweep: SweepFile, detach: Detach = False, as_json: JsonFlag = False) -> None:
    """Run a sweep: every trial is a run in the queue. Ctrl-C stops the view, not the sweep."""
    spec = load_sweep(sweep)
    with opened_home() as home:
        sweep_id = create(home, spec, allows_paths=True).sweep_id
        _follow_and_print(home, service.start(home, sweep_id), detach=detach, as_json=as_json)


def resume(sweep: Reference, detach: Detach = False, as_json: JsonFlag = False) -> None:
    """Resume a cancelled or failed sweep, or show the progress of a running one."""
    with opened_home() as home:
        found = find_sweep(home, sweep)
        if found.status == "queued":
            found = service.start(home, found.sweep_id)
        elif found.status not in ("running", "cancelling"):
            found = service.resume(home, found.sweep_id)
        _follow_and_print(home, found, detach=detach, as_json=as_json)


def list_(limit: Limit = 20, as_json: JsonFlag = False) -> None:
    """List sweeps, newest first."""
    with opened_home() as home:
        page = SweepRepository(home.database).list(limit=limit, offset=0)
    if as_json:
        print_json({"data": [sweep.to_json() for sweep in page.data], "total": page.total})
    else:
        print_sweeps(page)


def show(sweep: Reference, as_json: JsonFlag = False) -> None:
    """Show a sweep with its trials and the importance of each key."""
    with opened_home() as home:
        found = find_sweep(home, sweep)
        shares = importances(home, found.sweep_id)
    if as_json:
        print_json(found.to_json() | {"importances": shares.importances})
    else:
        print_sweep(found, shares)


def cancel(sweep: Reference, as_json: JsonFlag = False) -> None:
    """Cancel a sweep and its trials; `tune resume` continues from their last checkpoints."""
    with opened_home() as home:
        found = service.cancel(home, find_sweep(home, sweep).sweep_id)
    print_json(found.to_json()) if as_json else say(f"{found.status}: {found.sweep_id}")


def best(
    sweep: Reference,
    output: Output = None,
    register: Register = None,
    alias: Alias = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the recipe of the best trial to a file, and optionally register its model."""
    if alias is not None and register is None:
        raise InvalidInputError(
            "--alias is given, but no model is registered.", next_step="Add --register NAME."
        )
    with opened_home() as home:
        found = find_sweep(home, sweep)
        winner, path = require_best(found), save_best_recipe(home, found, output)
        version = None if register is None else promote_best(home, found, register, alias=alias)
    if as_json:
        registered = {} if version is None else {"model": version.reference}
        print_json({"recipe": str(path), **registered, **winner.to_json()})
        return
    print_best(found, winner, path)
    if version is not None:
        say(f"model    {version.reference}{'' if alias is None else f', also @{alias}'}")


def remove(sweep: Reference, as_json: JsonFlag = False) -> None:
    """Remove a sweep; its runs stay."""
    with opened_home() as home:
        sweep_id = find_sweep(home, sweep).sweep_id
        SweepRepository(home.database).remove(sweep_id)
    print_json({"removed": sweep_id}) if as_json else say(f"Removed {sweep_id}; its runs stay.")


def _follow_and_print(home: Home, sweep: SweepDetail, *, detach: bool, as_json: bool) -> None:
    if not detach:
        try:
            sweep = follow(home, sweep.sweep_id)
        except KeyboardInterrupt as error:
            note(f"workers continue the sweep; show it again: tunix-rt tune resume {sweep.sweep_id}")
            raise typer.Exit(130) from error
    elif not has_worker(home):
        note("no worker is running; start one: tunix-rt worker")
    path = save_best_recipe(home, sweep) if sweep.best is not None and not detach else None
    if as_json:
        print_json(sweep.to_json() | ({} if path is None else {"recipe_file": str(path)}))
    elif detach:
        say(f"{sweep.status}: {sweep.sweep_id}")
        say(f"next: tunix-rt tune resume {sweep.sweep_id}")
    else:
        print_sweep(sweep, importances(home, sweep.sweep_id), path)
    if not detach and sweep.status != "succeeded":
        raise typer.Exit(1)
