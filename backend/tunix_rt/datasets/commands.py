"""tunix-rt data build, ingest, list, show, rows, diff, export, delete, xray."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer
from pydantic import BaseModel, ValidationError

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.home import opened_home
from tunix_rt.base.records import explain_validation_error
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, out, print_json, progress_bar, say
from tunix_rt.datasets import service as dataset_service
from tunix_rt.datasets import views as data_view
from tunix_rt.datasets.build import build_from_store
from tunix_rt.datasets.diff import diff_datasets
from tunix_rt.datasets.ingest import default_name_and_version, ingest_file, named_file
from tunix_rt.datasets.service import ExportFileType, ExportFormat, export_directory, open_export
from tunix_rt.datasets.types import DatasetSpec
from tunix_rt.datasets.xray.inspect import ModelChoice, XrayOptions, xray_dataset
from tunix_rt.datasets.xray.report import LossOn, xray_html
from tunix_rt.datasets.xray.views import print_xray
from tunix_rt.traces.commands.files import ColumnPairs, Rejects, RowFormatName, SkipInvalid, SourceName
from tunix_rt.traces.commands.stored import with_trace_filter
from tunix_rt.traces.formats.converters import parse_column_map
from tunix_rt.traces.importer import import_options
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle, TraceFilter

Name = Annotated[str, typer.Option("--name", help="Name of the dataset; its key is NAME-VERSION.")]
Version = Annotated[str, typer.Option("--version", help="Version of the dataset: v1, v2, …")]
OptionalName = Annotated[
    str | None, typer.Option("--name", help="Name of the dataset. Default: derived from the file name.")
]
OptionalVersion = Annotated[
    str | None,
    typer.Option("--version", help="Version of the dataset. Default: from the file name, else v1."),
]
RowLimit = Annotated[int | None, typer.Option("--limit", min=1, help="At most this many rows. Default: all.")]
Strategy = Annotated[str, typer.Option("--strategy", help="Rows that --limit keeps: latest or random.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the splits and the random selection.")]
SplitPairs = Annotated[
    list[str],
    typer.Option(
        "--split",
        metavar="NAME=FRACTION",
        help="Fraction of the questions per split; repeatable. Default: train=0.9 validation=0.1.",
    ),
]
Dedup = Annotated[str, typer.Option("--dedup", help="Duplicates to remove: none, exact or near.")]
NearThreshold = Annotated[
    float, typer.Option("--near-threshold", min=0.5, max=1, help="Similarity of near-duplicates.")
]
MaxPerPrompt = Annotated[
    int | None, typer.Option("--max-per-prompt", min=1, help="At most this many solutions per question.")
]
AllowContamination = Annotated[
    bool, typer.Option("--allow-contamination", help="Keep and record rows that overlap with an eval set.")
]
RemoveContaminated = Annotated[
    bool, typer.Option("--remove-contaminated", help="Remove rows that overlap with an eval set.")
]
Parent = Annotated[str | None, typer.Option("--parent", help="Key of the parent dataset.")]
License = Annotated[str, typer.Option("--license", help="SPDX identifier of the licence of the rows.")]
Notes = Annotated[
    list[str], typer.Option("--note", metavar="KEY=VALUE", help="A note for the manifest; repeatable.")
]


def dataset_spec(*, splits: Sequence[str] = (), notes: Sequence[str] = (), **values: Any) -> DatasetSpec:
    """Build a spec from the options, or raise an error that names the invalid one."""
    if splits:
        values["splits"] = {name: _fraction(name, text) for name, text in map(_pair, splits)}
    values["provenance"] = dict(map(_pair, notes))
    try:
        return DatasetSpec(**values)
    except ValidationError as error:
        raise InvalidInputError(
            f"This dataset cannot be built: {explain_validation_error(error)}.",
            next_step="Correct the option; see `tunix-rt data build --help`.",
        ) from error


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise InvalidInputError(
            f"{text!r} is not of the form NAME=VALUE.", next_step="For example: --split train=0.9"
        )
    return key, value


def _fraction(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInputError(
            f"The fraction of the split {name!r} is not a number: {text!r}.",
            next_step="For example: --split train=0.9 --split validation=0.1",
        ) from error


Key = Annotated[str, typer.Argument(metavar="KEY", help="Key of a dataset: NAME-VERSION.")]
SplitName = Annotated[str | None, typer.Option("--split", help="Name of a split.")]
PageLimit = Annotated[int, typer.Option(min=1, max=1000, help="How many to show.")]
PageOffset = Annotated[int, typer.Option(min=0, help="How many to skip.")]


@with_trace_filter
def build(
    name: Name,
    version: Version = "v1",
    *,
    criteria: TraceFilter,
    limit: RowLimit = None,
    strategy: Strategy = "latest",
    seed: Seed = 0,
    split: SplitPairs = [],  # noqa: B006
    dedup: Dedup = "exact",
    near_threshold: NearThreshold = 0.8,
    max_per_prompt: MaxPerPrompt = None,
    allow_contamination: AllowContamination = False,
    remove_contaminated: RemoveContaminated = False,
    parent: Parent = None,
    license: License = "unknown",
    note: Notes = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Build an immutable dataset from the stored traces that match the options."""
    spec = dataset_spec(
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
    name: OptionalName = None,
    version: OptionalVersion = None,
    row_format: RowFormatName = None,
    column: ColumnPairs = [],  # noqa: B006
    source: SourceName = None,
    skip_invalid: SkipInvalid = False,
    rejects: Rejects = None,
    seed: Seed = 0,
    split: SplitPairs = [],  # noqa: B006
    dedup: Dedup = "exact",
    allow_contamination: AllowContamination = False,
    remove_contaminated: RemoveContaminated = False,
    license: License = "unknown",
    as_json: JsonFlag = False,
) -> None:
    """Import a file and build a dataset from its traces."""
    default_name, default_version = default_name_and_version(file)
    spec = dataset_spec(
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
    text: Annotated[str | None, typer.Option(help="Only datasets whose key contains this text.")] = None,
    limit: PageLimit = 100,
    offset: PageOffset = 0,
    as_json: JsonFlag = False,
) -> None:
    """List datasets."""
    page = dataset_service.list_datasets(load_settings().datasets_dir, limit=limit, offset=offset, text=text)
    print_json(page) if as_json else data_view.print_list(page)


