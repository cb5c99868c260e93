"""A JSON document that is one list of objects, as Alpaca and ShareGPT files often are, read as a stream."""

import io
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from tunix_rt.files.jsonl import MAX_LINE_BYTES, DuplicateKeyError, shape_of, unique_keys
from tunix_rt.files.rows import BadRow, FileRow, ReadRow

_CHUNK_CHARS = 256 * 1024
_SPACE = " \t\r\n"


def starts_a_list(start: bytes) -> bool:
    """Whether these first bytes of a file open a JSON list."""
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def read_json_list(file: BinaryIO, *, max_item_chars: int = MAX_LINE_BYTES) -> Iterator[FileRow]:
    """One row for each object of the list, numbered by its place from 1.

    Where the document itself is broken, reading ends with a `BadRow`: nobody can tell where the next item
    would begin.
    """
    # What is not UTF-8 becomes lone surrogates, which no trace may hold: the row is refused for it.
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
            yield BadRow(number, f"cannot be read, nor what follows it: {error}", "")
            return
        else:
            yield _row(number, value)
        buffer.skip(_SPACE + ",")
    if not following:
        yield BadRow(number + 1, "the list is never closed; the file may be cut off", "")
    buffer.skip("]", at_most=1)
    buffer.skip(_SPACE)
    if buffer.peek():
        yield BadRow(number + 1, "something follows the end of the list and cannot be read", "")


def _row(number: int, value: Any) -> ReadRow | BadRow:
    if isinstance(value, dict):
        return ReadRow(number, value)
    return BadRow(number, f"must be a JSON object, not {shape_of(value)}", json.dumps(value)[:1_000])


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
        """Go on to the next character that is none of these."""
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
                if not self._read_more():
                    raise ValueError(f"is not JSON: {error.msg}") from error

    def _read_more(self) -> bool:
        # As much again as is held: an item that is read in n pieces is parsed log n times.
        more = self._text.read(max(_CHUNK_CHARS, len(self._held) - self._at))
        self._held, self._at = self._held[self._at :] + more, 0
        return bool(more)


class _BadItemError(Exception):
    """An item that is complete but not acceptable."""


def _no_constant(name: str) -> None:
    raise _BadItemError(f"{name} is not JSON")
