"""tunix-rt runs, tunix-rt queue."""

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.base.home import Home, opened_home
from tunix_rt.base.terminal.options import JsonFlag, Set, SmokeSteps
from tunix_rt.base.terminal.output import note, print_json, say
from tunix_rt.engines.select import RequestedEngine
from tunix_rt.engines.training.types import RUN_STATUSES, RunStatus
from tunix_rt.engines.types import DeviceName
from tunix_rt.recipes.load import read_values
from tunix_rt.runs import service
from tunix_rt.runs.live import POLL_EVERY_S, Cursor, RunReader, RunWatch
from tunix_rt.runs.service import QueueState, find_run_id
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.submit import MAX_NAME_CHARS
from tunix_rt.runs.submit import submit as submit_run
from tunix_rt.runs.types import TERMINAL, ExecutorName, LogChunk, RunDetail, RunFilter, RunRequest
from tunix_rt.runs.unmanaged import refreshed_runs
from tunix_rt.runs.views import print_changed, print_queue, print_run, print_runs


def status(as_json: JsonFlag = False) -> None:
    """Show the queue: runs by status, and the workers."""
    with opened_home() as home:
        _print(service.queue_state(home), as_json=as_json)


def pause(as_json: JsonFlag = False) -> None:
    """Stop workers from taking runs; running ones continue."""
    with opened_home() as home:
        _print(service.set_queue_paused(home, True), as_json=as_json)


def resume(as_json: JsonFlag = False) -> None:
    """Let workers take runs again."""
    with opened_home() as home:
        _print(service.set_queue_paused(home, False), as_json=as_json)


def _print(queue: QueueState, *, as_json: bool) -> None:
    print_json(queue) if as_json else print_queue(queue)


Recipe = Annotated[
    str, typer.Argument(metavar="RECIPE", help="Name of a recipe, such as smoke_tiny, or a YAML file.")
]
Dataset = Annotated[str | None, typer.Option(help="Key of the dataset. Default: the one in the recipe.")]
Name = Annotated[str | None, typer.Option(help="Part of the run id. Default: the name of the recipe.")]
Engine = Annotated[RequestedEngine, typer.Option(help="auto chooses the engine that suits this machine.")]
Device = Annotated[DeviceName, typer.Option(help="Only workers with this device take the run.")]
Target = Annotated[
    str | None, typer.Option(help="Hardware to plan for. Default: this machine. See tunix-rt plan.")
]
Priority = Annotated[int, typer.Option(min=-1000, max=1000, help="Higher priorities run first.")]
EvalSet = Annotated[str | None, typer.Option(help="Evaluate the trained model on this eval set.")]
Executor = Annotated[
    ExecutorName, typer.Option(help="Where the run trains: on the worker's machine, or on Ray.")
]
Hold = Annotated[bool, typer.Option("--hold", help="Queue it on hold until it is resumed.")]
Force = Annotated[bool, typer.Option("--force", help="Queue it even if the plan says that it does not fit.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for the run to end, and exit with its exit code.")]

_WAIT_POLL_S = 0.5


def wait_for_end(home: Home, run_id: str) -> RunDetail:
    """Print the events of a run until it has ended. Ctrl-C stops the waiting, not the run."""
    num_printed = 0
    runs = RunRepository(home.database)
    while True:
        state = runs.status_of(run_id)
        for event in runs.events(run_id, after=num_printed - 1):
            note(f"{event.time:%H:%M:%S} {event.kind}: {event.message}")
            num_printed = event.sequence + 1
        if state.status in TERMINAL:
            return runs.get(run_id)
        time.sleep(_WAIT_POLL_S)


RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="Id of a run, the start of it, or its last word, such as 3f2a.")
]
PriorityArgument = Annotated[
    int,
    typer.Argument(min=-1000, max=1000, help="Higher priorities run first. Below 0: `priority RUN -- -5`."),
]