def show(key: Key, as_json: JsonFlag = False) -> None:
    """Show the contents and lineage of a dataset."""
    manifest = dataset_service.get_dataset(load_settings().datasets_dir, key)
    print_json(_without_nulls(manifest)) if as_json else data_view.print_manifest(manifest)


def rows(
    key: Key,
    split: SplitName = None,
    limit: PageLimit = 20,
    offset: PageOffset = 0,
    as_json: JsonFlag = False,
) -> None:
    """Show the rows of a split, by default of the first split."""
    page = dataset_service.read_rows(
        load_settings().datasets_dir, key, split=split, limit=limit, offset=offset
    )
    print_json(page) if as_json else data_view.print_rows(page)


def diff(
    base: Key,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Key of the later dataset.")],
    limit: PageLimit = 20,
    offset: PageOffset = 0,
    as_json: JsonFlag = False,
) -> None:
    """Show the differences between two datasets."""
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
    """Export a dataset to a directory with its card, or to standard output."""
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
    """Delete a dataset. Its traces are kept. Rejected while a run uses it."""
    dataset_service.delete_dataset(load_settings(), key)
    print_json({"deleted": key}) if as_json else say(f"Deleted {key}.")


def _without_nulls(value: BaseModel) -> dict[str, Any]:
    return value.model_dump(mode="json", exclude_none=True)


def _require_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidInputError(
            f"{option} cannot be {value!r}.", next_step=f"Choose one of: {', '.join(choices)}."
        )


Model = Annotated[str, typer.Option(help="tiny, a directory with tokenizer.json, or a hub id.")]
TemplateName = Annotated[
    str | None,
    typer.Option("--template", help="Built-in chat template, or a .jinja file. Default: that of the model."),
]
Split = Annotated[str | None, typer.Option(help="Split to inspect. Default: all splits.")]
Markup = Annotated[MarkupStyle, typer.Option(help="Markup of the reasoning and the answer.")]
RowLength = Annotated[int | None, typer.Option(min=2, help="Tokens per row; longer examples are truncated.")]
Packed = Annotated[bool, typer.Option("--packed", help="Pack several examples into each row.")]
Index = Annotated[int | None, typer.Option(min=0, help="Show this example.")]
MaxRows = Annotated[int, typer.Option("--rows", min=1, max=200, help="How many rows to show.")]
AllExamples = Annotated[bool, typer.Option("--all", help="Inspect all examples, not only the first 10,000.")]
LossMask = Annotated[LossOn, typer.Option(help="Tokens with loss; training always uses completion.")]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a self-contained HTML page.")]


def xray(
    key: Key,
    model: Model = "tiny",
    template: TemplateName = None,
    split: Split = None,
    markup: Markup = DEFAULT_MARKUP,
    row_length: RowLength = None,
    packed: Packed = False,
    index: Index = None,
    rows: MaxRows = 1,
    all_examples: AllExamples = False,
    loss_on: LossMask = "completion",
    html: Html = None,
    as_json: JsonFlag = False,
) -> None:
    """Show each token as training sees it: trained, masked or padding. Exits with code 1 on an error."""
    is_file = template is not None and template.endswith(".jinja")
    choice = ModelChoice(
        model=model,
        template=None if is_file else template,
        template_file=Path(template) if is_file and template else None,
        markup=markup,
    )
    options = XrayOptions(
        row_length=row_length,
        packed=packed,
        index=index,
        max_rows=rows,
        max_examples=None if all_examples else 10_000,
        loss_on=loss_on,
    )
    report = xray_dataset(load_settings().datasets_dir, key, choice, options, split=split)
    if html is not None:
        with write_atomically(html, what="writing the X-ray") as file:
            file.write(xray_html(report, title=key).encode())
    print_json(report) if as_json else print_xray(report, out)
    if html is not None and not as_json:
        say(f"Page: {html}")
    if not report.passed:
        raise typer.Exit(1)
