"""`tunix-rt traces lint`: a file without a database, or everything stored."""

import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal

import typer

from tunix_rt.base.errors import DataError
from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import (
    counted,
    fraction_bar,
    note,
    print_json,
    print_table,
    progress_bar,
    say,
)
from tunix_rt.cli import filters
from tunix_rt.core.linting.findings import CODES, LINTER_VERSION
from tunix_rt.db.traces import TraceRepository
from tunix_rt.services.file_linting import LineReport, lint_file
from tunix_rt.services.filtering import build_filter
from tunix_rt.services.linting import score_unscored

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
RowFormatName = Annotated[
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
    row_format: RowFormatName = None,
    fail_on: FailOn = "never",
    source: filters.Source = None,
    meta: filters.MetaPairs = [],  # noqa: B006
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
