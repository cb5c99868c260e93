"""`tunix-rt data …`: build and inspect datasets."""

import shutil
import sys
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer
from pydantic import BaseModel

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import opened_home
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, print_json, progress_bar, say
from tunix_rt.cli import data_options, data_view
from tunix_rt.services import datasets as dataset_service
from tunix_rt.services.dataset_building import build_from_store
from tunix_rt.services.dataset_comparing import diff_datasets
from tunix_rt.services.dataset_exporting import ExportFileType, ExportFormat, export_directory, open_export
from tunix_rt.services.dataset_ingesting import default_name_and_version, ingest_file, named_file
from tunix_rt.traces import commands as filters
from tunix_rt.traces import commands as import_args
from tunix_rt.traces.export import build_filter
from tunix_rt.traces.formats.converters import parse_column_map
from tunix_rt.traces.importer import import_options

Key = Annotated[str, typer.Argument(metavar="KEY", help="Key of a dataset: NAME-VERSION.")]
SplitName = Annotated[str | None, typer.Option("--split", help="Name of a split.")]
PageLimit = Annotated[int, typer.Option(min=1, max=1000, help="How many to show.")]
PageOffset = Annotated[int, typer.Option(min=0, help="How many to skip.")]


def build(
    name: data_options.Name,
    version: data_options.Version = "v1",
    source: filters.Source = None,
    meta: filters.MetaPairs = [],  # noqa: B006
    tag: filters.Tags = [],  # noqa: B006
    min_score: filters.MinScore = None,
    max_score: filters.MaxScore = None,
    code: filters.WithCodes = [],  # noqa: B006
    without_code: filters.WithoutCodes = [],  # noqa: B006
    query: filters.Search = None,
    limit: data_options.RowLimit = None,
    strategy: data_options.Strategy = "latest",
    seed: data_options.Seed = 0,
    split: data_options.SplitPairs = [],  # noqa: B006
    dedup: data_options.Dedup = "exact",
    near_threshold: data_options.NearThreshold = 0.8,
    max_per_prompt: data_options.MaxPerPrompt = None,
    allow_contamination: data_options.AllowContamination = False,
    remove_contaminated: data_options.RemoveContaminated = False,
    parent: data_options.Parent = None,
    license: data_options.License = "unknown",
    note: data_options.Notes = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Make a dataset of the stored traces that the options choose. It never changes afterwards."""
    criteria = build_filter(
        source=source,
        meta=meta,
        tags=tag,
        min_score=min_score,
        max_score=max_score,
        codes=code,
        without_codes=without_code,
        query=query,
    )
    spec = data_options.dataset_spec(
        dataset_name=name,
        dataset_version=version,
        filters=criteria,
        limit=limit,
        selection_strategy=strategy,
        seed=seed,
        splits=split,
        dedup=dedup,
        near_threshold=near_threshold,
        max_per_prompt=max_per_prompt,
        allow_contamination=allow_contamination,
        remove_contaminated=remove_contaminated,
        parent_dataset_key=parent,
        license=license,
        notes=note,
    )
    with opened_home() as opened, progress_bar("reading traces") as progress:
        outcome = build_from_store(opened, spec, progress=progress)
    print_json(_without_nulls(outcome)) if as_json else data_view.print_outcome(outcome)


def ingest(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|NAME", help="A file of traces, - for standard input, or a shipped dataset."
        ),
    ],
    name: data_options.OptionalName = None,
    version: data_options.OptionalVersion = None,
    row_format: import_args.RowFormatName = None,
    column: import_args.ColumnPairs = [],  # noqa: B006
    source: import_args.SourceName = None,
    skip_invalid: import_args.SkipInvalid = False,
    rejects: import_args.Rejects = None,
    seed: data_options.Seed = 0,
    split: data_options.SplitPairs = [],  # noqa: B006
    dedup: data_options.Dedup = "exact",
    allow_contamination: data_options.AllowContamination = False,
    remove_contaminated: data_options.RemoveContaminated = False,
    license: data_options.License = "unknown",
    as_json: JsonFlag = False,
) -> None:
    """Import a file and make a dataset of exactly its traces."""
    default_name, default_version = default_name_and_version(file)
    spec = data_options.dataset_spec(
        dataset_name=name or default_name,
        dataset_version=version or default_version,
        seed=seed,
        splits=split,
        dedup=dedup,
        allow_contamination=allow_contamination,
        remove_contaminated=remove_contaminated,
        license=license,
        notes=[f"file={Path(file).name}"],
    )
    options = import_options(
        row_format=row_format,
        column_map=parse_column_map(column),
        source=source,
        skip_invalid=skip_invalid,
        rejects_path=rejects,
    )
    with opened_home() as opened, progress_bar("reading traces") as progress:
        report = ingest_file(opened, named_file(file), options=options, spec=spec, on_build=progress)
    if as_json:
        print_json(report)
        return
    say(f"Ingested {counted(report.ingested_count, 'trace')}, {report.report.num_imported:,} of them new.")
    if report.dataset is not None:
        data_view.print_outcome(report.dataset)


def list_datasets(
    text: Annotated[str | None, typer.Option(help="Only those whose key has this in it.")] = None,
    limit: PageLimit = 100,
    offset: PageOffset = 0,
    as_json: JsonFlag = False,
) -> None:
    """Show the datasets."""
    page = dataset_service.list_datasets(load_settings().datasets_dir, limit=limit, offset=offset, text=text)
    print_json(page) if as_json else data_view.print_list(page)


def show(key: Key, as_json: JsonFlag = False) -> None:
    """Show what a dataset holds and where it comes from."""
    manifest = dataset_service.get_dataset(load_settings().datasets_dir, key)
    print_json(_without_nulls(manifest)) if as_json else data_view.print_manifest(manifest)


def rows(
    key: Key,
    split: SplitName = None,
    limit: PageLimit = 20,
    offset: PageOffset = 0,
    as_json: JsonFlag = False,
) -> None:
    """Show the rows of a split; the first split unless named."""
    page = dataset_service.read_rows(
        load_settings().datasets_dir, key, split=split, limit=limit, offset=offset
    )
    print_json(page) if as_json else data_view.print_rows(page)


def diff(
    base: Key,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Key of the dataset that came after.")],
    limit: PageLimit = 20,
    offset: PageOffset = 0,
    as_json: JsonFlag = False,
) -> None:
    """Show what changed from one dataset to another."""
    result = diff_datasets(load_settings().datasets_dir, base, other, limit=limit, offset=offset)
    print_json(result) if as_json else data_view.print_diff(result)


def export(
    key: Key,
    export_format: Annotated[
        str, typer.Option("--format", help=f"{', '.join(get_args(ExportFormat))}.")
    ] = "trace",
    file_type: Annotated[str, typer.Option("--file-type", help="jsonl or parquet.")] = "jsonl",
    split: SplitName = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="New directory for the splits and the dataset card."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write a dataset for other tools: to a directory with its card, or to standard output."""
    _require_choice("--format", export_format, get_args(ExportFormat))
    _require_choice("--file-type", file_type, get_args(ExportFileType))
    chosen = cast(ExportFormat, export_format), cast(ExportFileType, file_type)
    datasets_dir = load_settings().datasets_dir
    if output is None:
        with open_export(
            datasets_dir, key, split=split, export_format=chosen[0], file_type=chosen[1]
        ) as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        return
    report = export_directory(
        datasets_dir, key, output, split=split, export_format=chosen[0], file_type=chosen[1]
    )
    if as_json:
        print_json(report)
        return
    say(f"Wrote {counted(sum(report.rows_by_file.values()), 'row')} and the dataset card to {output}.")


def delete(key: Key, as_json: JsonFlag = False) -> None:
    """Remove a dataset; its traces stay. Refused while a run uses it."""
    dataset_service.delete_dataset(load_settings(), key)
    print_json({"deleted": key}) if as_json else say(f"Deleted {key}.")


def _without_nulls(value: BaseModel) -> dict[str, Any]:
    return value.model_dump(mode="json", exclude_none=True)


def _require_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidInputError(
            f"{option} cannot be {value!r}.", next_step=f"Choose one of: {', '.join(choices)}."
        )
