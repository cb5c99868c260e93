"""tunix-rt traces import, export, lint, review, list, show, compare, delete."""

import functools
import inspect
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import UUID

import typer
from pydantic import ValidationError

from tunix_rt.base.errors import DataError, InvalidInputError
from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.home import opened_home
from tunix_rt.base.records import explain_validation_error
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
from tunix_rt.traces import service as trace_service
from tunix_rt.traces import views as traces_view
from tunix_rt.traces.export import build_filter, export_file, export_lines, require_export_format, write_lines
from tunix_rt.traces.formats.converters import parse_column_map
from tunix_rt.traces.formats.export import EXPORT_FORMATS
from tunix_rt.traces.formats.registry import ROW_FORMATS
from tunix_rt.traces.linter.findings import CODES, LINTER_VERSION
from tunix_rt.traces.review import ReviewExport, TraceReview, add_revision, review_lines
from tunix_rt.traces.service import LineReport, lint_file, score_unscored
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import TraceFilter, TraceOrder

if TYPE_CHECKING:
    from tunix_rt.traces.import_rows import ImportProgress, OnProgress
    from tunix_rt.traces.importer import ImportReport

Source = Annotated[str | None, typer.Option(help="Only traces from this source.")]
MetaPairs = Annotated[list[str], typer.Option("--meta", help="key=value that must be in meta; repeatable.")]


def _filter_from_options(
    source: Source = None,
    meta: MetaPairs = [],  # noqa: B006
    tag: Annotated[list[str], typer.Option(help="Must be in meta.tags; repeatable.")] = [],  # noqa: B006
    min_score: Annotated[float | None, typer.Option(min=0, max=100, help="Lowest linter score.")] = None,
    max_score: Annotated[float | None, typer.Option(min=0, max=100, help="Highest linter score.")] = None,
    code: Annotated[list[str], typer.Option(help="Has this linter finding; repeatable.")] = [],  # noqa: B006
    without_code: Annotated[list[str], typer.Option(help="Lacks this linter finding; repeatable.")] = [],  # noqa: B006
    query: Annotated[str | None, typer.Option(help="Words that must all occur (word* for a prefix).")] = None,
) -> TraceFilter:
    return build_filter(
        source=source,
        meta=meta,
        tags=tag,
        min_score=min_score,
        max_score=max_score,
        codes=code,
        without_codes=without_code,
        query=query,
    )


_FILTER_OPTIONS = inspect.signature(_filter_from_options).parameters


