"""JSON Lines: a streaming reader for untrusted files, append-only logs, row types for all readers."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pydantic_core import from_json

from tunix_rt.base.files.atomic import storage_errors, write_atomically


class ReadRow(NamedTuple):
    """A row that was read. `number` is its line (in Parquet, its row), from 1."""

    number: int
    values: Mapping[str, Any]


class BadRow(NamedTuple):
    """A line or row that could not be read, why, and its text."""

    number: int
    reason: str
    raw: str


class BlankLine(NamedTuple):
    """An empty line."""

    number: int


class RawLine(NamedTuple):
    """An unparsed line of JSON."""

    number: int
    raw: bytes


FileRow = ReadRow | BadRow | BlankLine
UnreadRow = FileRow | RawLine

MAX_LINE_BYTES = 32 * 1024 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_KEY_ENDS = (b'":', b" :", b"\t:", b"\r:")


def read_jsonl(file: BinaryIO, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[FileRow]:
    """One row for each line that holds a JSON object, one `BadRow` for each other line."""
    for line in unread_lines(file, max_line_bytes=max_line_bytes):
        yield parse_raw(line) if isinstance(line, RawLine) else line


def unread_lines(file: BinaryIO, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[RawLine | BadRow]:
    """Unparsed lines, for `parse_raw` in another process; lines over the limit are bad rows."""
    for number, line in numbered_lines(file, max_line_bytes):
        if len(line) > max_line_bytes:
            yield BadRow(number, over_limit(max_line_bytes), shown(line[:1_000]))
        else:
            yield RawLine(number, line)


def parse_raw(line: RawLine) -> FileRow:
    """The JSON object on a line, or the reason why there is none."""
    number, raw = line
    if not raw.strip():
        return BlankLine(number)
    try:
        value = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        return BadRow(number, _why_unreadable(raw, error), shown(raw))
    if not isinstance(value, dict):
        return BadRow(number, f"must be a JSON object, not {shape_of(value)}", shown(raw))
    if (duplicate := _duplicate_key(raw, value)) is not None:
        return BadRow(number, duplicate, shown(raw))
    return ReadRow(number, value)


def numbered_lines(file: BinaryIO, max_line_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers from 1; a line over the limit is cut, so memory stays bounded."""
    number = 0
    while line := file.readline(max_line_bytes + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if len(line) > max_line_bytes and not line.endswith(b"\n"):
            while (part := file.readline(1024 * 1024)) and not part.endswith(b"\n"):
                pass
        yield number, line


def over_limit(max_line_bytes: int) -> str:
    """Why a line over the size limit is refused."""
    return f"is longer than {max_line_bytes:,} bytes"


def shown(raw: bytes) -> str:
    r"""Bytes as text; invalid UTF-8 appears as `\xff`."""
    return raw.rstrip(b"\r\n").decode("utf-8", errors="backslashreplace")


def _why_unreadable(line: bytes, error: ValueError) -> str:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as not_utf8:
        return f"is not UTF-8 (byte {not_utf8.start + 1})"
    reason = f"is not JSON: {str(error).replace(' at line 1', ',')}"
    if line.strip() in (b"[", b"{"):
        return f"{reason}; each object must be on one line"
    return reason if line.endswith(b"\n") else f"{reason}; the file ends in this line and may be cut off"


def shape_of(value: object) -> str:
    """The type of a JSON value that is not an object, in words."""
    return {list: "a list", str: "text", bool: "a boolean", type(None): "null"}.get(type(value), "a number")


def _duplicate_key(line: bytes, value: dict[str, Any]) -> str | None:
    """A repeated key of an object, if any; the parser would silently keep only its last value."""
    # A colon follows every key, right after a quote or white space; text can only add more of these. So an
    # equal count proves that no key was lost, at a fraction of the cost of parsing with a duplicate check.
    num_keys = _num_keys(value)
    if line.count(b":") == num_keys or sum(map(line.count, _KEY_ENDS)) == num_keys:
        return None
    try:
        json.loads(line, object_pairs_hook=unique_keys)
    except DuplicateKeyError as error:
        return str(error)
    return None


def _num_keys(value: dict[str, Any]) -> int:
    num_keys = 0
    items: list[Any] = [value]
    for item in items:  # grows during iteration: breadth first, without recursion
        if type(item) is dict:
            num_keys += len(item)
            items += item.values()
        elif type(item) is list:
            items += item
    return num_keys


class DuplicateKeyError(Exception):
    """An object repeats a key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key!r} occurs twice in one object")


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """`object_pairs_hook` that raises `DuplicateKeyError` for a repeated key."""
    unique: dict[str, Any] = {}
    for key, value in pairs:
        if key in unique:
            raise DuplicateKeyError(key)
        unique[key] = value
    return unique


class JsonLines:
    """A JSON Lines file that one process appends to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with storage_errors(f"opening {path.name}"):
            self._file = path.open("ab")

    def append(self, value: dict[str, Any]) -> None:
        """Append one line; it survives a crash of this process."""
        line = json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"
        with storage_errors(f"writing {self._path.name}"):
            self._file.write(line.encode())
            self._file.flush()

    def sync(self) -> None:
        """Make the lines survive a power cut."""
        with storage_errors(f"writing {self._path.name}"):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """No more lines."""
        with storage_errors(f"writing {self._path.name}"):
            self._file.close()


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file that a process may have died while writing: a torn last line is left out."""
    if not path.exists():
        return []
    *whole, _torn = path.read_bytes().split(b"\n")
    return [json.loads(line) for line in whole]


def first_json_line(path: Path) -> dict[str, Any] | None:
    """The first line of a JSON Lines file; None if it has no complete line."""
    try:
        with path.open("rb") as file:
            line = file.readline()
    except FileNotFoundError:
        return None
    first: dict[str, Any] | None = json.loads(line) if line.endswith(b"\n") else None
    return first


def keep_json_lines(path: Path, is_kept: Callable[[dict[str, Any]], bool]) -> None:
    """Rewrite the file atomically with only the kept lines."""
    kept = [line for line in read_json_lines(path) if is_kept(line)]
    with write_atomically(path, what=f"truncating {path.name}") as file:
        file.writelines(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in kept)
