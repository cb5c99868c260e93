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
from tunix_rt.models.export import ExportRequest, OnStage, export_directory, export_zip, require_possible
from tunix_rt.models.find import model_detail, resolve
from tunix_rt.models.register import (
    Registration,
    register_directory,
    register_run,
    register_run_dir,
    remarks_of,
)
from tunix_rt.models.service import (
    collect_garbage,
    remove_model,
    remove_tag,
    remove_version,
    set_alias,
    set_notes,
    set_tag,
    unset_alias,
    verify_versions,
)
from tunix_rt.models.store import ModelRepository, evaluations_of
from tunix_rt.models.types import (
    ExportForm,
    ExportReport,
    ModelVersion,
    Remarks,
    is_reference,
    parse_reference,
)
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


def exported(home: Home, request: ExportRequest, asked: RequestedEngine, on_stage: OnStage) -> ExportReport:
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


Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the model; it is made if it is not there.")]
Run = Annotated[str | None, typer.Option("--run", metavar="RUN", help="Id or directory of a run.")]
Step = Annotated[
    int | None, typer.Option(min=1, help="A checkpoint of the run. Default: what the run exported.")
]
Directory = Annotated[
    Path | None, typer.Option("--directory", metavar="DIR", help="A model or adapter from elsewhere.")
]
Label = Annotated[str | None, typer.Option(help="A second name of the version; it never moves.")]
Notes = Annotated[str, typer.Option("--note", help="What people should know about it.")]
TagPairs = Annotated[
    list[str] | None, typer.Option("--tag", metavar="NAME=VALUE", help="A tag of the version; repeatable.")
]
Aliases = Annotated[
    list[str] | None, typer.Option("--alias", metavar="ALIAS", help="Let an alias mean it; repeatable.")
]
Limit = Annotated[int, typer.Option(min=1, max=1000, help="How many to show.")]
Offset = Annotated[int, typer.Option(min=0, help="How many to skip.")]


def list_(limit: Limit = 50, offset: Offset = 0, as_json: JsonFlag = False) -> None:
    """Registered models by name."""
    with opened_home() as home:
        found, total = ModelRepository(home.database).list(limit=limit, offset=offset)
    if as_json:
        print_json({"data": [model.to_json() for model in found], "total": total})
    else:
        print_models(found, total)


