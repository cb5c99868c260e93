"""CSV/TSV, JSON lists and Parquet as streams of rows."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import IO, Any, BinaryIO

from tunix_rt.base.errors import DataError, MissingExtraError
from tunix_rt.base.files.jsonl import (
    MAX_LINE_BYTES,
    BadRow,
    BlankLine,
    DuplicateKeyError,
    FileRow,
    ReadRow,
    numbered_lines,
    over_limit,
    shape_of,
    shown,
    unique_keys,
)


class CsvTable:
    """A CSV file: its header, and its rows as dictionaries of text.

    Raises:
        DataError: There is no usable header.
    """

    def __init__(self, file: BinaryIO, *, delimiter: str = ",", max_line_bytes: int = MAX_LINE_BYTES) -> None:
        # The limit is global to the process; raising it is harmless.
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
    """Decoded lines for a `csv.reader`, which must survive bad ones.

    A generator ends with its first exception; this continues with the next line.
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
    """Whether decoding replaced an invalid UTF-8 byte with a surrogate."""
    return not text.isascii() and any("\udc80" <= character <= "\udcff" for character in text)


def _bad(number: int, reason: str, fields: list[str]) -> BadRow:
    raw = json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogateescape")
    return BadRow(number, reason, shown(raw))


def _bad_header(reason: str) -> DataError:
    return DataError(
        f"The header (first line) {reason}.",
        next_step="Give the file one line of distinct column names, or pass --file-type if it is not CSV.",
    )


_CHUNK_CHARS = 256 * 1024
_SPACE = " \t\r\n"


def starts_a_list(start: bytes) -> bool:
    """Whether these first bytes of a file open a JSON list."""
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def read_json_list(file: BinaryIO, *, max_item_chars: int = MAX_LINE_BYTES) -> Iterator[FileRow]:
    """One row for each object of the list, numbered from 1.

    A syntax error ends reading with a `BadRow`, because the start of the next item is unknown.
    """
    # Invalid UTF-8 becomes lone surrogates, for which the row is rejected.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape")
    try:
        yield from _rows(_Buffer(text), max_item_chars)
    finally:
        if not file.closed:
            text.detach()  # the file belongs to the caller


def _rows(buffer: "_Buffer", max_item_chars: int) -> Iterator[FileRow]:
    buffer.skip(_SPACE)
    buffer.skip("[", at_most=1)
    buffer.skip(_SPACE)
    number = 0
    while (following := buffer.peek()) not in ("", "]"):
        number += 1
        try:
            value = buffer.next_value(max_item_chars)
        except _BadItemError as error:
            yield BadRow(number, str(error), "")
        except (ValueError, RecursionError) as error:
            yield BadRow(number, f"cannot be read, nor can later rows: {error}", "")
            return
        else:
            if isinstance(value, dict):
                yield ReadRow(number, value)
            else:
                reason = f"must be a JSON object, not {shape_of(value)}"
                yield BadRow(number, reason, json.dumps(value)[:1_000])
        buffer.skip(_SPACE + ",")
    if not following:
        yield BadRow(number + 1, "the list is never closed; the file may be cut off", "")
    buffer.skip("]", at_most=1)
    buffer.skip(_SPACE)
    if buffer.peek():
        yield BadRow(number + 1, "something follows the end of the list and cannot be read", "")


