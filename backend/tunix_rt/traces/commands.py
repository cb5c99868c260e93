"""tunix-rt traces import, export, lint, review, list, show, compare, delete."""

import statistics
import sys
from collections import Counter
from collections.abc import Iterator
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
from tunix_rt.traces.types import TraceOrder

if TYPE_CHECKING:
    from tunix_rt.traces.import_rows import ImportProgress, OnProgress
    from tunix_rt.traces.importer import ImportReport

Source = Annotated[str | None, typer.Option(help="Only traces from this source.")]
MetaPairs = Annotated[list[str], typer.Option("--meta", help="key=value that must be in meta; repeatable.")]
Tags = Annotated[list[str], typer.Option("--tag", help="Must be in meta.tags; repeatable.")]
MinScore = Annotated[float | None, typer.Option(min=0, max=100, help="Lowest linter score.")]
MaxScore = Annotated[float | None, typer.Option(min=0, max=100, help="Highest linter score.")]
WithCodes = Annotated[list[str], typer.Option("--code", help="Has this linter finding; repeatable.")]
WithoutCodes = Annotated[
    list[str], typer.Option("--without-code", help="Lacks this linter finding; repeatable.")
]
Search = Annotated[
    str | None, typer.Option("--query", help="Words that must all occur (word* for a prefix).")
]

InputFile = Annotated[
    str, typer.Argument(metavar="FILE", help="JSONL, CSV, TSV or Parquet, also .gz; - reads standard input.")
]
RowFormatName = Annotated[
    str | None,
    typer.Option("--format", help=f"Shape of the rows: {', '.join(ROW_FORMATS)}. Default: by the first row."),
]
FileTypeName = Annotated[
    str | None, typer.Option("--file-type", help="jsonl, csv, tsv or parquet. Default: by the file itself.")
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
    typer.Option(help="meta.source of every trace. Default: what the row says, else the file's name."),
]
SkipInvalid = Annotated[
    bool, typer.Option("--skip-invalid", help="Import the good rows of a file with bad ones.")
]
Rejects = Annotated[
    Path | None, typer.Option("--rejects", metavar="FILE", help="Write rejected rows with line and reason.")
]
RequireMarker = Annotated[
    bool, typer.Option("--require-marker", help="Reject rows whose answer would be their last line.")
]
DropExtraColumns = Annotated[
    bool,
    typer.Option("--drop-extra-columns", help="Leave other columns out; else they are kept in meta."),
]
KeepAnnotations = Annotated[
    bool, typer.Option("--keep-annotations", help="Keep the <<48/2=24>> annotations of GSM8K.")
]

TraceId = Annotated[UUID, typer.Argument(help="Id of a stored trace.")]


