"""`tunix-rt runs submit | list | show | cancel | pause | resume | priority | rm`: runs in the queue."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import note, print_json, say
from tunix_rt.cli import runs_options as options
from tunix_rt.cli.runs_view import print_changed, print_run, print_runs
from tunix_rt.cli.runs_waiting import wait_for_end
from tunix_rt.core.runs.request import RunRequest
from tunix_rt.core.runs.store_types import RunFilter
from tunix_rt.db.runs import RunRepository
from tunix_rt.db.workers import WorkerRepository
from tunix_rt.engines.training.types import RUN_STATUSES, RunStatus
from tunix_rt.recipes.load import read_values
from tunix_rt.services.runs import controlling, listing, removing
from tunix_rt.services.runs.submitting import MAX_NAME_CHARS
from tunix_rt.services.runs.submitting import submit as submit_run

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="Id of a run, its beginning, or its last word, as in 3f2a.")
]
PriorityArgument = Annotated[
    int, typer.Argument(min=-1000, max=1000, help="Higher first. Below 0: `priority RUN -- -5`.")
]


def submit(
    recipe: options.Recipe,
    dataset: options.Dataset = None,
    sets: options.Set = None,
    name: options.Name = None,
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    target: options.Target = None,
    priority: options.Priority = 0,
    eval_set: options.EvalSet = None,
    smoke_steps: options.SmokeSteps = None,
    executor: options.Executor = "local",
    hold: options.Hold = False,
    force: options.Force = False,
    wait: options.Wait = False,
    as_json: JsonFlag = False,
) -> None:
    """Check and plan a recipe, and put it into the queue. docs/runs.md tells what happens then."""
    values, file_name = _recipe(recipe)
    request = RunRequest(
        recipe=values,
        name=name or file_name,
        overrides=tuple(sets or ()),
        dataset=dataset,
        engine=engine,
        device=device,
        target=target,
        priority=priority,
        eval_set=eval_set,
        num_smoke_steps=smoke_steps,
        executor=executor,
        is_held=hold,
        is_forced=force,
    )
    with opened_home() as home:
        run = submit_run(home, request, allows_paths=True)
        if not any(worker.status == "active" for worker in WorkerRepository(home.database).list()):
            note("no worker is there to take it; start one: tunix-rt worker")
        if wait:
            run = wait_for_end(home, run.run_id)
    print_changed(run, as_json=as_json)
    if not (wait or as_json):
        note(f"Next: tunix-rt runs logs -f {run.run_id}")
    if wait and run.status != "succeeded":
        raise typer.Exit(run.exit_code or 1)


def _recipe(text: str) -> tuple[str | dict[str, JsonValue], str | None]:
    """The name of a recipe, or what a file says and the file's name."""
    file = Path(text)
    if not file.is_file() and len(file.parts) == 1:
        return text, None
    return read_values(file), file.stem[:MAX_NAME_CHARS]


def list_(
    status: Annotated[list[str] | None, typer.Option(help=f"{', '.join(RUN_STATUSES)}; repeatable.")] = None,
    dataset: Annotated[str | None, typer.Option(help="What they are trained on.")] = None,
    model: Annotated[str | None, typer.Option(help="Stands in the name of the model.")] = None,
    mode: Annotated[str | None, typer.Option(help="full, lora or qlora.")] = None,
    sweep: Annotated[str | None, typer.Option(help="Trials of this sweep.")] = None,
    text: Annotated[
        str | None, typer.Option(help="Stands in the id, the recipe, the model or the dataset.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Rows to show.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """The runs of this home, newest first, whoever started them."""
    criteria = RunFilter(
        status=tuple(map(_status, status or ())),
        dataset=dataset,
        model=model,
        mode=mode,
        sweep_id=sweep,
        text=text,
    )
    with opened_home() as home:
        page = listing.list_runs(home, criteria, limit=limit, offset=0)
    if as_json:
        print_json([run.to_json() for run in page.data])
    else:
        print_runs(page)


def _status(text: str) -> RunStatus:
    for known in RUN_STATUSES:
        if known == text:
            return known
    raise InvalidInputError(f"There is no status {text!r}.", next_step=did_you_mean(text, RUN_STATUSES))


def show(run: RunArgument, as_json: JsonFlag = False) -> None:
    """One run: where it stands, what was planned and measured, and everything that happened to it."""
    with opened_home() as home:
        found = listing.get_run(home, listing.find_run_id(home, run))
        events = RunRepository(home.database).events(found.run_id)
    if as_json:
        print_json({**found.to_json(), "events": [event.to_json() for event in events]})
    else:
        print_run(found, events)


def cancel(run: RunArgument, as_json: JsonFlag = False) -> None:
    """Stop a run: at once in the queue, with a checkpoint where it runs."""
    with opened_home() as home:
        changed = controlling.cancel(home, listing.find_run_id(home, run))
    print_changed(changed, as_json=as_json)


def pause(run: RunArgument, as_json: JsonFlag = False) -> None:
    """Make a run wait until it is resumed; where it runs, it stops with a checkpoint first."""
    with opened_home() as home:
        changed = controlling.pause(home, listing.find_run_id(home, run))
    print_changed(changed, as_json=as_json)


def resume(run: RunArgument, as_json: JsonFlag = False) -> None:
    """Let a paused run go on, or queue a cancelled or failed one again, from its last checkpoint."""
    with opened_home() as home:
        changed = controlling.resume(home, listing.find_run_id(home, run))
    print_changed(changed, as_json=as_json)


def priority(run: RunArgument, priority: PriorityArgument, as_json: JsonFlag = False) -> None:
    """Take a run earlier or later than the others."""
    with opened_home() as home:
        changed = controlling.set_priority(home, listing.find_run_id(home, run), priority)
    print_changed(changed, as_json=as_json)


def rm(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Ids, their beginnings, or their last words.")
    ],
    as_json: JsonFlag = False,
) -> None:
    """Remove runs and everything they wrote; evaluations of them stay."""
    with opened_home() as home:
        run_ids = [listing.find_run_id(home, run) for run in runs]
        for run_id in run_ids:
            removing.remove(home, run_id)
            if not as_json:
                say(f"removed {run_id}")
    if as_json:
        print_json({"removed": run_ids})
