"""tunix-rt kaggle."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.errors import DeviceError, DoesNotFitError, TunixRTError
from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag, RecipeFile, Set, SmokeSteps, recipe_file
from tunix_rt.base.terminal.output import counted, err, print_json, print_table, say
from tunix_rt.engines.planning.service import PlanProgress
from tunix_rt.engines.planning.targets import LOCAL
from tunix_rt.engines.planning.views import compiling_line, duration
from tunix_rt.engines.weights.sources import with_absolute_paths
from tunix_rt.kaggle.kernels import pull_kernel, push_kernel
from tunix_rt.kaggle.notebook import NotebookRequest, WrittenNotebook, write_notebook
from tunix_rt.kaggle.preflight import CheckName, PreflightRequest, run_preflight
from tunix_rt.kaggle.session import DEFAULT_HOURS, MACHINES
from tunix_rt.runs.commands.train import resolve


def print_written(file: Path, written: WrittenNotebook, *, as_json: bool) -> None:
    """Print a written notebook and its plan."""
    session = written.session
    if as_json:
        print_json(
            {
                "path": str(file),
                "num_sessions": session.num_sessions,
                "stop_after_s": session.stop_after_s,
                "checkpoint_bytes": session.checkpoint_bytes,
                "plan": written.plan.model_dump(mode="json"),
            }
        )
        return
    say(f"written  {file}")
    say(f"plan     {written.plan.reason} ({written.plan.source})")
    total = "" if written.plan.total_seconds is None else f"about {duration(written.plan.total_seconds)}, "
    sessions = "one session" if session.num_sessions == 1 else f"{session.num_sessions} sessions"
    say(f"training {total}{sessions}; stops after {duration(session.stop_after_s)}")
    if written.plan.target != LOCAL:
        size = f"{session.checkpoint_bytes / 1e9:.2f} GB"
        say(f"run in   {session.directory}, with checkpoints of about {size}")


On = Annotated[
    str, typer.Option("--on", metavar="TARGET", help=f"Accelerator; one of: {', '.join(MACHINES)}.")
]
Hours = Annotated[float, typer.Option(help="Length of a session in hours.")]
Fast = Annotated[bool, typer.Option("--fast", help="Use the estimate only, without a compiler.")]
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
        bool, typer.Option("--smoke", help="Run two steps of every stage, on any machine.")
    ] = False,
    eval_set: Annotated[str, typer.Option(help="Eval set for the trained model.")] = "eval_v2",
    model: Annotated[
        str | None, typer.Option(metavar="kaggle:HANDLE", help="Kaggle handle of the recipe's model.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Path on Kaggle of the dataset's rows, in an attached dataset."),
    ] = None,
    package: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Package to install there, e.g. a wheel in an attached dataset."),
    ] = None,
    continue_from: Annotated[
        str | None,
        typer.Option(
            "--continue", metavar="OWNER/SLUG", help="Continue from the checkpoints of this notebook."
        ),
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Default: RECIPE.ipynb, in this directory.")
    ] = None,
    fast: Fast = False,
    as_json: JsonFlag = False,
) -> None:
    """Write a notebook that trains a recipe in one session, unattended. See docs/kaggle.md."""
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
        continues_from=continue_from,
        is_smoke=smoke,
    )
    with compiling_line(err) as on_compiling:
        progress = PlanProgress(on_compiling=on_compiling)
        written = write_notebook(load_settings(), path, request, is_fast=fast or smoke, progress=progress)
    file = to or Path(f"{path.stem}.ipynb")
    with write_atomically(file, what="writing the notebook") as stream:
        stream.write(written.text.encode())
    print_written(file, written, as_json=as_json)


def preflight(
    recipe: RecipeFile,
    on: On = "v5e-8",
    hours: Hours = DEFAULT_HOURS,
    sessions: Annotated[int, typer.Option(min=1, help="Planned number of sessions.")] = 1,
    sets: Set = None,
    smoke_steps: SmokeSteps = None,
    fast: Fast = False,
    as_json: JsonFlag = False,
) -> None:
    """Check that this machine matches the plan, and that the recipe fits its memory and the session.

    Exit 4: other devices than planned; 5: the recipe does not fit; 1: it takes more sessions.
    """
    path = recipe_file(recipe)
    resolved = with_absolute_paths(resolve(path, sets or [], {}, smoke_steps, smoke_reason="--smoke-steps"))
    request = PreflightRequest(
        recipe_name=path.stem,
        recipe=resolved.recipe,
        target=on,
        session_s=hours * 3600,
        num_sessions=sessions,
        is_fast=fast,
    )
    with compiling_line(err) as on_compiling:
        progress = PlanProgress(on_compiling=on_compiling)
        found = run_preflight(load_settings(), request, progress=progress)
    if as_json:
        print_json(found.to_json())
    else:
        rows = [("ok" if check.passed else "FAILED", check.name, check.detail) for check in found.checks]
        print_table(("", "check", "found"), rows, title=f"{found.recipe} on {found.target}")
    for check in found.checks:
        if not check.passed:
            raise _ERRORS[check.name](check.detail, next_step=check.next_step or "")


def push(
    notebook: Annotated[Path, typer.Argument(metavar="NOTEBOOK", help="File that `kaggle notebook` wrote.")],
    kernel: Annotated[
        str, typer.Option("--to", metavar="OWNER/SLUG", help="Address for the notebook on Kaggle.")
    ],
    datasets: Annotated[
        list[str] | None,
        typer.Option("--dataset", metavar="OWNER/SLUG", help="Dataset to attach; repeatable."),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model", metavar="HANDLE", help="Model to attach: owner/model/framework/variation/version."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Push a private notebook to Kaggle and run it there."""
    pushed = push_kernel(notebook, kernel, datasets or (), models or ())
    if as_json:
        print_json(pushed.to_json())
        return
    say(f"pushed   {pushed.url}")
    say(f"next     tunix-rt kaggle pull {pushed.kernel} --wait")


def pull(
    kernel: Kernel,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="DIR", help="Directory for the output. Default: the slug.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the notebook has ended.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Download the output of a notebook. Exit 1 when it failed; its log and output are downloaded first."""
    with err.status(f"downloading {kernel} from Kaggle"):
        pulled = pull_kernel(kernel, to, waits=wait)
    if as_json:
        print_json(pulled.to_json())
        return
    say(f"pulled   {counted(len(pulled.files), 'file')} into {pulled.directory}")
    for bundle in pulled.evidence:
        say(f"next     tunix-rt evidence verify {bundle}")
