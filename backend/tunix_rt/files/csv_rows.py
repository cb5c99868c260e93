"""CSV and TSV with a header, read as a stream."""

import csv
import json
from collections.abc import Iterator
from typing import BinaryIO

from tunix_rt.core.errors import DataError
from tunix_rt.files.jsonl import MAX_LINE_BYTES, numbered_lines, over_limit, shown
from tunix_rt.files.rows import BadRow, BlankLine, FileRow, ReadRow


class CsvTable:
    """A CSV file: its header, and its rows as dictionaries of text.

    Raises:
        DataError: There is no usable header.
    """

    def __init__(self, file: BinaryIO, *, delimiter: str = ",", max_line_bytes: int = MAX_LINE_BYTES) -> None:
        # The limit is the csv module's only one and belongs to the process; raising it harms no one.
        csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
        self._lines = _TextLines(file, max_line_bytes)
        self._reader = csv.reader(self._lines, delimiter=delimiter, strict=True)
        self.columns = self._header()

    def rows(self) -> Iterator[FileRow]:
        """The rows after the header; `number` is the line on which a row starts."""
        while True:
            number = self._lines.num_read + 1
            try:
                fields = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield BadRow(number, f"is not readable CSV: {error}", "")
                continue
            yield self._row(number, fields)

    def _header(self) -> tuple[str, ...]:
        try:
            columns = tuple(name.strip() for name in next(self._reader, []))
        except csv.Error as error:
            raise _bad_header(f"is not readable CSV: {error}") from error
        if not any(columns):
            raise _bad_header("is empty")
        if len(set(columns)) < len(columns):
            raise _bad_header("names a column twice")
        if any("\x00" in name or _has_bad_bytes(name) for name in columns):
            raise _bad_header("holds bytes that are not text")
        return columns

    def _row(self, number: int, fields: list[str]) -> FileRow:
        if not fields:
            return BlankLine(number)
        if len(fields) != len(self.columns):
            return _bad(number, f"has {len(fields)} fields, but the header has {len(self.columns)}", fields)
        values = dict(zip(self.columns, fields, strict=True))
        for column, text in values.items():
            if _has_bad_bytes(text):
                return _bad(number, f"{column!r} is not UTF-8", fields)
        return ReadRow(number, values)


class _TextLines:
    """The decoded lines of a file, for a `csv.reader` that must survive a bad one.

    A generator ends with its first exception; this goes on with the next line.
    """

    def __init__(self, file: BinaryIO, max_line_bytes: int) -> None:
        self._lines = numbered_lines(file, max_line_bytes)
        self._max_line_bytes = max_line_bytes
        self.num_read = 0

    def __iter__(self) -> "_TextLines":
        return self

    def __next__(self) -> str:
        self.num_read, line = next(self._lines)
        if len(line) > self._max_line_bytes:
            raise csv.Error(f"the line {over_limit(self._max_line_bytes)}")
        return line.decode("utf-8", errors="surrogateescape")


def _has_bad_bytes(text: str) -> bool:
    """Whether decoding left a surrogate in place of a byte that is not UTF-8."""
    return not text.isascii() and any("\udc80" <= character <= "\udcff" for character in text)


def _bad(number: int, reason: str, fields: list[str]) -> BadRow:
    raw = json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogateescape")
    return BadRow(number, reason, shown(raw))


def _bad_header(reason: str) -> DataError:
    return DataError(
        f"The header (first line) {reason}.",
        next_step="Give the file one line of distinct column names, or pass --file-type if it is not CSV.",
    )
