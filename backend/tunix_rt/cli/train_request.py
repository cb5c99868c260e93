"""A training that was asked for on a command line, whichever one: run, printed, ended with its code."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import typer

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.settings import Settings, load_settings
from tunix_rt.base.terminal.output import err, note, print_json, say
from tunix_rt.cli.train_view import TrainingView, summary
from tunix_rt.engines.load import chosen_engine, load_engine
from tunix_rt.engines.select import AskedEngine, EngineChoice
from tunix_rt.engines.training.data import dataset_rows, engine_of_run, file_rows, new_run_dir
from tunix_rt.engines.training.job import ProcessGroup, ResumePoint, TrainingJob, processes_of_torchrun
from tunix_rt.engines.training.run import run
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import OUT_OF_TIME, OUT_OF_TIME_TEXT, RunManifest
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.models.find import with_registered_model
from tunix_rt.recipes.load import ResolvedRecipe


@dataclass(frozen=True)
class TrainRequest:
    """What was asked for."""

    resolved: ResolvedRecipe
    recipe_path: Path
    recipe_name: str | None = None
    """None: that of the file."""
    data_file: Path | None = None
    engine: AskedEngine = "auto"
    device: DeviceRequest = field(default_factory=DeviceRequest)
    output: Path | None = None
    resume_from: ResumePoint | None = None
    checkpoint_dir: Path | None = None
    processes: ProcessGroup | None = None
    is_forced: bool = False
    stop_after_s: float | None = None
    initial_adapters: Path | None = None


def run_request(request: TrainRequest, *, as_json: bool) -> None:
    """Train, print how it ended, and exit with the code that says so."""
    settings = load_settings()
    if request.resume_from is not None and request.output is None:
        raise InvalidInputError(
            "There is no run to go on with.", next_step="Name its directory with --output DIR."
        )
    request = replace(request, resolved=with_registered_model(settings, request.resolved))
    run_dir = new_run_dir(settings, request.recipe_path, request.output)
    engine, processes = _who_trains(request, run_dir)
    job = _job(settings, request, run_dir, engine, processes)
    with TrainingView(err) as view:
        manifest = run(load_engine(engine), job, view)
    _print(manifest, job.run_dir.path, as_json=as_json)
    if manifest.exit_code == OUT_OF_TIME:
        note(f"{OUT_OF_TIME_TEXT}; the same command with --resume goes on from there")
    if manifest.exit_code:
        raise typer.Exit(manifest.exit_code)


def not_together() -> InvalidInputError:
    """The error of processes that do not say enough to find each other."""
    return InvalidInputError(
        "To train together, processes need --coordinator, --num-processes, --process-id and --output.",
        next_step="Give all four, or torchrun and --output; the output must be the same, on a disk that all "
        "of them share.",
    )


def _who_trains(request: TrainRequest, run_dir: RunDir) -> tuple[EngineChoice, ProcessGroup | None]:
    """The engine, and the processes that train together: by flags, or by torchrun for its own engine."""
    by_torchrun = processes_of_torchrun(os.environ)
    engine = chosen_engine(
        request.engine,
        request.device.name,
        resumed=None if request.resume_from is None else engine_of_run(run_dir),
        is_torchrun=by_torchrun is not None,
    )
    processes = request.processes or (by_torchrun if engine.name == "torch" else None)
    if processes is not None and request.output is None:
        raise not_together()
    if processes is not None and request.stop_after_s is not None:
        raise InvalidInputError(
            "--stop-after is for one process: several would not stop after the same step.",
            next_step="Leave it out, and choose output.save_every_steps so that little is lost at the end.",
        )
    return engine, processes


def _job(
    settings: Settings,
    request: TrainRequest,
    run_dir: RunDir,
    engine: EngineChoice,
    processes: ProcessGroup | None,
) -> TrainingJob:
    recipe, checkpoint_dir = request.resolved.recipe, request.checkpoint_dir
    if processes is not None and processes.process_id:
        # Checkpoints are written together; every process but the first keeps its own records beside.
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


def _print(manifest: RunManifest, directory: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"directory": str(directory), **manifest.to_json()})
    else:
        say(summary(manifest, str(directory)))