def show(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="NAME: all versions; NAME@ALIAS or NAME:VERSION: one."),
    ],
    card: Annotated[bool, typer.Option("--card", help="Print the model card of the version.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """A model with its versions, or one version with its lineage and scores."""
    with opened_home() as home:
        if card:
            say(card_of(home, resolve(home, model)))
        elif is_reference(model):
            _show_version(home, model, as_json=as_json)
        else:
            detail = model_detail(home, model)
            print_json(detail.to_json()) if as_json else print_model(detail)


def _show_version(home: Home, model: str, *, as_json: bool) -> None:
    version = resolve(home, model)
    evaluations = evaluations_of(home.database, version)
    if as_json:
        shown = [evaluation.to_json() for evaluation in evaluations]
        print_json({**version.to_json(), "evaluations": shown})
    else:
        print_version(version, evaluations)


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
    """Keep the weights of a run that succeeded, of one of its checkpoints, or of a directory."""
    remarks = remarks_of(label, notes, dict(map(_pair, tag or [])))
    with opened_home() as home:
        done = _registered(home, name, run, step, directory, remarks)
        version = done.version
        for one in alias or []:
            version = set_alias(home, version.reference, one)
    if as_json:
        print_json({**version.to_json(), "is_new": done.is_new})
        return
    already = "" if done.is_new else " already: the same content is registered once"
    say(f"{version.reference} ({version.kind}, {size_text(version.size_bytes)}){already}")
    say(f"content {version.content_hash}")
    if not version.aliases:
        say(f"next: tunix-rt models alias {version.reference} champion")


def _registered(
    home: Home, name: str, run: str | None, step: int | None, directory: Path | None, remarks: Remarks
) -> Registration:
    if (run is None) == (directory is None) or (step is not None and run is None):
        raise InvalidInputError(
            "A version comes from a run or from a directory.",
            next_step="Give --run RUN (and --step N for a checkpoint), or --directory DIR.",
        )
    if directory is not None:
        return register_directory(home, name, directory.absolute(), remarks=remarks)
    assert run is not None
    elsewhere = RunDir(Path(run).absolute())
    if elsewhere.recipe.is_file():
        return register_run_dir(home, name, elsewhere, step=step, remarks=remarks)
    return register_run(home, name, run, step=step, remarks=remarks)


def alias(
    model: Reference,
    alias: Annotated[str, typer.Argument(metavar="ALIAS", help="Such as champion.")],
    as_json: JsonFlag = False,
) -> None:
    """Let an alias mean this version; it moves in one step from the one that had it."""
    with opened_home() as home:
        version = set_alias(home, model, alias)
    print_json(version.to_json()) if as_json else say(f"{version.model}@{alias} is {version.reference}")


def unalias(
    model: Annotated[str, typer.Argument(metavar="NAME@ALIAS", help="The alias to forget.")],
    as_json: JsonFlag = False,
) -> None:
    """Forget an alias; the version stays."""
    with opened_home() as home:
        version = unset_alias(home, model)
    print_json(version.to_json()) if as_json else say(f"{model} is forgotten; {version.reference} stays")


def tag(
    model: Reference,
    pairs: Annotated[list[str] | None, typer.Argument(metavar="NAME=VALUE", help="Tags to set.")] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="NAME", help="A tag to take off; repeatable.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Set tags of a version, or take them off."""
    with opened_home() as home:
        version = resolve(home, model)
        for name, value in map(_pair, pairs or []):
            version = set_tag(home, version.reference, name, value)
        for name in remove or []:
            version = remove_tag(home, version.reference, name)
    if as_json:
        print_json(version.to_json())
    else:
        say(f"{version.reference}: " + (", ".join(f"{k}={v}" for k, v in version.tags.items()) or "no tags"))


def note_(
    model: Reference,
    text: Annotated[str, typer.Argument(metavar="TEXT", help='What people should know; "" for nothing.')],
    as_json: JsonFlag = False,
) -> None:
    """Write a note on a version, in place of the one that is there."""
    with opened_home() as home:
        version = set_notes(home, model, text)
    print_json(version.to_json()) if as_json else say(f"{version.reference}: {version.notes or 'no note'}")


def verify(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="One version. Default: every version.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Read every byte again and compare. Exit 1 when something is damaged."""
    with opened_home() as home:
        versions = ModelRepository(home.database).all_versions() if model is None else (resolve(home, model),)
        verdicts = []
        for verdict in verify_versions(home, versions):
            verdicts.append(verdict)
            if not as_json:
                say(
                    f"{verdict.version:<24} {size_text(verdict.size_bytes):>10}  {_verdict(verdict.problems)}"
                )
    if as_json:
        print_json([verdict.to_json() for verdict in verdicts])
    if any(verdict.problems for verdict in verdicts):
        note("next: register the same models again, which puts back their files, or restore a backup")
        raise typer.Exit(1)


def _verdict(problems: tuple[str, ...]) -> str:
    return "; ".join(problems) if problems else "whole"


def rm(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="NAME:VERSION, or NAME with --all-versions.")],
    all_versions: Annotated[
        bool, typer.Option("--all-versions", help="Remove the model and every version of it.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Forget a version or a model. What an alias, a baseline or a training needs is refused."""
    with opened_home() as home:
        if is_reference(model):
            gone = [remove_version(home, parse_reference(model)).reference]
        else:
            versions = remove_model(home, model, with_versions=all_versions)
            gone = [version.reference for version in versions] or [model]
    if as_json:
        print_json({"removed": gone})
    else:
        say(f"removed {', '.join(gone)}; tunix-rt models gc frees the disk")


def gc(as_json: JsonFlag = False) -> None:
    """Remove files that no version needs."""
    with opened_home() as home:
        removed = collect_garbage(home)
    if as_json:
        print_json({"num_files": removed.num_blobs, "num_bytes": removed.num_bytes})
    else:
        say(f"removed {counted(removed.num_blobs, 'file')}, {size_text(removed.num_bytes)}")


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise InvalidInputError(f"{text!r} is no tag.", next_step="Write NAME=VALUE, as in team=maths.")
    return name, value
