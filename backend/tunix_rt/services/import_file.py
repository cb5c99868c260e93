"""A file of rows, read in chunks: in this process when it is small, on all cores when it is large."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Literal

from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.files.jsonl import RawLine, UnreadRow
from tunix_rt.base.files.readers import FileType, open_rows
from tunix_rt.base.host import Mapper, in_this_process, worker_processes
from tunix_rt.core.formats.registry import RowReading
from tunix_rt.core.prepared import PreparedTrace
from tunix_rt.services.import_rows import RejectedRow, RowJob, Tally, prepare_chunk

ROWS_PER_CHUNK = 500
BYTES_PER_CHUNK = 4 * 1024 * 1024
PARALLEL_FROM_BYTES = 4 * 1024 * 1024
"""Starting worker processes costs about as much as reading a file of this size."""

Phase = Literal["checking", "importing"]


@dataclass(frozen=True)
class ImportProgress:
    """How far an import is."""

    phase: Phase
    num_rows: int
    fraction: float


OnProgress = Callable[[ImportProgress], None]


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

    @contextmanager
    def mapper(self) -> Iterator[Mapper]:
        """What reads the chunks: worker processes when the file is worth it."""
        is_large = self.path.stat().st_size >= PARALLEL_FROM_BYTES
        with worker_processes() if is_large else nullcontext(in_this_process) as mapper:
            yield mapper

    def check(self, mapper: Mapper, rejects: IO[bytes] | None, on_progress: OnProgress) -> Tally:
        """Read everything and keep nothing but the tally."""
        tally = Tally()
        for _ in self._read(mapper, "checking", tally, rejects, on_progress):
            pass
        return tally

    def traces(
        self, mapper: Mapper, tally: Tally, rejects: IO[bytes] | None, on_progress: OnProgress
    ) -> Iterator[list[PreparedTrace]]:
        """The traces of all good rows, in chunks; `tally` is told of all rows, `rejects` of the bad ones."""
        return self._read(mapper, "importing", tally, rejects, on_progress)

    def _read(
        self,
        mapper: Mapper,
        phase: Phase,
        tally: Tally,
        rejects: IO[bytes] | None,
        on_progress: OnProgress,
    ) -> Iterator[list[PreparedTrace]]:
        job = RowJob(self.reading, self.source, self.overwrite_source, keep_traces=phase == "importing")
        with open_rows(self.path, self.file_type) as stream:
            for chunk in mapper(partial(prepare_chunk, job), _chunks(stream.unread)):
                tally.add(chunk.tally)
                _write_rejects(rejects, chunk.rejected)
                on_progress(ImportProgress(phase, tally.num_read, stream.fraction_read()))
                yield chunk.traces


def _chunks(rows: Iterator[UnreadRow]) -> Iterator[list[UnreadRow]]:
    """Some hundred rows at a time, fewer where they are long."""
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
    """Where rejected rows are written, one `{"line", "reason", "row"}` a line; None: nowhere."""
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
