"""What reading a file of rows gives: rows, the lines that are none, and how far the reading is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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


FileRow = ReadRow | BadRow | BlankLine


@dataclass(frozen=True)
class RowStream:
    """The rows of an open file."""

    rows: Iterator[FileRow]
    fraction_read: Callable[[], float]
    """How much of the file has been read, 0 to 1."""
    columns: tuple[str, ...] | None = None
    """The header of a table; None where every row names its own keys."""
