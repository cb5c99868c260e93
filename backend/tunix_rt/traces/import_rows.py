"""Convert rows to traces in chunks, on all cores when the file is large.

Worker processes run `prepare_chunk`, which does no I/O.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeVar

from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.files.jsonl import BadRow, BlankLine, RawLine, UnreadRow, parse_raw
from tunix_rt.base.files.readers import FileType, open_rows
from tunix_rt.base.host import Mapper
from tunix_rt.traces.formats.registry import RowOptions, read_row
from tunix_rt.traces.formats.solutions import RowError
from tunix_rt.traces.types import Frozen, PreparedTrace, Trace, prepared

_T = TypeVar("_T")

MAX_SHOWN_REJECTIONS = 10
MAX_SHOWN_CHARS = 200


class Rejection(Frozen):
    """A row that was not imported."""

    line: int
    """Line in the file (row in Parquet), from 1."""
    reason: str
    row: str
    """The start of its text."""


@dataclass
class Tally:
    """Counts over the rows of a file."""

    num_read: int = 0
    num_rejected: int = 0
    num_blank_lines: int = 0
    num_system_folded: int = 0
    answer_rules: Counter[str] = field(default_factory=Counter)
    first_rejections: list[Rejection] = field(default_factory=list)

    def count(self, trace: Trace) -> None:
        """Count a row that was converted to a trace."""
        self.num_read += 1
        rule = trace.meta.get("answer_rule")
        if rule is not None:
            self.answer_rules[str(rule)] += 1
        self.num_system_folded += trace.meta.get("system_folded") is True

    def reject(self, line: int, reason: str, row: Any) -> None:
        """Count a rejected row."""
        self.num_read += 1
        self.num_rejected += 1
        if len(self.first_rejections) < MAX_SHOWN_REJECTIONS:
            text = row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)
            if len(text) > MAX_SHOWN_CHARS:
                text = text[:MAX_SHOWN_CHARS] + "…"
            self.first_rejections.append(Rejection(line=line, reason=reason, row=text))

    def add(self, later: "Tally") -> None:
        """Add the counts of a later part of the file."""
        self.num_read += later.num_read
        self.num_rejected += later.num_rejected
        self.num_blank_lines += later.num_blank_lines
        self.num_system_folded += later.num_system_folded
        self.answer_rules += later.answer_rules
        room = MAX_SHOWN_REJECTIONS - len(self.first_rejections)
        self.first_rejections += later.first_rejections[:room]


class RejectedRow(NamedTuple):
    """A rejected row with its full content."""

    line: int
    reason: str
    row: Any


class PreparedChunk(NamedTuple):
    """The result of a chunk of rows."""

    traces: list[PreparedTrace]
    rejected: list[RejectedRow]
    tally: Tally


ROWS_PER_CHUNK = 500
BYTES_PER_CHUNK = 4 * 1024 * 1024
PARALLEL_FROM_BYTES = 4 * 1024 * 1024
"""Starting worker processes costs about as much as reading a file of this size."""

Phase = Literal["checking", "importing"]


@dataclass(frozen=True)
class ImportProgress:
    """The progress of an import."""

    phase: Phase
    num_rows: int
    fraction: float


OnProgress = Callable[[ImportProgress], None]


@dataclass(frozen=True)
class TraceFile:
    """A file of rows and how to read them."""

    path: Path
    name: str
    """The name that the user knows."""
    file_type: FileType | None
    row_options: RowOptions
    source: str
    overwrite_source: bool
    """Whether `source` also replaces the source of a row."""

    def read(
        self,
        mapper: Mapper,
        phase: Phase,
        tally: Tally,
        rejects: IO[bytes] | None,
        on_progress: OnProgress,
    ) -> Iterator[list[PreparedTrace]]:
        """The traces of all valid rows, in chunks; none when only checking.

        Updates `tally` and writes invalid rows to `rejects`.
        """
        with open_rows(self.path, self.file_type) as stream:
            rows = in_batches(stream.unread, _num_bytes, max_items=ROWS_PER_CHUNK, max_size=BYTES_PER_CHUNK)
            for chunk in mapper(partial(prepare_chunk, self, phase), rows):
                tally.add(chunk.tally)
                if rejects is not None:
                    for row in chunk.rejected:
                        line = json.dumps(row._asdict(), ensure_ascii=False)
                        rejects.write(f"{line}\n".encode(errors="backslashreplace"))
                on_progress(ImportProgress(phase, tally.num_read, stream.fraction_read()))
                yield chunk.traces


def prepare_chunk(file: TraceFile, phase: Phase, rows: Sequence[UnreadRow]) -> PreparedChunk:
    """Convert rows to traces that are ready to be stored, and collect the rejected rows.

    When checking, only the tally and the rejected rows are returned.
    """
    chunk = PreparedChunk([], [], Tally())
    for unread in rows:
        row = parse_raw(unread) if isinstance(unread, RawLine) else unread
        if isinstance(row, BadRow):
            _reject(chunk, row.number, row.reason, row.raw)
        elif isinstance(row, BlankLine):
            chunk.tally.num_blank_lines += 1
        else:
            try:
                trace = read_row(row.values, file.row_options)
            except RowError as error:
                _reject(chunk, row.number, str(error), row.values)
                continue
            chunk.tally.count(trace)
            if phase == "importing":
                if file.overwrite_source or "source" not in trace.meta:
                    trace = trace.model_copy(update={"meta": {**trace.meta, "source": file.source}})
                chunk.traces.append(prepared(trace))
    return chunk


def _reject(chunk: PreparedChunk, line: int, reason: str, row: Any) -> None:
    chunk.tally.reject(line, reason, row)
    chunk.rejected.append(RejectedRow(line, reason, row))


def _num_bytes(row: UnreadRow) -> int:
    return len(row.raw) if isinstance(row, RawLine) else 0


def in_batches(
    items: Iterable[_T], size_of: Callable[[_T], int], *, max_items: int, max_size: int
) -> Iterator[list[_T]]:
    """Batches of `max_items`, and fewer when their total size reaches `max_size`."""
    batch: list[_T] = []
    size = 0
    for item in items:
        batch.append(item)
        size += size_of(item)
        if len(batch) >= max_items or size >= max_size:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@contextmanager
def rejects_file(path: Path | None) -> Iterator[IO[bytes] | None]:
    """The file for rejected rows, one `{"line", "reason", "row"}` object per line; None without a path."""
    if path is None:
        yield None
        return
    with write_atomically(path, what="writing the rejected rows") as file:
        yield file
