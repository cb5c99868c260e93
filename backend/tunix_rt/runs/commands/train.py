"""tunix-rt train."""

import os
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.settings import Settings, load_settings
from tunix_rt.base.terminal.options import JsonFlag, RecipeFile, Set, SmokeSteps, parse_duration, recipe_file
from tunix_rt.base.terminal.output import err, note, print_json, say
from tunix_rt.engines.commands import EngineOption
from tunix_rt.engines.load import chosen_engine, load_engine
from tunix_rt.engines.select import EngineChoice, RequestedEngine
from tunix_rt.engines.training.data import dataset_rows, engine_of_run, file_rows, new_run_dir, smoke_flags
from tunix_rt.engines.training.job import (
    LATEST,
    ProcessGroup,
    ResumePoint,
    TrainingJob,
    processes_of_torchrun,
)
from tunix_rt.engines.training.run import run
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import OUT_OF_TIME, OUT_OF_TIME_TEXT
from tunix_rt.engines.types import DeviceName, DeviceRequest
from tunix_rt.engines.weights.sources import with_absolute_paths
from tunix_rt.models.find import with_registered_model
from tunix_rt.recipes.load import Flag, ResolvedRecipe, load_recipe
from tunix_rt.runs.views import TrainingView, summary


@dataclass(frozen=True)
class TrainRequest:
    """The options of `tunix-rt train`."""

    resolved: ResolvedRecipe
    recipe_path: Path
    recipe_name: str | None = None
    """None: that of the file."""
    data_file: Path | None = None
    engine: RequestedEngine = "auto"
    device: DeviceRequest = field(default_factory=DeviceRequest)
    output: Path | None = None
    resume_from: ResumePoint | None = None
    checkpoint_dir: Path | None = None
    processes: ProcessGroup | None = None
    is_forced: bool = False
    stop_after_s: float | None = None
    initial_adapters: Path | None = None


def run_request(request: TrainRequest, *, as_json: bool) -> None:
    """Train, print the result, and exit with its exit code."""
    settings = load_settings()
    if request.resume_from is not None and request.output is None:
        raise InvalidInputError(
            "There is no run to resume.", next_step="Give its directory with --output DIR."
        )
    request = replace(request, resolved=with_registered_model(settings, request.resolved))
    run_dir = new_run_dir(settings, request.recipe_path, request.output)
    by_torchrun = processes_of_torchrun(os.environ)
    engine = chosen_engine(
        request.engine,
        request.device.name,
        resumed=None if request.resume_from is None else engine_of_run(run_dir),
        is_torchrun=by_torchrun is not None,
    )
    # torchrun starts processes for its own engine only.
    processes = request.processes or (by_torchrun if engine.name == "torch" else None)
    if processes is not None and request.output is None:
        raise _not_together()
    if processes is not None and request.stop_after_s is not None:
        raise InvalidInputError(
            "--stop-after works with one process only: several would stop after different steps.",
            next_step="Leave it out, and set output.save_every_steps so that little is lost at the end.",
        )
    job = _job(settings, request, run_dir, engine, processes)
    with TrainingView(err) as view:
        manifest = run(load_engine(engine), job, view)
    directory = str(job.run_dir.path)
    if as_json:
        print_json({"directory": directory, **manifest.to_json()})
    else:
        say(summary(manifest, directory))
    if manifest.status == "cancelled":
        why = f"{OUT_OF_TIME_TEXT}. " if manifest.exit_code == OUT_OF_TIME else ""
        note(f"{why}To resume, run the same command with --output {shlex.quote(directory)} --resume")
    if manifest.exit_code:
        raise typer.Exit(manifest.exit_code)


def _not_together() -> InvalidInputError:
    return InvalidInputError(
        "Distributed training needs --coordinator, --num-processes, --process-id and --output.",
        next_step="Give all four, or use torchrun with --output; the output must be the same directory, on "
        "a disk that all processes share.",
    )