class _Buffer:
    """The part of the document that is being read: about one item, or one chunk if that is longer."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self._held = ""
        self._at = 0
        self._finder = json.JSONDecoder()
        self._decoder = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=_no_constant)

    def peek(self) -> str:
        """The next character, or the empty text at the end."""
        if self._at >= len(self._held):
            self._held, self._at = self._text.read(_CHUNK_CHARS), 0
        return self._held[self._at : self._at + 1]

    def skip(self, characters: str, *, at_most: int | None = None) -> None:
        """Skip to the next character that is none of these."""
        while at_most != 0 and (character := self.peek()) and character in characters:
            self._at += 1
            at_most = None if at_most is None else at_most - 1

    def next_value(self, max_chars: int) -> Any:
        """The JSON value that starts here.

        Raises:
            _BadItemError: The value is whole, but not acceptable; the next one can be read.
            ValueError: The document is broken.
        """
        end = self._end_of_value(max_chars)
        start, self._at = self._at, end
        try:
            return self._decoder.raw_decode(self._held, start)[0]
        except DuplicateKeyError as error:
            raise _BadItemError(str(error)) from error

    def _end_of_value(self, max_chars: int) -> int:
        """Where the value that starts here ends, reading on until it is whole."""
        while True:
            try:
                return self._finder.raw_decode(self._held, self._at)[1]
            except json.JSONDecodeError as error:
                if len(self._held) - self._at > max_chars:
                    raise ValueError(f"is longer than {max_chars:,} characters") from error
                # Doubles the buffer, so that an item read in n chunks is parsed log n times.
                more = self._text.read(max(_CHUNK_CHARS, len(self._held) - self._at))
                self._held, self._at = self._held[self._at :] + more, 0
                if not more:
                    raise ValueError(f"is not JSON: {error.msg}") from error


class _BadItemError(Exception):
    """An item that is complete but not acceptable."""


def _no_constant(name: str) -> None:
    raise _BadItemError(f"{name} is not JSON")


BATCH_ROWS = 1_000
JSON_COLUMNS = ("meta", "metadata")
"""Free-form objects have no column type, so they are stored as JSON text."""


class ParquetTable:
    """A Parquet file: its columns, and its rows as JSON values."""

    def __init__(self, path: Path) -> None:
        pyarrow, parquet = _pyarrow()
        self._arrow_error: type[Exception] = pyarrow.ArrowException
        try:
            self._file = parquet.ParquetFile(path)
        except (self._arrow_error, OSError) as error:
            raise DataError(
                f"{path.name} is not a readable Parquet file: {error}",
                next_step="Write the file again, or pass --file-type if it is not Parquet.",
            ) from error
        self.columns = tuple(self._file.schema_arrow.names)
        self.num_rows: int = self._file.metadata.num_rows

    def rows(self) -> Iterator[FileRow]:
        """All rows, numbered from 1."""
        number = 0
        try:
            for batch in self._file.iter_batches(batch_size=BATCH_ROWS):
                for values in batch.to_pylist():
                    number += 1
                    yield _parquet_row(number, values)
        except (self._arrow_error, OSError, UnicodeDecodeError) as error:
            yield BadRow(number + 1, f"cannot be read, nor can later rows: {error}", "")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def write_parquet(target: Path | IO[bytes], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows with the same keys and return their number; `meta` and `metadata` become JSON text."""
    pyarrow, parquet = _pyarrow()
    remaining = iter(rows)
    writer = None
    num_written = 0
    while batch := [_flat(row) for row in islice(remaining, BATCH_ROWS)]:
        table = pyarrow.Table.from_pylist(batch, schema=writer.schema if writer else None)
        writer = writer or parquet.ParquetWriter(target, table.schema)
        writer.write_table(table)
        num_written += len(batch)
    writer = writer or parquet.ParquetWriter(target, pyarrow.schema([]))
    writer.close()
    return num_written


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise MissingExtraError("Parquet", extra="parquet") from error
    return pyarrow, parquet


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: json.dumps(value, ensure_ascii=False, sort_keys=True) if key in JSON_COLUMNS else value
        for key, value in row.items()
    }


def _parquet_row(number: int, values: dict[str, Any]) -> FileRow:
    try:
        return ReadRow(number, {key: _json_value(value) for key, value in values.items()})
    except ValueError as error:
        return BadRow(number, str(error), repr(values))


def _json_value(value: Any) -> Any:
    """A column value as JSON: times as ISO text, decimals as text, NaN (missing) as null."""
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json_value(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise ValueError(
        f"holds a value of type {type(value).__name__}, which is not text, number, list or object"
    )
