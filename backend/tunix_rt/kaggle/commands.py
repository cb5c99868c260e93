"""tunix-rt kaggle."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.errors import DeviceError, DoesNotFitError, TunixRTError
from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag, RecipeFile, recipe_file
from tunix_rt.base.terminal.output import counted, err, print_json, print_table, say
from tunix_rt.engines.planning.service import PlanProgress
from tunix_rt.engines.planning.targets import LOCAL
from tunix_rt.engines.planning.views import CompilingLine, duration
from tunix_rt.kaggle.kernels import Pulled, Pushed, PushRequest, pull_kernel, push_kernel
from tunix_rt.kaggle.notebook import NotebookRequest, WrittenNotebook, write_notebook
from tunix_rt.kaggle.preflight import CheckName, Preflight, PreflightRequest, run_preflight
from tunix_rt.kaggle.session import DEFAULT_HOURS, MACHINES
from tunix_rt.runs.commands.train import SmokeSteps, resolve


def print_written(file: Path, made: WrittenNotebook, *, as_json: bool) -> None:
    """A notebook that was written, and what it rests on."""
    session = made.session
    if as_json:
        print_json(
            {
                "path": str(file),
                "num_sessions": session.num_sessions,
                "stop_after_s": session.stop_after_s,
                "checkpoint_bytes": session.checkpoint_bytes,
                "plan": made.plan.model_dump(mode="json"),
            }
        )
        return
    say(f"written  {file}")
    say(f"plan     {made.plan.reason} ({made.plan.source})")
    total = "" if made.plan.total_seconds is None else f"about {duration(made.plan.total_seconds)}, "
    sessions = "one session" if session.num_sessions == 1 else f"{session.num_sessions} sessions"
    say(f"training {total}{sessions}; stops in time after {duration(session.stop_after_s)}")
    if made.plan.target != LOCAL:
        size = f"{session.checkpoint_bytes / 1e9:.2f} GB"
        say(f"run in   {session.directory}, with checkpoints of about {size}")


def print_preflight(found: Preflight) -> None:
    """Every check with its verdict."""
    rows = [("ok" if check.passed else "FAILED", check.name, check.detail) for check in found.checks]
    print_table(("", "check", "found"), rows, title=f"{found.recipe} on {found.target}")


def print_pushed(pushed: Pushed, *, as_json: bool) -> None:
    """A notebook that Kaggle took."""
    if as_json:
        print_json(pushed.to_json())
        return
    say(f"pushed   {pushed.url}")
    say(f"next     tunix-rt kaggle pull {pushed.kernel} --wait")


def print_pulled(pulled: Pulled, *, as_json: bool) -> None:
    """What a notebook left."""
    if as_json:
        print_json(pulled.to_json())
        return
    say(f"pulled   {counted(len(pulled.files), 'file')} into {pulled.directory}")
    for bundle in pulled.evidence:
        say(f"next     tunix-rt evidence verify {bundle}")


On = Annotated[
    str, typer.Option("--on", metavar="TARGET", help=f"Accelerator; one of: {', '.join(MACHINES)}.")
]
Hours = Annotated[float, typer.Option(help="Hours of a session.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable."),
]
Fast = Annotated[bool, typer.Option("--fast", help="Trust the estimate; ask no compiler.")]
Kernel = Annotated[str, typer.Argument(metavar="OWNER/SLUG", help="The notebook's address on Kaggle.")]

_ERRORS: dict[CheckName, type[TunixRTError]] = {
    "devices": DeviceError,
    "memory": DoesNotFitError,
    "session": TunixRTError,
}


def notebook(
    recipe: RecipeFile,
    on: On = "v5e-8",
    hours: Hours = DEFAULT_HOURS,
    sets: Set = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Two steps of everything, on whatever machine it runs.")
    ] = False,
    eval_set: Annotated[str, typer.Option(help="Eval set that the model answers.")] = "eval_v2",
    model: Annotated[
        str | None,
        typer.Option(metavar="kaggle:HANDLE", help="Where the recipe's model lies on Kaggle, if it does."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="File there with the dataset's rows, in an attached dataset."),
    ] = None,
    package: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="What pip installs there, e.g. a wheel in an attached dataset."),
    ] = None,
    goes_on_from: Annotated[
        str | None,
        typer.Option("--continue", metavar="OWNER/SLUG", help="Notebook that this one goes on from."),
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Default: the recipe's name.ipynb, here.")
    ] = None,
    fast: Fast = False,
    as_json: JsonFlag = False,
) -> None:
    """Write a notebook that trains a recipe in one session, unattended. docs/kaggle.md explains it."""
    path = recipe_file(recipe)
    request = NotebookRequest(
        recipe_name=path.stem,
        recipe_text=path.read_text(encoding="utf-8") if path.is_file() else "",
        target=LOCAL if smoke else on,
        hours=hours,
        sets=tuple(sets or ()),
        eval_set=eval_set,
        model=model,
        data_file=data,
        package=package,
        goes_on_from=goes_on_from,
        is_smoke=smoke,
    )
    with CompilingLine(err) as line:
        progress = PlanProgress(on_compiling=line.update)
        made = write_notebook(load_settings(), path, request, is_fast=fast or smoke, progress=progress)
    file = to or Path(f"{path.stem}.ipynb")
    with write_atomically(file, what="writing the notebook") as stream:
        stream.write(made.text.encode())
    print_written(file, made, as_json=as_json)


def preflight(
    recipe: RecipeFile,
    on: On = "v5e-8",
    hours: Hours = DEFAULT_HOURS,
    sessions: Annotated[int, typer.Option(min=1, help="Sessions that the training was planned to take.")] = 1,
    sets: Set = None,
    smoke_steps: SmokeSteps = None,
    fast: Fast = False,
    as_json: JsonFlag = False,
) -> None:
    """Check that this machine is the one that was planned for, and that the recipe fits it and the session.

    Exit 4: not the devices that were promised; 5: it does not fit them; 1: it takes more sessions.
    """
    path = recipe_file(recipe)
    resolved = resolve(path, sets or [], {}, smoke_steps, smoke_reason="--smoke-steps")
    request = PreflightRequest(
        recipe_name=path.stem,
        recipe=resolved.recipe,
        target=on,
        session_s=hours * 3600,
        num_sessions=sessions,
        is_fast=fast,
    )
    with CompilingLine(err) as line:
        found = run_preflight(load_settings(), request, progress=PlanProgress(on_compiling=line.update))
    print_json(found.to_json()) if as_json else print_preflight(found)
    _raise_what_failed(found)


def _raise_what_failed(found: Preflight) -> None:
    for check in found.checks:
        if not check.passed:
            raise _ERRORS[check.name](check.detail, next_step=check.next_step or "")


def push(
    notebook: Annotated[Path, typer.Argument(metavar="NOTEBOOK", help="File that `kaggle notebook` wrote.")],
    kernel: Annotated[
        str, typer.Option("--to", metavar="OWNER/SLUG", help="Address that the notebook gets on Kaggle.")
    ],
    datasets: Annotated[
        list[str] | None,
        typer.Option("--dataset", metavar="OWNER/SLUG", help="To attach; repeatable."),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="HANDLE", help="owner/model/framework/variation/version to attach."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Send a notebook to Kaggle, privately, which runs it there."""
    request = PushRequest(notebook, kernel, tuple(datasets or ()), tuple(models or ()))
    print_pushed(push_kernel(request), as_json=as_json)


def pull(
    kernel: Kernel,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="For its output. Default: the slug, here."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the notebook has ended.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Fetch what a notebook left on Kaggle. Exit 1 when it failed; its log and output are fetched first."""
    with err.status(f"asking Kaggle for {kernel}"):
        pulled = pull_kernel(kernel, to, waits=wait)
    print_pulled(pulled, as_json=as_json)
