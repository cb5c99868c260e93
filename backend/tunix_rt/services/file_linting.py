"""Lint the traces of a file; no database is needed."""

from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.base.files.jsonl import BadRow, BlankLine, FileRow
from tunix_rt.base.files.readers import open_rows, regular_file
from tunix_rt.core.formats.registry import ROW_FORMATS, RowReading, detect_format, read_row
from tunix_rt.core.formats.rows import RowError
from tunix_rt.core.linting.findings import Finding
from tunix_rt.core.linting.linter import lint_trace

PROGRESS_EVERY_ROWS = 200


class LineReport(BaseModel):
    """What the linter says of one line of a file."""

    model_config = ConfigDict(frozen=True)
    line: int
    score: float | None
    """None when the line holds no trace; `error` says why."""
    findings: tuple[Finding, ...] = ()
    error: str | None = None


def lint_file(
    file: str | Path,
    *,
    row_format: str | None = None,
    on_fraction: Callable[[float], None] = lambda fraction: None,
) -> Iterator[LineReport]:
    """One report for each line that is not blank, in order.

    Args:
        file: JSONL, CSV or Parquet; `-` is standard input.
        row_format: one of `ROW_FORMATS`; by default the format of each row is told by its keys.
        on_fraction: told now and then how much of the file has been read, 0 to 1.
    """
    if row_format is not None and row_format not in ROW_FORMATS:
        raise InvalidInputError(
            f"There is no format {row_format!r}.", next_step=did_you_mean(row_format, ROW_FORMATS)
        )
    with regular_file(file) as path, open_rows(path) as stream:
        for row in stream.rows:
            if not isinstance(row, BlankLine):
                yield _lint_row(row, row_format)
            if row.number % PROGRESS_EVERY_ROWS == 0:
                on_fraction(stream.fraction_read())


def _lint_row(row: FileRow, row_format: str | None) -> LineReport:
    if isinstance(row, BadRow):
        return LineReport(line=row.number, score=None, error=row.reason)
    assert not isinstance(row, BlankLine)
    try:
        reading = RowReading(row_format or detect_format(row.values), keep_annotations=True)
        report = lint_trace(read_row(row.values, reading))
    except RowError as error:
        return LineReport(line=row.number, score=None, error=str(error))
    return LineReport(line=row.number, score=report.score, findings=report.findings)