def with_trace_filter(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the `criteria` parameter of a command with the options that select traces."""

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        options = {name: values.pop(name) for name in _FILTER_OPTIONS}
        command(criteria=_filter_from_options(**options), **values)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        parameters += _FILTER_OPTIONS.values() if parameter.name == "criteria" else [parameter]
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    # Typer inspects both.
    with_options.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in keyword_only}
    return with_options


InputFile = Annotated[
    str, typer.Argument(metavar="FILE", help="JSONL, CSV, TSV or Parquet, also .gz; - reads standard input.")
]
RowFormatName = Annotated[
    str | None,
    typer.Option(
        "--format", help=f"Shape of the rows: {', '.join(ROW_FORMATS)}. Default: detected from the first row."
    ),
]
FileTypeName = Annotated[
    str | None,
    typer.Option("--file-type", help="jsonl, csv, tsv or parquet. Default: detected from the file."),
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
RequireMarker = Annotated[
    bool, typer.Option("--require-marker", help="Reject rows without an answer marker.")
]
DropExtraColumns = Annotated[
    bool,
    typer.Option("--drop-extra-columns", help="Drop unmapped columns instead of keeping them in meta."),
]
KeepAnnotations = Annotated[
    bool, typer.Option("--keep-annotations", help="Keep the <<48/2=24>> annotations of GSM8K.")
]

TraceId = Annotated[UUID, typer.Argument(help="Id of a stored trace.")]


@with_trace_filter
def list_traces(
    *,
    criteria: TraceFilter,
    order: Annotated[TraceOrder, typer.Option(help="Order by time of storing, or by score.")] = "newest",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to show.")] = 20,
    offset: Annotated[int, typer.Option(min=0, help="How many to skip.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """List stored traces."""
    with opened_home() as opened:
        page = trace_service.list_traces(
            TraceRepository(opened.database), criteria, limit=limit, offset=offset, order=order
        )
    print_json(page) if as_json else traces_view.print_list(page)


def show(trace_id: TraceId, as_json: JsonFlag = False) -> None:
    """Show one trace with its steps and linter findings."""
    with opened_home() as opened:
        detail = trace_service.get_trace(TraceRepository(opened.database), trace_id)
        report = TraceRepository(opened.database).get_report(trace_id)
    if as_json:
        print_json(
            detail.model_dump(mode="json") | {"report": report.model_dump(mode="json") if report else None}
        )
    else:
        traces_view.print_trace(detail, report)


def compare(base: TraceId, other: TraceId, as_json: JsonFlag = False) -> None:
    """Align and compare the steps of two traces."""
    with opened_home() as opened:
        comparison = trace_service.compare_stored(TraceRepository(opened.database), base, other)
    print_json(comparison) if as_json else traces_view.print_comparison(comparison)


def delete(trace_id: TraceId, as_json: JsonFlag = False) -> None:
    """Delete a trace. Datasets built from it keep their copy."""
    with opened_home() as opened:
        TraceRepository(opened.database).delete(trace_id)
    print_json({"deleted": str(trace_id)}) if as_json else say(f"Deleted {trace_id}.")


ExportFormatName = Annotated[str, typer.Option("--format", help=f"{', '.join(EXPORT_FORMATS)}.")]
OutputFile = Annotated[
    str, typer.Option("--output", metavar="FILE", help="FILE, FILE.gz or FILE.parquet; - is standard output.")
]


def import_command(
    file: InputFile,
    row_format: RowFormatName = None,
    file_type: FileTypeName = None,
    column: ColumnPairs = [],  # noqa: B006
    source: SourceName = None,
    skip_invalid: SkipInvalid = False,
    rejects: Rejects = None,
    require_marker: RequireMarker = False,
    drop_extra_columns: DropExtraColumns = False,
    keep_annotations: KeepAnnotations = False,
    as_json: JsonFlag = False,
) -> None:
    """Import traces from a file. A file with an invalid row is rejected unless --skip-invalid is set."""
    # Imported here, like the progress bar below: `traces list` starts faster without them.
    from tunix_rt.traces.importer import import_options, import_traces

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
    export_format: ExportFormatName = "trace",
    output: OutputFile = "-",
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
def _import_bar() -> "Iterator[OnProgress]":
    """Show a progress bar on standard error if that is a terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        tasks = {phase: bar.add_task(phase, total=1.0, visible=False) for phase in ("checking", "importing")}

        def show(progress: "ImportProgress") -> None:
            description = f"{progress.phase} {progress.num_rows:,} rows"
            task = tasks[progress.phase]
            bar.update(task, completed=progress.fraction, description=description, visible=True)

        yield show


def _print_import(report: "ImportReport") -> None:
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

FileToLint = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]", help="JSONL, CSV or Parquet; - reads standard input. Default: stored traces."
    ),
]
FailOn = Annotated[
    Literal["never", "error", "warning"],
    typer.Option(help="Exit with code 1 if a finding is at least this severe."),
]
LintFormatName = Annotated[
    str | None, typer.Option("--format", help="Shape of the rows. Default: detected from their keys.")
]


@dataclass
class Summary:
    """The totals over a file."""

    scores: list[float] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    num_unreadable: int = 0

    def count(self, report: LineReport) -> None:
        """Count the report of one line."""
        if report.score is None:
            self.num_unreadable += 1
        else:
            self.scores.append(report.score)
            self.codes.update({finding.code for finding in report.findings})

    def fails(self, threshold: Literal["never", "error", "warning"]) -> bool:
        """Whether a finding is at least as severe as `threshold`."""
        severities = {"never": set(), "error": {"error"}, "warning": {"error", "warning"}}[threshold]
        return any(CODES[code].severity in severities for code in self.codes)


