"""tunix-rt traces import, export, lint."""

import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from tunix_rt.base.errors import DataError
from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import (
    counted,
    err,
    fraction_bar,
    note,
    print_json,
    print_table,
    progress_bar,
    say,
)
from tunix_rt.traces.commands.stored import MetaPairs, Source, with_trace_filter
from tunix_rt.traces.export import export_file, export_lines, require_export_format, write_lines
from tunix_rt.traces.formats.converters import parse_column_map
from tunix_rt.traces.formats.export import EXPORT_FORMATS
from tunix_rt.traces.formats.registry import ROW_FORMATS
from tunix_rt.traces.import_rows import ImportProgress, OnProgress
from tunix_rt.traces.importer import ImportReport, import_options, import_traces
from tunix_rt.traces.linter.findings import CODES, LINTER_VERSION
from tunix_rt.traces.scoring import LineReport, lint_file, score_unscored
from tunix_rt.traces.service import build_filter
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import TraceFilter

RowFormatName = Annotated[
    str | None,
    typer.Option(
        "--format", help=f"Shape of the rows: {', '.join(ROW_FORMATS)}. Default: detected from the first row."
    ),
]
ColumnPairs = Annotated[
    list[str],
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN",
        help="Column of prompt, completion, steps, final_answer or meta.NAME; repeatable.",
    ),
]
SourceName = Annotated[
    str | None,
    typer.Option(help="meta.source of every trace. Default: the source in the row, else the file name."),
]
SkipInvalid = Annotated[
    bool, typer.Option("--skip-invalid", help="Import the valid rows and skip the invalid ones.")
]
Rejects = Annotated[
    Path | None,
    typer.Option(
        "--rejects", metavar="FILE", help="Write rejected rows to FILE, with line number and reason."
    ),
]


def import_command(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="JSONL, CSV, TSV or Parquet, also .gz; - reads standard input."),
    ],
    row_format: RowFormatName = None,
    file_type: Annotated[
        str | None,
        typer.Option("--file-type", help="jsonl, csv, tsv or parquet. Default: detected from the file."),
    ] = None,
    column: ColumnPairs = [],  # noqa: B006
    source: SourceName = None,
    skip_invalid: SkipInvalid = False,
    rejects: Rejects = None,
    require_marker: Annotated[
        bool, typer.Option("--require-marker", help="Reject rows without an answer marker.")
    ] = False,
    drop_extra_columns: Annotated[
        bool,
        typer.Option("--drop-extra-columns", help="Drop unmapped columns instead of keeping them in meta."),
    ] = False,
    keep_annotations: Annotated[
        bool, typer.Option("--keep-annotations", help="Keep the <<48/2=24>> annotations of GSM8K.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Import traces from a file. A file with an invalid row is rejected unless --skip-invalid is set."""
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


@with_trace_filter
def export_command(
    export_format: Annotated[str, typer.Option("--format", help=f"{', '.join(EXPORT_FORMATS)}.")] = "trace",
    output: Annotated[
        str,
        typer.Option("--output", metavar="FILE", help="FILE, FILE.gz or FILE.parquet; - is standard output."),
    ] = "-",
    *,
    criteria: TraceFilter,
    as_json: JsonFlag = False,
) -> None:
    """Export stored traces in a format for training tools."""
    require_export_format(export_format)
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
    """Show a progress bar on standard error if that is a terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

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
    say(f"Already stored: {report.num_present:,}. Rejected: {report.num_rejected:,}.")
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


MAX_SHOWN = 20


def lint(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]", help="JSONL, CSV or Parquet; - reads standard input. Default: stored traces."
        ),
    ] = None,
    row_format: Annotated[
        str | None, typer.Option("--format", help="Shape of the rows. Default: detected from their keys.")
    ] = None,
    fail_on: Annotated[
        Literal["never", "error", "warning"],
        typer.Option(help="Exit with code 1 if a finding is at least this severe."),
    ] = "never",
    source: Source = None,
    meta: MetaPairs = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Check arithmetic, the source of numbers, and whether the answer follows from the steps."""
    if file is None:
        _lint_stored(source, meta, as_json)
    else:
        _lint_file(file, row_format, fail_on, as_json)


def _lint_file(
    file: str, row_format: str | None, fail_on: Literal["never", "error", "warning"], as_json: bool
) -> None:
    scores: list[float] = []
    codes: Counter[str] = Counter()
    num_unreadable = 0
    with fraction_bar("linting") as on_fraction:
        for report in lint_file(file, row_format=row_format, on_fraction=on_fraction):
            if report.score is None:
                num_unreadable += 1
            else:
                scores.append(report.score)
                codes.update({finding.code for finding in report.findings})
            if as_json:
                excluded = {"error"} if report.error is None else None
                sys.stdout.write(report.model_dump_json(exclude=excluded) + "\n")
            elif codes.total() + num_unreadable <= MAX_SHOWN:
                _print_line(report)
    if codes and not as_json:
        rows = [(code, CODES[code].severity, count) for code, count in codes.most_common()]
        print_table(("finding", "severity", "traces"), rows)
    if scores and not as_json:
        say(
            f"{counted(len(scores), 'trace')}, median score {statistics.median(scores):.1f} of 100 "
            f"(linter {LINTER_VERSION})"
        )
    if num_unreadable:
        raise DataError(
            f"{num_unreadable} lines of {file} are not valid traces; the reasons are listed.",
            next_step="Correct them, or import the others: tunix-rt traces import FILE --skip-invalid",
        )
    severities = {"never": set(), "error": {"error"}, "warning": {"error", "warning"}}[fail_on]
    if any(CODES[code].severity in severities for code in codes):
        raise typer.Exit(1)


def _print_line(report: LineReport) -> None:
    if report.error is not None:
        note(f"line {report.line}: not a valid trace: {report.error}")
    for finding in report.findings:
        where = "" if finding.step is None else f" step {finding.step}"
        expected = f", expected {finding.expected}" if finding.expected else ""
        say(f"line {report.line}{where}: {finding.code}: {finding.found}{expected}")


def _lint_stored(source: str | None, meta: list[str], as_json: bool) -> None:
    criteria = build_filter(source=source, meta=meta)
    with opened_home() as opened:
        num_unscored = TraceRepository(opened.database).count_unscored(criteria, LINTER_VERSION)
        with progress_bar("linting", num_unscored) as advance:
            num_linted = score_unscored(TraceRepository(opened.database), criteria, progress=advance)
    if as_json:
        print_json({"linted": num_linted, "linter_version": LINTER_VERSION})
    else:
        say(f"Linted {counted(num_linted, 'trace')} (linter {LINTER_VERSION}); the others had a score.")
        say("List the worst: tunix-rt traces list --max-score 50")
