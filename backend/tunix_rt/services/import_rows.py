"""Rows of a file as traces, with every rejected row counted, shown and, if wanted, written out."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from pydantic import BaseModel, ConfigDict

from tunix_rt.core.formats.registry import RowReading, read_row
from tunix_rt.core.formats.rows import RowError
from tunix_rt.core.trace import Trace
from tunix_rt.files.atomic import write_atomically
from tunix_rt.files.readers import FileType, open_rows
from tunix_rt.files.rows import BadRow, ReadRow

MAX_SHOWN_REJECTIONS = 10
MAX_SHOWN_CHARS = 200
PROGRESS_EVERY_ROWS = 1_000


class Rejection(BaseModel):
    """A row that was not imported."""

    model_config = ConfigDict(frozen=True)
    line: int
    """Line in the file (row in Parquet), from 1."""
    reason: str
    row: str
    """The start of its text."""


@dataclass(frozen=True)
class ImportProgress:
    """How far an import is."""

    phase: Literal["checking", "importing"]
    num_rows: int
    fraction: float


OnProgress = Callable[[ImportProgress], None]


@dataclass
class Tally:
    """What one pass over the file has met."""

    num_read: int = 0
    num_rejected: int = 0
    num_blank_lines: int = 0
    num_system_folded: int = 0
    answer_rules: Counter[str] = field(default_factory=Counter)
    first_rejections: list[Rejection] = field(default_factory=list)

    def count(self, trace: Trace) -> None:
        """Note how a trace was read from its row."""
        rule = trace.meta.get("answer_rule")
        if rule is not None:
            self.answer_rules[str(rule)] += 1
        self.num_system_folded += trace.meta.get("system_folded") is True


@dataclass(frozen=True)
class TraceFile:
    """A file of rows and how to read them."""

    path: Path
    name: str
    """What the user calls it."""
    file_type: FileType | None
    reading: RowReading
    source: str
    overwrite_source: bool
    """Whether `source` also replaces what a row itself says."""

    def traces(
        self,
        tally: Tally,
        rejects: IO[bytes] | None,
        phase: Literal["checking", "importing"],
        on_progress: OnProgress,
    ) -> Iterator[Trace]:
        """The traces of all good rows; the bad ones go to `tally` and `rejects`."""
        with open_rows(self.path, self.file_type) as stream:
            for row in stream.rows:
                if isinstance(row, ReadRow):
                    trace = self._trace_of(row, tally, rejects)
                    if trace is not None:
                        yield trace
                elif isinstance(row, BadRow):
                    _reject(tally, rejects, row.number, row.reason, row.raw)
                else:
                    tally.num_blank_lines += 1
                if row.number % PROGRESS_EVERY_ROWS == 0:
                    on_progress(ImportProgress(phase, tally.num_read, stream.fraction_read()))

    def _trace_of(self, row: ReadRow, tally: Tally, rejects: IO[bytes] | None) -> Trace | None:
        try:
            trace = read_row(row.values, self.reading)
        except RowError as error:
            _reject(tally, rejects, row.number, str(error), row.values)
            return None
        tally.num_read += 1
        tally.count(trace)
        return self._with_source(trace)

    def _with_source(self, trace: Trace) -> Trace:
        if "source" in trace.meta and not self.overwrite_source:
            return trace
        return trace.model_copy(update={"meta": {**trace.meta, "source": self.source}})


@contextmanager
def rejects_file(path: Path | None) -> Iterator[IO[bytes] | None]:
    """Where rejected rows are written, one `{"line", "reason", "row"}` a line; None: nowhere."""
    if path is None:
        yield None
        return
    with write_atomically(path, what="writing the rejected rows") as file:
        yield file


def _reject(tally: Tally, rejects: IO[bytes] | None, line: int, reason: str, row: Any) -> None:
    tally.num_read += 1
    tally.num_rejected += 1
    if rejects is not None:
        rejected = {"line": line, "reason": reason, "row": row}
        rejects.write(f"{_json(rejected)}\n".encode(errors="backslashreplace"))
    if len(tally.first_rejections) < MAX_SHOWN_REJECTIONS:
        text = row if isinstance(row, str) else _json(row)
        tally.first_rejections.append(Rejection(line=line, reason=reason, row=_shortened(text)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"
