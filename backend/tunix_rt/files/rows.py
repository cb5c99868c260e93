"""What reading a file of rows gives: rows, and the lines that are none."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class ReadRow(NamedTuple):
    """A row that could be read. `number` is its line (its row in Parquet), from 1."""

    number: int
    values: Mapping[str, Any]


class BadRow(NamedTuple):
    """A line or row that could not be read, why, and its text."""

    number: int
    reason: str
    raw: str


class BlankLine(NamedTuple):
    """A line with nothing on it."""

    number: int


class RawLine(NamedTuple):
    """A line of JSON that was not parsed yet."""

    number: int
    raw: bytes


FileRow = ReadRow | BadRow | BlankLine
UnreadRow = FileRow | RawLine
