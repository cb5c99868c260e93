"""`tunix-rt models export`, and the command that a registration of a checkpoint runs in a child."""

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from tunix_rt.base.home import Home, opened_home
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import note, print_json
from tunix_rt.cli.models_view import print_report
from tunix_rt.core.models.export import ExportForm, ExportReport
from tunix_rt.core.models.version import ModelVersion
from tunix_rt.engines.commands import EngineOption
from tunix_rt.engines.load import chosen_engine, load_engine
from tunix_rt.engines.select import AskedEngine
from tunix_rt.engines.training.data import dataset_rows, engine_of_run
from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.run_dir import JOIN_WAIT_S, RunDir
from tunix_rt.engines.types import DeviceName, DeviceRequest, EngineName
from tunix_rt.recipes.load import load_recipe
from tunix_rt.recipes.types import FloatFormat
from tunix_rt.services.registry.exporting import ExportRequest, export_directory, export_zip, require_possible
from tunix_rt.services.registry.parity import OnStage
from tunix_rt.services.registry.resolving import resolve

MergedFormat = Literal["auto", "float32", "bfloat16"]
assert set(get_args(MergedFormat)) == {"auto", *get_args(FloatFormat)}

Reference = Annotated[
    str, typer.Argument(metavar="MODEL", help="NAME (its newest version), NAME@ALIAS or NAME:VERSION.")
]
Form = Annotated[
    ExportForm,
    typer.Option("--as", help="merged: a whole model; adapter: as PEFT loads it; zip: what was registered."),
]
Output = Annotated[
    Path, typer.Option("--output", metavar="PATH", help="New directory, or the zip file. Must not exist.")
]
Dtype = Annotated[
    MergedFormat, typer.Option("--dtype", help="Of merged weights. auto: as the base model has them.")
]
Device = Annotated[DeviceName, typer.Option(help="Where the models are compared.")]


def export(
    model: Reference,
    form: Form,
    output: Output,
    dtype: Dtype = "auto",
    engine: EngineOption = "auto",
    device: Device = "auto",
    as_json: JsonFlag = False,
) -> None:
    """Write a model for other programs and prove it is the same. Exit 1 if it writes other tokens."""
    with opened_home() as home:
        version = resolve(home, model)
        request = ExportRequest(version, form, output.absolute(), dtype, DeviceRequest(device))
        report = exported(home, request, engine, note)
    print_json(report.to_json()) if as_json else print_report(report, str(output))
    if not report.passed:
        note("the export is not the registered model: see the report in it; --dtype float32 rounds nothing")
        raise typer.Exit(1)


def exported(home: Home, request: ExportRequest, asked: AskedEngine, on_stage: OnStage) -> ExportReport:
    """Export with the engine that can, or the one that was asked for."""
    require_possible(request)
    if request.form == "zip":
        return export_zip(home, request)
    choice = chosen_engine(asked, request.device.name, resumed=_drawn_by(request.version))
    return export_directory(home, load_engine(choice), request, on_stage)


def _drawn_by(version: ModelVersion) -> EngineName | None:
    """The only engine that can draw the random weights below an adapter."""
    base = version.lineage.base
    named = base.drawn_by if version.kind == "adapter" and base is not None else None
    return next((engine for engine in get_args(EngineName) if engine == named), None)


def export_checkpoint(
    run: Annotated[Path, typer.Argument(help="Directory of the run.")],
    step: Annotated[int, typer.Argument(min=0, help="Of the checkpoint.")],
    output: Annotated[Path, typer.Argument(help="Directory that is made.")],
    device: Device = "auto",
    as_json: JsonFlag = False,
) -> None:
    """Write the weights of a checkpoint as a model."""
    run_dir = RunDir(run.absolute())
    resolved = load_recipe(run_dir.recipe)
    engine = load_engine(chosen_engine("auto", device, resumed=engine_of_run(run_dir)))
    job = TrainingJob(
        resolved=resolved,
        data=dataset_rows(load_settings(), resolved.recipe),
        run_dir=run_dir,
        device=DeviceRequest(device),
    )
    with run_dir.held(wait_s=JOIN_WAIT_S):
        engine.export_checkpoint(job, step, output)
    if as_json:
        print_json({"directory": str(output), "step": step})