def list_traces(
    source: Source = None,
    meta: MetaPairs = [],  # noqa: B006
    tag: Tags = [],  # noqa: B006
    min_score: MinScore = None,
    max_score: MaxScore = None,
    code: WithCodes = [],  # noqa: B006
    without_code: WithoutCodes = [],  # noqa: B006
    query: Search = None,
    order: Annotated[TraceOrder, typer.Option(help="By when they were stored, or by score.")] = "newest",
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to show.")] = 20,
    offset: Annotated[int, typer.Option(min=0, help="How many to skip.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Show stored traces."""
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
        page = trace_service.list_traces(
            TraceRepository(opened.database), criteria, limit=limit, offset=offset, order=order
        )
    print_json(page) if as_json else traces_view.print_list(page)


def show(trace_id: TraceId, as_json: JsonFlag = False) -> None:
    """Show one trace with its steps and what the linter says of them."""
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
    """Line up the steps of two traces."""
    with opened_home() as opened:
        comparison = trace_service.compare_stored(TraceRepository(opened.database), base, other)
    print_json(comparison) if as_json else traces_view.print_comparison(comparison)


def delete(trace_id: TraceId, as_json: JsonFlag = False) -> None:
    """Remove one trace; datasets built from it keep their copy."""
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
    """Store the traces of a file; a file with a bad row is refused unless --skip-invalid."""
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


def export_command(
    export_format: ExportFormatName = "trace",
    output: OutputFile = "-",
    source: Source = None,
    meta: MetaPairs = [],  # noqa: B006
    tag: Tags = [],  # noqa: B006
    min_score: MinScore = None,
    max_score: MaxScore = None,
    code: WithCodes = [],  # noqa: B006
    without_code: WithoutCodes = [],  # noqa: B006
    query: Search = None,
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


MAX_SHOWN = 20

FileToLint = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]", help="JSONL, CSV or Parquet, - for standard input. Default: stored traces."
    ),
]
FailOn = Annotated[
    Literal["never", "error", "warning"],
    typer.Option(help="Exit 1 when a finding is at least this severe."),
]
LintFormatName = Annotated[
    str | None, typer.Option("--format", help="Shape of the rows. Default: by their keys.")
]


@dataclass
class Summary:
    """What a whole file amounts to."""

    scores: list[float] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    num_unreadable: int = 0

    def count(self, report: LineReport) -> None:
        """Add one line."""
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
    """Check what the steps say: their arithmetic, where numbers come from, whether the answer follows."""
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
            f"{summary.num_unreadable} lines of {file} hold no trace; they are reported with their reason.",
            next_step="Correct them, or import the rest: tunix-rt traces import FILE --skip-invalid",
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
        note(f"line {report.line}: no trace: {report.error}")
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
        waiting = TraceRepository(opened.database).count_unscored(criteria, LINTER_VERSION)
        with progress_bar("linting", waiting) as advance:
            num_judged = score_unscored(TraceRepository(opened.database), criteria, progress=advance)
    if as_json:
        print_json({"linted": num_judged, "linter_version": LINTER_VERSION})
    else:
        judged = counted(num_judged, "trace")
        say(f"Linted {judged} (linter {LINTER_VERSION}); the others had their score already.")
        say("See the worst: tunix-rt traces list --max-score 50")


def review(
    trace_id: Annotated[UUID, typer.Argument(help="Id of a stored trace.")],
    accept: Annotated[list[int], typer.Option(help="The step with this number is right; repeatable.")] = [],  # noqa: B006
    edit: Annotated[
        list[str], typer.Option(metavar="STEP=TEXT", help="What the step should say; repeatable.")
    ] = [],  # noqa: B006
    reject: Annotated[list[int], typer.Option(help="The step is wrong and goes; repeatable.")] = [],  # noqa: B006
    answer: Annotated[str | None, typer.Option(help="What the final answer should be.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Store a repaired trace as a new version; the reviewed one stays as it is."""
    steps = [
        *({"i": i, "verdict": "accepted"} for i in accept),
        *(_edit(words) for words in edit),
        *({"i": i, "verdict": "rejected"} for i in reject),
    ]
    asked = _review(steps, answer)
    with opened_home() as opened:
        receipt = add_revision(TraceRepository(opened.database), trace_id, asked)
    print_json(receipt) if as_json else say(f"Stored as {receipt.id}, linter score {receipt.score:.0f}.")


def export_reviews(
    kind: Annotated[ReviewExport, typer.Argument(help="What to write.")],
    output: Annotated[str, typer.Option(metavar="FILE", help="FILE; - is standard output.")] = "-",
    as_json: JsonFlag = False,
) -> None:
    """Write what reviews teach: preference pairs, or steps labelled right and wrong."""
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


def _edit(words: str) -> dict[str, Any]:
    step, equals, content = words.partition("=")
    if not equals or not step.strip().isdecimal():
        raise InvalidInputError(
            f"--edit {words!r} is not STEP=TEXT.", next_step="Say for example --edit '1=2 + 3 = 5'."
        )
    return {"i": int(step), "verdict": "edited", "content": content}


def _review(steps: list[dict[str, Any]], answer: str | None) -> TraceReview:
    try:
        return TraceReview.model_validate({"steps": steps, "final_answer": answer})
    except ValidationError as error:
        raise InvalidInputError(
            f"This review cannot be kept: {explain_validation_error(error, whole='review')}.",
            next_step="See: tunix-rt traces review --help",
        ) from error