def lint(
    file: FileToLint = None,
    row_format: LintFormatName = None,
    fail_on: FailOn = "never",
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
    summary = Summary()
    for report in _reports(file, row_format):
        summary.count(report)
        if as_json:
            _print_json_line(report)
        else:
            _print_line(report, sum(summary.codes.values()) + summary.num_unreadable)
    if not as_json:
        _print_summary(summary)
    if summary.num_unreadable:
        raise DataError(
            f"{summary.num_unreadable} lines of {file} are not valid traces; the reasons are listed.",
            next_step="Correct them, or import the others: tunix-rt traces import FILE --skip-invalid",
        )
    if summary.fails(fail_on):
        raise typer.Exit(1)


def _reports(file: str, row_format: str | None) -> Iterator[LineReport]:
    with fraction_bar("linting") as on_fraction:
        yield from lint_file(file, row_format=row_format, on_fraction=on_fraction)


def _print_json_line(report: LineReport) -> None:
    if report.error is None:
        sys.stdout.write(report.model_dump_json(exclude={"error"}) + "\n")
    else:
        sys.stdout.write(report.model_dump_json() + "\n")


def _print_line(report: LineReport, num_problems: int) -> None:
    if num_problems > MAX_SHOWN:
        return
    if report.error is not None:
        note(f"line {report.line}: not a valid trace: {report.error}")
    for finding in report.findings:
        where = "" if finding.step is None else f" step {finding.step}"
        expected = f", expected {finding.expected}" if finding.expected else ""
        say(f"line {report.line}{where}: {finding.code}: {finding.found}{expected}")


def _print_summary(summary: Summary) -> None:
    if summary.codes:
        rows = [(code, CODES[code].severity, count) for code, count in summary.codes.most_common()]
        print_table(("finding", "severity", "traces"), rows)
    if summary.scores:
        median = statistics.median(summary.scores)
        num_traces = counted(len(summary.scores), "trace")
        say(f"{num_traces}, median score {median:.1f} of 100 (linter {LINTER_VERSION})")


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


def review(
    trace_id: Annotated[UUID, typer.Argument(help="Id of a stored trace.")],
    accept: Annotated[list[int], typer.Option(help="Number of a correct step; repeatable.")] = [],  # noqa: B006
    edit: Annotated[
        list[str], typer.Option(metavar="STEP=TEXT", help="New text of a step; repeatable.")
    ] = [],  # noqa: B006
    reject: Annotated[list[int], typer.Option(help="Number of a wrong step to remove; repeatable.")] = [],  # noqa: B006
    answer: Annotated[str | None, typer.Option(help="The correct final answer.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Store a corrected trace as a new version. The reviewed trace is not changed."""
    steps = [
        *({"i": i, "verdict": "accepted"} for i in accept),
        *(_edit(change) for change in edit),
        *({"i": i, "verdict": "rejected"} for i in reject),
    ]
    corrections = _review(steps, answer)
    with opened_home() as opened:
        receipt = add_revision(TraceRepository(opened.database), trace_id, corrections)
    print_json(receipt) if as_json else say(f"Stored as {receipt.id}, linter score {receipt.score:.0f}.")


def export_reviews(
    kind: Annotated[ReviewExport, typer.Argument(help="What to export.")],
    output: Annotated[str, typer.Option(metavar="FILE", help="FILE; - is standard output.")] = "-",
    as_json: JsonFlag = False,
) -> None:
    """Export reviews as preference pairs or as labelled steps."""
    with opened_home() as opened:
        lines = review_lines(TraceRepository(opened.database), kind)
        if output == "-":
            write_lines(lines, sys.stdout.buffer)
            return
        with write_atomically(Path(output), what="writing the export") as file:
            num_lines = write_lines(lines, file)
    if as_json:
        print_json({"file": output, "kind": kind, "num_exported": num_lines})
    else:
        say(f"Wrote {counted(num_lines, 'line')} to {output}.")


def _edit(change: str) -> dict[str, Any]:
    step, equals, content = change.partition("=")
    if not equals or not step.strip().isdecimal():
        raise InvalidInputError(
            f"--edit {change!r} is not STEP=TEXT.", next_step="For example: --edit '1=2 + 3 = 5'"
        )
    return {"i": int(step), "verdict": "edited", "content": content}


def _review(steps: list[dict[str, Any]], answer: str | None) -> TraceReview:
    try:
        return TraceReview.model_validate({"steps": steps, "final_answer": answer})
    except ValidationError as error:
        raise InvalidInputError(
            f"This review is not valid: {explain_validation_error(error, whole='review')}.",
            next_step="See: tunix-rt traces review --help",
        ) from error
