"""Convert rows to traces in chunks, on all cores when the file is large.

Worker processes run `prepare_chunk`, which does no I/O.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.files.jsonl import BadRow, RawLine, ReadRow, UnreadRow, parse_raw
from tunix_rt.base.files.readers import FileType, open_rows
from tunix_rt.base.host import Mapper, in_this_process, worker_processes
from tunix_rt.traces.formats.registry import RowOptions, read_row
from tunix_rt.traces.formats.solutions import RowError
from tunix_rt.traces.types import PreparedTrace, Trace, prepared

MAX_SHOWN_REJECTIONS = 10
MAX_SHOWN_CHARS = 200


class Rejection(BaseModel):
    """A row that was not imported."""

    model_config = ConfigDict(frozen=True)
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
            self.first_rejections.append(Rejection(line=line, reason=reason, row=_shortened(text)))

    def add(self, later: "Tally") -> None:
        """Add the counts of a later part of the file."""
        self.num_read += later.num_read
        self.num_rejected += later.num_rejected
        self.num_blank_lines += later.num_blank_lines
        self.num_system_folded += later.num_system_folded
        self.answer_rules += later.answer_rules
        room = MAX_SHOWN_REJECTIONS - len(self.first_rejections)
        self.first_rejections += later.first_rejections[:room]


@dataclass(frozen=True)
class RowJob:
    """How to convert rows to traces."""

    row_options: RowOptions
    source: str
    overwrite_source: bool
    """Whether `source` also replaces the source of a row."""
    keep_traces: bool
    """Whether to return the traces or only the tally."""


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


def prepare_chunk(job: RowJob, rows: Sequence[UnreadRow]) -> PreparedChunk:
    """Convert rows to traces that are ready to be stored, and collect the rejected rows."""
    chunk = PreparedChunk([], [], Tally())
    for unread in rows:
        row = parse_raw(unread) if isinstance(unread, RawLine) else unread
        if isinstance(row, ReadRow):
            _convert(job, row, chunk)
        elif isinstance(row, BadRow):
            _reject(chunk, row.number, row.reason, row.raw)
        else:
            chunk.tally.num_blank_lines += 1
    return chunk


def _convert(job: RowJob, row: ReadRow, chunk: PreparedChunk) -> None:
    try:
        trace = read_row(row.values, job.row_options)
    except RowError as error:
        _reject(chunk, row.number, str(error), row.values)
        return
    chunk.tally.count(trace)
    if job.keep_traces:
        chunk.traces.append(prepared(_with_source(job, trace)))


def _with_source(job: RowJob, trace: Trace) -> Trace:
    if "source" in trace.meta and not job.overwrite_source:
        return trace
    return trace.model_copy(update={"meta": {**trace.meta, "source": job.source}})


def _reject(chunk: PreparedChunk, line: int, reason: str, row: Any) -> None:
    chunk.tally.reject(line, reason, row)
    chunk.rejected.append(RejectedRow(line, reason, row))


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"


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

    @contextmanager
    def mapper(self) -> Iterator[Mapper]:
        """The map function for chunks: worker processes when the file is large."""
        is_large = self.path.stat().st_size >= PARALLEL_FROM_BYTES
        with worker_processes() if is_large else nullcontext(in_this_process) as mapper:
            yield mapper

    def check(self, mapper: Mapper, rejects: IO[bytes] | None, on_progress: OnProgress) -> Tally:
        """Convert every row and return only the tally."""
        tally = Tally()
        for _ in self._read(mapper, "checking", tally, rejects, on_progress):
            pass
        return tally

    def traces(
        self, mapper: Mapper, tally: Tally, rejects: IO[bytes] | None, on_progress: OnProgress
    ) -> Iterator[list[PreparedTrace]]:
        """The traces of all valid rows, in chunks. Updates `tally` and writes invalid rows to `rejects`."""
        return self._read(mapper, "importing", tally, rejects, on_progress)

    def _read(
        self,
        mapper: Mapper,
        phase: Phase,
        tally: Tally,
        rejects: IO[bytes] | None,
        on_progress: OnProgress,
    ) -> Iterator[list[PreparedTrace]]:
        job = RowJob(self.row_options, self.source, self.overwrite_source, keep_traces=phase == "importing")
        with open_rows(self.path, self.file_type) as stream:
            for chunk in mapper(partial(prepare_chunk, job), _chunks(stream.unread)):
                tally.add(chunk.tally)
                _write_rejects(rejects, chunk.rejected)
                on_progress(ImportProgress(phase, tally.num_read, stream.fraction_read()))
                yield chunk.traces


def _chunks(rows: Iterator[UnreadRow]) -> Iterator[list[UnreadRow]]:
    """Chunks of a few hundred rows, fewer when rows are long."""
    chunk: list[UnreadRow] = []
    num_bytes = 0
    for row in rows:
        chunk.append(row)
        num_bytes += len(row.raw) if isinstance(row, RawLine) else 0
        if len(chunk) >= ROWS_PER_CHUNK or num_bytes >= BYTES_PER_CHUNK:
            yield chunk
            chunk, num_bytes = [], 0
    if chunk:
        yield chunk


@contextmanager
def rejects_file(path: Path | None) -> Iterator[IO[bytes] | None]:
    """The file for rejected rows, one `{"line", "reason", "row"}` object per line; None without a path."""
    if path is None:
        yield None
        return
    with write_atomically(path, what="writing the rejected rows") as file:
        yield file


def _write_rejects(rejects: IO[bytes] | None, rejected: list[RejectedRow]) -> None:
    if rejects is not None:
        for row in rejected:
            line = json.dumps(row._asdict(), ensure_ascii=False)
            rejects.write(f"{line}\n".encode(errors="backslashreplace"))
