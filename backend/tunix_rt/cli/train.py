"""`tunix-rt train`: run a recipe on the devices of this machine."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.terminal.options import JsonFlag, RecipeFile, parse_duration, recipe_file
from tunix_rt.cli.train_request import TrainRequest, not_together, run_request
from tunix_rt.engines.commands import EngineOption
from tunix_rt.engines.training.data import smoke_flags
from tunix_rt.engines.training.job import LATEST, ProcessGroup, ResumePoint
from tunix_rt.engines.types import DeviceName, DeviceRequest
from tunix_rt.recipes.load import Flag, ResolvedRecipe, load_recipe

Dataset = Annotated[str | None, typer.Option(help="Key of the dataset. Default: the recipe's.")]
Device = Annotated[DeviceName, typer.Option(help="auto takes a TPU, else a GPU, else the CPU, and says why.")]
Output = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Directory of the run. Default: a new one in the home directory."),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on from the newest checkpoint in --output, if there is one.")
]
ResumeFrom = Annotated[
    str | None,
    typer.Option(
        metavar="STEP|latest", help="Go on from the checkpoint of this step; later ones are dropped."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable."),
]
Coordinator = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Address of process 0, when several processes train together."),
]
NumProcesses = Annotated[int | None, typer.Option(min=1, help="How many processes train together.")]
ProcessId = Annotated[int | None, typer.Option(min=0, help="Which of them this is, from 0.")]
Force = Annotated[bool, typer.Option("--force", help="Run even though the plan says that it does not fit.")]
SmokeSteps = Annotated[
    int | None, typer.Option(min=1, help="End after this many steps; all else is the same.")
]
StopAfter = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help="Stop in time, with a checkpoint, e.g. after 8h30m. Exit 7; --resume goes on from there.",
    ),
]
# What a worker gives: its copy of a recipe has another name.
RecipeName = Annotated[str | None, typer.Option(hidden=True)]
# What `tunix-rt doctor --parity` gives to both engines.
InitialAdapters = Annotated[Path | None, typer.Option(hidden=True)]


def train(
    recipe: RecipeFile,
    dataset: Dataset = None,
    engine: EngineOption = "auto",
    device: Device = "auto",
    output: Output = None,
    resume: Resume = False,
    resume_from: ResumeFrom = None,
    sets: Set = None,
    force: Force = False,
    smoke_steps: SmokeSteps = None,
    stop_after: StopAfter = None,
    coordinator: Coordinator = None,
    num_processes: NumProcesses = None,
    process_id: ProcessId = None,
    recipe_name: RecipeName = None,
    initial_adapters: InitialAdapters = None,
    as_json: JsonFlag = False,
) -> None:
    """Train a model. docs/training.md explains the run directory, resuming and the exit codes."""
    if resume and resume_from is not None:
        raise InvalidInputError("--resume and --resume-from are both given.", next_step="Keep one of them.")
    recipe = recipe_file(recipe)
    flags = {} if dataset is None else {"data.dataset": Flag(dataset, "--dataset")}
    request = TrainRequest(
        resolved=resolve(recipe, sets or [], flags, smoke_steps, smoke_reason="--smoke-steps"),
        recipe_path=recipe,
        recipe_name=recipe_name,
        engine=engine,
        device=DeviceRequest(device),
        output=output,
        resume_from=LATEST if resume else parse_resume_from(resume_from, "--resume-from"),
        processes=_processes(coordinator, num_processes, process_id),
        is_forced=force,
        stop_after_s=None if stop_after is None else parse_duration(stop_after),
        initial_adapters=initial_adapters,
    )
    run_request(request, as_json=as_json)


def resolve(
    path: Path, sets: list[str], flags: dict[str, Flag], smoke_steps: int | None, *, smoke_reason: str
) -> ResolvedRecipe:
    """The recipe with everything that the command line says about it."""
    resolved = load_recipe(path, sets=sets, flags=flags)
    if smoke_steps is None:
        return resolved
    smoke = smoke_flags(resolved.recipe, smoke_steps, reason=smoke_reason)
    return load_recipe(path, sets=sets, flags={**flags, **smoke})


def _processes(
    coordinator: str | None, num_processes: int | None, process_id: int | None
) -> ProcessGroup | None:
    if coordinator is None and num_processes is None and process_id is None:
        return None
    if coordinator is None or num_processes is None or process_id is None:
        raise not_together()
    return ProcessGroup(coordinator, num_processes, process_id)


def parse_resume_from(text: str | None, flag: str) -> ResumePoint | None:
    """A step, `latest`, or nothing."""
    if text is None:
        return None
    if text == LATEST:
        return LATEST
    if not text.isdecimal():
        raise InvalidInputError(
            f"{flag} {text} is neither a step nor 'latest'.", next_step=f"Write {flag} 200 or {flag} latest."
        )
    return int(text)
