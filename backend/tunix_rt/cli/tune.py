"""`tunix-rt tune SWEEP.yaml`, and list | show | cancel | resume | best | rm: searches over recipes."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import Home, opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import note, print_json, say
from tunix_rt.cli.tune_following import follow, has_worker
from tunix_rt.cli.tune_view import print_best, print_sweep, print_sweeps
from tunix_rt.config.sweep_spec import load_sweep
from tunix_rt.core.sweeps.sweep import SweepDetail
from tunix_rt.db.sweeps import SweepRepository
from tunix_rt.services.sweeps import controlling
from tunix_rt.services.sweeps.creating import create
from tunix_rt.services.sweeps.promoting import promote_best, save_best_recipe
from tunix_rt.services.sweeps.reporting import find_sweep, importances

SweepFile = Annotated[
    Path, typer.Argument(metavar="SWEEP.yaml", help="What is searched; docs/sweeps.md lists its keys.")
]
Reference = Annotated[
    str, typer.Argument(metavar="SWEEP", help="Id of a sweep, its beginning, its last word, or its name.")
]
Detach = Annotated[
    bool, typer.Option("--detach", help="Only start it; workers go on with it whoever is looking.")
]
Output = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Where the recipe goes. Default: the home's recipes.")
]
Register = Annotated[
    str | None, typer.Option(metavar="NAME", help="Register the best trial's model under this name.")
]
Alias = Annotated[str | None, typer.Option(help="Let this alias point to it, e.g. champion.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="How many sweeps to show.")]


def run(sweep: SweepFile, detach: Detach = False, as_json: JsonFlag = False) -> None:
    """Search: every trial is a run in the queue. Ctrl-C ends the looking on, not the sweep."""
    spec = load_sweep(sweep)
    with opened_home() as home:
        sweep_id = create(home, spec, allows_paths=True).sweep_id
        _go_on(home, controlling.start(home, sweep_id), detach=detach, as_json=as_json)


def resume(sweep: Reference, detach: Detach = False, as_json: JsonFlag = False) -> None:
    """Go on with a sweep: look on again, or take up one that was cancelled or has failed."""
    with opened_home() as home:
        found = find_sweep(home, sweep)
        if found.status == "queued":
            found = controlling.start(home, found.sweep_id)
        elif found.status not in ("running", "cancelling"):
            found = controlling.resume(home, found.sweep_id)
        _go_on(home, found, detach=detach, as_json=as_json)


def list_(limit: Limit = 20, as_json: JsonFlag = False) -> None:
    """List sweeps, newest first."""
    with opened_home() as home:
        page = SweepRepository(home.database).list(limit=limit, offset=0)
    if as_json:
        print_json({"data": [sweep.to_json() for sweep in page.data], "total": page.total})
    else:
        print_sweeps(page)


def show(sweep: Reference, as_json: JsonFlag = False) -> None:
    """Show a sweep with its trials and how much each key mattered."""
    with opened_home() as home:
        found = find_sweep(home, sweep)
        shares = importances(home, found.sweep_id)
    if as_json:
        print_json(found.to_json() | {"importances": shares.importances})
    else:
        print_sweep(found, shares)


def cancel(sweep: Reference, as_json: JsonFlag = False) -> None:
    """Stop a sweep and its trials; `tune resume` goes on from their last checkpoints."""
    with opened_home() as home:
        found = controlling.cancel(home, find_sweep(home, sweep).sweep_id)
    print_json(found.to_json()) if as_json else say(f"{found.status}: {found.sweep_id}")


def best(
    sweep: Reference,
    output: Output = None,
    register: Register = None,
    alias: Alias = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the recipe of the best trial to a file, and register its model if asked to."""
    if alias is not None and register is None:
        raise InvalidInputError(
            "--alias is given, but no model is registered.", next_step="Add --register NAME."
        )
    with opened_home() as home:
        found = find_sweep(home, sweep)
        path = save_best_recipe(home, found, output)
        version = None if register is None else promote_best(home, found, register, alias=alias)
    reference = None if version is None else version.reference
    if as_json:
        assert found.best is not None
        registered = {} if reference is None else {"model": reference}
        print_json({"recipe": str(path), **registered, **found.best.to_json()})
        return
    print_best(found, path)
    if reference is not None:
        say(f"model    {reference}{'' if alias is None else f', also @{alias}'}")


def remove(sweep: Reference, as_json: JsonFlag = False) -> None:
    """Forget a sweep; its runs stay."""
    with opened_home() as home:
        sweep_id = find_sweep(home, sweep).sweep_id
        controlling.remove(home, sweep_id)
    print_json({"removed": sweep_id}) if as_json else say(f"Removed {sweep_id}; its runs stay.")


def _followed(home: Home, sweep_id: str) -> SweepDetail:
    try:
        return follow(home, sweep_id)
    except KeyboardInterrupt as error:
        note(f"the sweep goes on wherever a worker is; look again: tunix-rt tune resume {sweep_id}")
        raise typer.Exit(130) from error


def _go_on(home: Home, sweep: SweepDetail, *, detach: bool, as_json: bool) -> None:
    if not detach:
        sweep = _followed(home, sweep.sweep_id)
    elif not has_worker(home):
        note("no worker is there to go on with it; start one: tunix-rt worker")
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