def _job(
    settings: Settings,
    request: TrainRequest,
    run_dir: RunDir,
    engine: EngineChoice,
    processes: ProcessGroup | None,
) -> TrainingJob:
    recipe, checkpoint_dir = request.resolved.recipe, request.checkpoint_dir
    if processes is not None and processes.process_id:
        # Checkpoints are written together; every process but the first has its own run directory.
        checkpoint_dir = checkpoint_dir or run_dir.checkpoints
        run_dir = run_dir.of_process(processes.process_id)
    file = request.data_file
    return TrainingJob(
        resolved=request.resolved,
        data=dataset_rows(settings, recipe) if file is None else file_rows(file, recipe),
        run_dir=run_dir,
        device=request.device,
        resume_from=request.resume_from,
        checkpoint_dir=checkpoint_dir,
        processes=processes,
        is_forced=request.is_forced,
        stop_after_s=request.stop_after_s,
        recipe_name=request.recipe_name or request.recipe_path.stem,
        engine_choice=str(engine),
        initial_adapters=request.initial_adapters,
    )


Dataset = Annotated[str | None, typer.Option(help="Key of the dataset. Default: the one in the recipe.")]
Device = Annotated[
    DeviceName, typer.Option(help="auto chooses a TPU, else a GPU, else the CPU, and prints why.")
]
Output = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Directory of the run. Default: a new one in the home directory."),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Resume from the newest checkpoint in --output, if there is one.")
]
ResumeFrom = Annotated[
    str | None,
    typer.Option(
        metavar="STEP|latest", help="Resume from the checkpoint of this step; later ones are deleted."
    ),
]
Coordinator = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Address of process 0, for distributed training."),
]
NumProcesses = Annotated[int | None, typer.Option(min=1, help="Number of processes in distributed training.")]
ProcessId = Annotated[int | None, typer.Option(min=0, help="Index of this process, from 0.")]
Force = Annotated[bool, typer.Option("--force", help="Run even if the plan says that it does not fit.")]
StopAfter = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help="Stop with a checkpoint after this time, e.g. 8h30m. Exits with 7; --resume continues.",
    ),
]
# Set by a worker: its copy of the recipe has another file name.
RecipeName = Annotated[str | None, typer.Option(hidden=True)]
# Set by `tunix-rt doctor --parity` for both engines.
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
        raise InvalidInputError(
            "--resume and --resume-from exclude each other.", next_step="Give one of them."
        )
    processes = None
    if coordinator is not None and num_processes is not None and process_id is not None:
        processes = ProcessGroup(coordinator, num_processes, process_id)
    elif (coordinator, num_processes, process_id) != (None, None, None):
        raise _not_together()
    recipe = recipe_file(recipe)
    flags = {} if dataset is None else {"data.dataset": Flag(dataset, "--dataset")}
    resolved = resolve(recipe, sets or [], flags, smoke_steps, smoke_reason="--smoke-steps")
    request = TrainRequest(
        # In a submitted recipe, directories are absolute already and `owner/name` is a hub id.
        resolved=with_absolute_paths(resolved) if recipe_name is None else resolved,
        recipe_path=recipe,
        recipe_name=recipe_name,
        engine=engine,
        device=DeviceRequest(device),
        output=output,
        resume_from=LATEST if resume else parse_resume_from(resume_from, "--resume-from"),
        processes=processes,
        is_forced=force,
        stop_after_s=None if stop_after is None else parse_duration(stop_after),
        initial_adapters=initial_adapters,
    )
    run_request(request, as_json=as_json)


def resolve(
    path: Path, sets: list[str], flags: dict[str, Flag], smoke_steps: int | None, *, smoke_reason: str
) -> ResolvedRecipe:
    """The recipe with the overrides of the command line."""
    resolved = load_recipe(path, sets=sets, flags=flags)
    if smoke_steps is None:
        return resolved
    smoke = smoke_flags(resolved.recipe, smoke_steps, reason=smoke_reason)
    return load_recipe(path, sets=sets, flags={**flags, **smoke})


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
