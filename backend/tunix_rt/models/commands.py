"""tunix-rt models."""

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import Home, opened_home
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, note, print_json, say
from tunix_rt.engines.commands import EngineOption
from tunix_rt.engines.load import chosen_engine, load_engine
from tunix_rt.engines.select import RequestedEngine
from tunix_rt.engines.training.data import dataset_rows, engine_of_run
from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.run_dir import JOIN_WAIT_S, RunDir
from tunix_rt.engines.types import DeviceName, DeviceRequest, EngineName
from tunix_rt.models.card import card_of
from tunix_rt.models.export import ExportRequest, OnStage, export_directory, export_zip, require_exportable
from tunix_rt.models.find import model_detail, resolve
from tunix_rt.models.register import parse_annotations, register_directory, register_run, run_by_id_or_path
from tunix_rt.models.service import (
    collect_garbage,
    remove_model,
    remove_version,
    set_alias,
    set_notes,
    set_tag,
    unset_alias,
    verify_versions,
)
from tunix_rt.models.store import ModelRepository, evaluations_of
from tunix_rt.models.types import ExportForm, ExportReport, is_reference, parse_reference
from tunix_rt.models.views import print_model, print_models, print_report, print_version, size_text
from tunix_rt.recipes.load import load_recipe
from tunix_rt.recipes.types import FloatFormat

MergedFormat = Literal["auto", "float32", "bfloat16"]
assert set(get_args(MergedFormat)) == {"auto", *get_args(FloatFormat)}

Reference = Annotated[
    str, typer.Argument(metavar="MODEL", help="NAME (its newest version), NAME@ALIAS or NAME:VERSION.")
]
Form = Annotated[
    ExportForm,
    typer.Option("--as", help="merged: a whole model; adapter: for PEFT; zip: the registered files."),
]
Output = Annotated[Path, typer.Option("--output", metavar="PATH", help="New directory, or new zip file.")]
Dtype = Annotated[
    MergedFormat, typer.Option("--dtype", help="Format of merged weights. auto: that of the base model.")
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
    """Export a model for other programs and check it is the same. Exit 1 if it generates other tokens."""
    with opened_home() as home:
        version = resolve(home, model)
        request = ExportRequest(version, form, output.absolute(), dtype, DeviceRequest(device))
        report = run_export(home, request, engine, note)
    print_json(report.to_json()) if as_json else print_report(report, str(output))
    if not report.passed:
        note("the export differs from the registered model: see its report; --dtype float32 avoids rounding")
        raise typer.Exit(1)


def run_export(
    home: Home, request: ExportRequest, requested: RequestedEngine, on_stage: OnStage
) -> ExportReport:
    """Export with the requested engine, or with one that can load the model."""
    require_exportable(request)
    if request.form == "zip":
        return export_zip(home, request)
    # Only the engine that initialized the random weights under an adapter can do so again.
    base = request.version.lineage.base
    name = base.drawn_by if request.version.kind == "adapter" and base is not None else None
    required = next((engine for engine in get_args(EngineName) if engine == name), None)
    choice = chosen_engine(requested, request.device.name, resumed=required)
    return export_directory(home, load_engine(choice), request, on_stage)


def export_checkpoint(
    run: Annotated[Path, typer.Argument(help="Directory of the run.")],
    step: Annotated[int, typer.Argument(min=0, help="Step of the checkpoint.")],
    output: Annotated[Path, typer.Argument(help="New directory.")],
    device: Device = "auto",
    as_json: JsonFlag = False,
) -> None:
    """Export the weights of a checkpoint as a model."""
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


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the model; created if new.")]
Run = Annotated[str | None, typer.Option("--run", metavar="RUN", help="Id or directory of a run.")]
Step = Annotated[
    int | None, typer.Option(min=1, help="A checkpoint of the run. Default: the model it exported.")
]
Directory = Annotated[
    Path | None, typer.Option("--directory", metavar="DIR", help="Directory of a model or an adapter.")
]
Label = Annotated[str | None, typer.Option(help="A second, permanent name of the version.")]
Notes = Annotated[str, typer.Option("--note", help="Notes on the version.")]
TagPairs = Annotated[
    list[str] | None, typer.Option("--tag", metavar="NAME=VALUE", help="A tag of the version; repeatable.")
]
Aliases = Annotated[
    list[str] | None, typer.Option("--alias", metavar="ALIAS", help="Alias of the version; repeatable.")
]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="Number of models to show.")]
Offset = Annotated[int, typer.Option(min=0, help="Number of models to skip.")]


def list_(limit: Limit = 50, offset: Offset = 0, as_json: JsonFlag = False) -> None:
    """List registered models by name."""
    with opened_home() as home:
        found, total = ModelRepository(home.database).list(limit=limit, offset=offset)
    if as_json:
        print_json({"data": [model.to_json() for model in found], "total": total})
    else:
        print_models(found, total)