def submit(
    recipe: Recipe,
    dataset: Dataset = None,
    sets: Set = None,
    name: Name = None,
    engine: Engine = "auto",
    device: Device = "auto",
    target: Target = None,
    priority: Priority = 0,
    eval_set: EvalSet = None,
    smoke_steps: SmokeSteps = None,
    executor: Executor = "local",
    hold: Hold = False,
    force: Force = False,
    wait: Wait = False,
    as_json: JsonFlag = False,
) -> None:
    """Check and plan a recipe, and put it into the queue. docs/runs.md explains what happens next."""
    file = Path(recipe)
    is_name = not file.is_file() and len(file.parts) == 1
    request = RunRequest(
        recipe=recipe if is_name else read_values(file),
        name=name or (None if is_name else file.stem[:MAX_NAME_CHARS]),
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
            note("no worker is running; start one: tunix-rt worker")
        if wait:
            run = wait_for_end(home, run.run_id)
    print_changed(run, as_json=as_json)
    if not (wait or as_json):
        note(f"Next: tunix-rt runs logs -f {run.run_id}")
    if wait and run.status != "succeeded":
        raise typer.Exit(run.exit_code or 1)


def list_(
    status: Annotated[list[str] | None, typer.Option(help=f"{', '.join(RUN_STATUSES)}; repeatable.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Only runs on this dataset.")] = None,
    model: Annotated[str | None, typer.Option(help="Only runs whose model name contains this.")] = None,
    mode: Annotated[str | None, typer.Option(help="full, lora or qlora.")] = None,
    sweep: Annotated[str | None, typer.Option(help="Only trials of this sweep.")] = None,
    text: Annotated[
        str | None, typer.Option(help="Only runs whose id, recipe, model or dataset contains this.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Rows to show.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List the runs of this home, newest first, including unmanaged runs."""
    criteria = RunFilter(
        status=tuple(map(_status, status or ())),
        dataset=dataset,
        model=model,
        mode=mode,
        sweep_id=sweep,
        text=text,
    )
    with opened_home() as home:
        page = service.list_runs(home, criteria, limit=limit, offset=0)
    print_json([run.to_json() for run in page.data]) if as_json else print_runs(page)


def _status(text: str) -> RunStatus:
    for known in RUN_STATUSES:
        if known == text:
            return known
    raise InvalidInputError(f"There is no status {text!r}.", next_step=did_you_mean(text, RUN_STATUSES))


def show(run: RunArgument, as_json: JsonFlag = False) -> None:
    """Show a run: its status, planned and measured figures, and its events."""
    with opened_home() as home:
        found = service.get_run(home, find_run_id(home, run))
        events = RunRepository(home.database).events(found.run_id)
    if as_json:
        print_json({**found.to_json(), "events": [event.to_json() for event in events]})
    else:
        print_run(found, events)


def cancel(run: RunArgument, as_json: JsonFlag = False) -> None:
    """Cancel a run: at once in the queue, with a checkpoint if it is running."""
    with opened_home() as home:
        changed = refreshed_runs(home).cancel(find_run_id(home, run))
    print_changed(changed, as_json=as_json)


def pause_run(run: RunArgument, as_json: JsonFlag = False) -> None:
    """Hold a run until it is resumed; a running one stops with a checkpoint first."""
    with opened_home() as home:
        changed = refreshed_runs(home).pause(find_run_id(home, run))
    print_changed(changed, as_json=as_json)


def resume_run(run: RunArgument, as_json: JsonFlag = False) -> None:
    """Resume a paused, cancelled or failed run from its last checkpoint."""
    with opened_home() as home:
        changed = service.resume(home, find_run_id(home, run))
    print_changed(changed, as_json=as_json)


def priority(run: RunArgument, priority: PriorityArgument, as_json: JsonFlag = False) -> None:
    """Change the priority of a run."""
    with opened_home() as home:
        changed = refreshed_runs(home).set_priority(find_run_id(home, run), priority)
    print_changed(changed, as_json=as_json)


def rm(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Ids of runs, the starts of them, or their last words."),
    ],
    as_json: JsonFlag = False,
) -> None:
    """Remove runs with all of their files; their evaluations stay."""
    with opened_home() as home:
        run_ids = [find_run_id(home, run) for run in runs]
        for run_id in run_ids:
            service.remove(home, run_id)
            if not as_json:
                say(f"removed {run_id}")
    if as_json:
        print_json({"removed": run_ids})


def logs(
    run: RunArgument,
    follow: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Follow until the run has ended; Ctrl-C does not stop the run."),
    ] = False,
    tail: Annotated[int | None, typer.Option("--tail", "-n", min=0, help="Only the last lines.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print the output of a run, from all of its attempts."""
    with opened_home() as home:
        run_id = find_run_id(home, run)
        with closing(RunWatch(home, run_id)) as watch:
            offset = 0 if tail is None else watch.log.offset_of_last_lines(tail)
            reader = RunReader(watch, Cursor(log=offset), sources=["log"])
            while not reader.is_finished:
                messages = reader.read()
                for message in messages:
                    if as_json:
                        sys.stdout.write(message.data + "\n")
                    elif message.kind == "log":
                        sys.stdout.write(LogChunk.model_validate_json(message.data).chunk)
                if messages:
                    continue
                if not follow:
                    return
                sys.stdout.flush()
                time.sleep(POLL_EVERY_S)
                watch.refresh()
            if follow:
                note(f"{run_id}: {watch.status}")
