"""`tunix-rt traces import` and `tunix-rt traces export`."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, err, note, print_json, say
from tunix_rt.cli import filters, import_args
from tunix_rt.core.formats.columns import parse_column_map
from tunix_rt.core.formats.export import EXPORT_FORMATS
from tunix_rt.db.traces import TraceRepository
from tunix_rt.services.exporting import export_file, export_lines, require_export_format, write_lines
from tunix_rt.services.filtering import build_filter
from tunix_rt.services.import_file import ImportProgress, OnProgress
from tunix_rt.services.importing import ImportReport, import_options, import_traces
from tunix_rt.services.linting import score_unscored

ExportFormatName = Annotated[str, typer.Option("--format", help=f"{', '.join(EXPORT_FORMATS)}.")]
OutputFile = Annotated[
    str, typer.Option("--output", metavar="FILE", help="FILE, FILE.gz or FILE.parquet; - is standard output.")
]


def import_command(
    file: import_args.InputFile,
    row_format: import_args.RowFormatName = None,
    file_type: import_args.FileTypeName = None,
    column: import_args.ColumnPairs = [],  # noqa: B006
    source: import_args.SourceName = None,
    skip_invalid: import_args.SkipInvalid = False,
    rejects: import_args.Rejects = None,
    require_marker: import_args.RequireMarker = False,
    drop_extra_columns: import_args.DropExtraColumns = False,
    keep_annotations: import_args.KeepAnnotations = False,
    as_json: JsonFlag = False,
) -> None:
    """Store the traces of a file; a file with a bad row is refused unless --skip-invalid."""
    options = import_options(
        row_format=row_format,
        file_type=file_type,
        column_map=parse_column_map(column),
        source=source,
        skip_invalid=skip_invalid,
        rejects_path=rejects,
        require_marker=require_marker,
        drop_extra_columns=drop_extra_columns,
        keep_annotations=keep_annotations,
    )
    with opened_home() as opened, _import_bar() as on_progress:
        report = import_traces(TraceRepository(opened.database), file, options, on_progress=on_progress)
    print_json(report) if as_json else _print_import(report)


def export_command(
    export_format: ExportFormatName = "trace",
    output: OutputFile = "-",
    source: filters.Source = None,
    meta: filters.MetaPairs = [],  # noqa: B006
    tag: filters.Tags = [],  # noqa: B006
    min_score: filters.MinScore = None,
    max_score: filters.MaxScore = None,
    code: filters.WithCodes = [],  # noqa: B006
    without_code: filters.WithoutCodes = [],  # noqa: B006
    query: filters.Search = None,
    as_json: JsonFlag = False,
) -> None:
    """Write stored traces in a format that training tools read."""
    require_export_format(export_format)
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
    with opened_home() as opened:
        if criteria.needs_lint:
            score_unscored(TraceRepository(opened.database), criteria)
        with closing(TraceRepository(opened.database).iter_selected(criteria)) as stored:
            if output == "-":
                write_lines(export_lines(stored, export_format), sys.stdout.buffer)
                return
            report = export_file(stored, Path(output), export_format)
    print_json(report) if as_json else say(f"Wrote {counted(report.num_exported, 'trace')} to {output}.")


@contextmanager
def _import_bar() -> Iterator[OnProgress]:
    """A bar on standard error, silent when nobody is looking."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        tasks = {phase: bar.add_task(phase, total=1.0, visible=False) for phase in ("checking", "importing")}

        def show(progress: ImportProgress) -> None:
            description = f"{progress.phase} {progress.num_rows:,} rows"
            task = tasks[progress.phase]
            bar.update(task, completed=progress.fraction, description=description, visible=True)

        yield show


def _print_import(report: ImportReport) -> None:
    say(
        f"Imported {report.num_imported:,} of {report.num_read:,} {report.row_format} rows of {report.file} "
        f"in {report.seconds:.1f} s, {report.rows_per_s:,.0f} rows/s."
    )
    say(f"Already there: {report.num_present:,}. Rejected: {report.num_rejected:,}.")
    if report.num_blank_lines:
        say(f"Blank lines skipped: {report.num_blank_lines:,}.")
    if report.answer_rules:
        rules = ", ".join(f"{rule} {count:,}" for rule, count in sorted(report.answer_rules.items()))
        say(f"Answers found by: {rules}.")
    for text in report.notes:
        note(f"note: {text}.")
    for rejection in report.first_rejections:
        note(f"rejected line {rejection.line}: {rejection.reason}")
    num_more = report.num_rejected - len(report.first_rejections)
    if num_more > 0:
        note(f"and {num_more:,} more; --rejects FILE writes all of them")