def show(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="NAME: all versions; NAME@ALIAS or NAME:VERSION: one version."),
    ],
    card: Annotated[bool, typer.Option("--card", help="Print the model card of the version.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show a model with its versions, or one version with its lineage and scores."""
    with opened_home() as home:
        if card:
            say(card_of(home, resolve(home, model)))
        elif is_reference(model):
            version = resolve(home, model)
            evaluations = evaluations_of(home.database, version)
            if as_json:
                shown = [evaluation.to_json() for evaluation in evaluations]
                print_json({**version.to_json(), "evaluations": shown})
            else:
                print_version(version, evaluations)
        else:
            detail = model_detail(home, model)
            print_json(detail.to_json()) if as_json else print_model(detail)


def register(
    name: Name,
    run: Run = None,
    step: Step = None,
    directory: Directory = None,
    label: Label = None,
    notes: Notes = "",
    tag: TagPairs = None,
    alias: Aliases = None,
    as_json: JsonFlag = False,
) -> None:
    """Register the weights of a successful run, of one of its checkpoints, or of a directory."""
    annotations = parse_annotations(label, notes, dict(map(_parse_tag, tag or [])))
    with opened_home() as home:
        if run is not None and directory is None:
            run_dir = run_by_id_or_path(home.settings, run)
            done = register_run(home, name, run_dir, step=step, annotations=annotations)
        elif directory is not None and run is None and step is None:
            done = register_directory(home, name, directory.absolute(), annotations=annotations)
        else:
            raise InvalidInputError(
                "Name either a run or a directory to register.",
                next_step="Add --run RUN (and --step N for a checkpoint), or --directory DIR.",
            )
        version = done.version
        for one in alias or []:
            version = set_alias(home, version.reference, one)
    if as_json:
        print_json({**version.to_json(), "is_new": done.is_new})
        return
    already = "" if done.is_new else " already has this content"
    say(f"{version.reference} ({version.kind}, {size_text(version.size_bytes)}){already}")
    say(f"content {version.content_hash}")
    if not version.aliases:
        say(f"next: tunix-rt models alias {version.reference} champion")


def alias(
    model: Reference,
    alias: Annotated[str, typer.Argument(metavar="ALIAS", help="For example champion.")],
    as_json: JsonFlag = False,
) -> None:
    """Point an alias at this version; it moves atomically from the previous one."""
    with opened_home() as home:
        version = set_alias(home, model, alias)
    print_json(version.to_json()) if as_json else say(
        f"{version.model}@{alias} points to {version.reference}"
    )


def unalias(
    model: Annotated[str, typer.Argument(metavar="NAME@ALIAS", help="The alias to delete.")],
    as_json: JsonFlag = False,
) -> None:
    """Delete an alias; the version stays."""
    with opened_home() as home:
        version = unset_alias(home, model)
    print_json(version.to_json()) if as_json else say(f"{model} is deleted; {version.reference} stays")


def tag(
    model: Reference,
    pairs: Annotated[list[str] | None, typer.Argument(metavar="NAME=VALUE", help="Tags to set.")] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="NAME", help="A tag to remove; repeatable.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Set or remove tags of a version."""
    with opened_home() as home:
        version = resolve(home, model)
        for name, value in map(_parse_tag, pairs or []):
            version = set_tag(home, version.reference, name, value)
        for name in remove or []:
            version = ModelRepository(home.database).remove_tag(parse_reference(version.reference), name)
    if as_json:
        print_json(version.to_json())
    else:
        say(f"{version.reference}: " + (", ".join(f"{k}={v}" for k, v in version.tags.items()) or "no tags"))


def note_(
    model: Reference,
    text: Annotated[str, typer.Argument(metavar="TEXT", help='The new notes; "" clears them.')],
    as_json: JsonFlag = False,
) -> None:
    """Replace the notes of a version."""
    with opened_home() as home:
        version = set_notes(home, model, text)
    print_json(version.to_json()) if as_json else say(f"{version.reference}: {version.notes or 'no note'}")


def verify(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="One version. Default: all versions.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Read every byte and compare it with what was registered. Exit 1 if anything is damaged."""
    with opened_home() as home:
        versions = ModelRepository(home.database).all_versions() if model is None else (resolve(home, model),)
        verdicts = []
        for verdict in verify_versions(home, versions):
            verdicts.append(verdict)
            if not as_json:
                result = "; ".join(verdict.problems) or "intact"
                say(f"{verdict.version:<24} {size_text(verdict.size_bytes):>10}  {result}")
    if as_json:
        print_json([verdict.to_json() for verdict in verdicts])
    if any(verdict.problems for verdict in verdicts):
        note("next: register the same models again to restore their files, or restore a backup")
        raise typer.Exit(1)


def rm(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="NAME:VERSION, or NAME with --all-versions.")],
    all_versions: Annotated[
        bool, typer.Option("--all-versions", help="Remove the model with all its versions.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Remove a version or a model. Refused while an alias, a baseline or a trained model depends on it."""
    with opened_home() as home:
        if not is_reference(model):
            versions = remove_model(home, model, with_versions=all_versions)
        else:
            versions = (remove_version(home, parse_reference(model)),)
    removed = [version.reference for version in versions] or [model]
    if as_json:
        print_json({"removed": removed})
    else:
        say(f"removed {', '.join(removed)}; tunix-rt models gc frees the disk space")


def gc(as_json: JsonFlag = False) -> None:
    """Remove files that no version needs."""
    with opened_home() as home:
        removed = collect_garbage(home)
    if as_json:
        print_json({"num_files": removed.num_blobs, "num_bytes": removed.num_bytes})
    else:
        say(f"removed {counted(removed.num_blobs, 'file')}, {size_text(removed.num_bytes)}")


def _parse_tag(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise InvalidInputError(f"{text!r} is not a tag.", next_step="Write NAME=VALUE: team=maths.")
    return name, value
