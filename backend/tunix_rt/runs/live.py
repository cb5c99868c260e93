"""Follow a run's status and growing files; the next messages for each viewer.

One watch serves all viewers of a run; they read its files at their own pace.

service events   kept by the watch, counted
events, metrics  lines of JSON files, sent as they are; `rewind` announces that lines were cut back
log              bytes of the output, in whole lines; very long lines in parts

The messages of a source arrive in order, each once. The cursor is the only state: a viewer that reconnects
with the cursor of its last message continues right after it.
"""

import codecs
import hashlib
import json
import logging
import os
import re
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Literal, get_args

from tunix_rt.base.errors import InvalidInputError, NotFoundError, StorageError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.home import Home
from tunix_rt.base.records import Record
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import (
    TERMINAL,
    Heartbeat,
    LiveKind,
    LiveSource,
    LogChunk,
    Rewind,
    ServiceEvent,
    StatusMessage,
)
from tunix_rt.runs.unmanaged import refreshed_runs

_BLOCK_BYTES = 1 << 16


class GrowingFile:
    """A file that grows, that may not exist yet, and that may be replaced by a shorter copy.

    Between two calls of `refresh` it does not change for its readers. A replaced file stays open until the
    new one was compared with it: readers beyond the common lines know that they must go back. Not
    thread-safe.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._cuts: list[int] = []
        self.num_bytes = 0
        """As of the last refresh."""

    @property
    def version(self) -> int:
        """How often the file was cut back or replaced."""
        return len(self._cuts)

    def refresh(self) -> bool:
        """Read the size and the identity of the file; whether anything changed.

        Raises:
            StorageError: It exists and cannot be read.
        """
        with storage_errors(f"reading {self._path.name}"):
            before = (self.num_bytes, self.version)
            self._reopen()
            if self._descriptor is not None:
                num_bytes = os.fstat(self._descriptor).st_size
                if num_bytes < self.num_bytes:
                    self._cuts.append(0)  # truncated in place: its content is new
                self.num_bytes = num_bytes
            return before != (self.num_bytes, self.version)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """The bytes from `offset` on, up to the size at the last refresh."""
        num_remaining = min(max_bytes, self.num_bytes - offset)
        if self._descriptor is None or num_remaining <= 0:
            return b""
        return os.pread(self._descriptor, num_remaining, offset)

    def valid_prefix(self, offset: int, version: int) -> int:
        """How many of the first `offset` bytes of that version are still in the file."""
        return min([offset, *self._cuts[version:]])

    def line_before(self, offset: int) -> bytes:
        """The line that ends at `offset`, with its newline; empty at the start of the file."""
        if not 0 < offset <= self.num_bytes:
            return b""
        start = self._line_start(offset - 1)
        return self.read(start, offset - start)

    def offset_of_last_lines(self, num_lines: int) -> int:
        """The offset of the last `num_lines` lines; a line without a newline counts."""
        offset = self.num_bytes
        for _ in range(num_lines):
            if offset == 0:
                break
            offset = self._line_start(offset - 1)
        return offset

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def _line_start(self, offset: int) -> int:
        """The start of the line with the byte at `offset`."""
        end = offset
        while end > 0:
            start = max(0, end - _BLOCK_BYTES)
            newline = self.read(start, end - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
        return 0

    def _reopen(self) -> None:
        try:
            found = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return  # not there yet; or removed, and readers may finish
        if self._descriptor is None:
            self._descriptor = found
        elif os.path.sameopenfile(self._descriptor, found):
            os.close(found)
        else:
            self._cuts.append(_common_lines(self._descriptor, found, self.num_bytes))
            os.close(self._descriptor)
            self._descriptor, self.num_bytes = found, os.fstat(found).st_size


def _common_lines(old: int, new: int, num_bytes: int) -> int:
    """The length of the whole lines that both files begin with, within `num_bytes` of the old one."""
    common = 0
    for start in range(0, num_bytes, _BLOCK_BYTES):
        size = min(_BLOCK_BYTES, num_bytes - start)
        left, right = os.pread(old, size, start), os.pread(new, size, start)
        same = takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
        shared = left if left == right else bytes(one for one, _ in same)
        newline = shared.rfind(b"\n")
        common = start + newline + 1 if newline >= 0 else common
        if left != right:
            break
    return common


_CURSOR = re.compile(r"(\d{1,15})-(\d{1,15})\.([0-9a-f]{12})?-(\d{1,15})\.([0-9a-f]{12})?-(\d{1,15})", re.A)
_MARK_BYTES = 6


@dataclass(frozen=True)
class LinePosition:
    """A position between two lines of a file that may be cut back."""

    offset: int = 0
    mark: str = ""
    """Hash of the line before it, which contains its time: equal marks mean equal lines."""

    def __str__(self) -> str:
        return f"{self.offset}.{self.mark}"


@dataclass(frozen=True)
class Cursor:
    """The position of a viewer in a run.

    Example:
        str(Cursor(num_service_events=3, log=120)) -> "3-0.-0.-120"
    """

    num_service_events: int = 0
    events: LinePosition = field(default_factory=LinePosition)
    metrics: LinePosition = field(default_factory=LinePosition)
    log: int = 0

    def __str__(self) -> str:
        return f"{self.num_service_events}-{self.events}-{self.metrics}-{self.log}"


def parse_cursor(text: str) -> Cursor:
    """Parse the text of a cursor.

    Raises:
        InvalidInputError: It is not a cursor.
    """
    match = _CURSOR.fullmatch(text)
    if match is None:
        raise InvalidInputError(
            f"{text[:100]!r} is not a cursor of a run's stream.",
            next_step="Send the id of the last message that you received, or none to get everything.",
        )
    service, events, events_mark, metrics, metrics_mark, log = match.groups()
    return Cursor(
        num_service_events=int(service),
        events=LinePosition(int(events), events_mark or ""),
        metrics=LinePosition(int(metrics), metrics_mark or ""),
        log=int(log),
    )


def mark_of(line: bytes) -> str:
    """A short hash of a line."""
    return hashlib.blake2b(line, digest_size=_MARK_BYTES).hexdigest() if line else ""


POLL_EVERY_S = 0.5

logger = logging.getLogger(__name__)


class RunWatch:
    """A run with viewers. Only `refresh` reads the database and the sizes of the files."""

    def __init__(self, home: Home, run_id: str) -> None:
        """Read its current state.

        Raises:
            NotFoundError: There is no such run.
        """
        self.run_id = run_id
        self.lock = threading.Lock()
        """Held by `refresh` and by reading viewers: neither sees half a change."""
        self._home = home
        self._run_dir = RunDir(home.settings.runs_dir / run_id)
        self.service_events: list[ServiceEvent] = []
        self.events = GrowingFile(self._run_dir.events)
        self.metrics = GrowingFile(self._run_dir.metrics)
        job = JobDir(home.settings.jobs_dir / run_id)
        # An unmanaged run has its own log.
        self.log = GrowingFile(job.output if job.path.is_dir() else self._run_dir.log)
        self.status: RunStatus = "queued"
        self.is_over = False
        """Whether the run has ended. The files were refreshed afterwards and will not grow."""
        self._update(*self._read_database())

    def refresh(self) -> bool:
        """Read what is new; whether anything is. If the database is away, it is read next time."""
        try:
            status, new_events = self._read_database()
        except NotFoundError:  # removed meanwhile: there is nothing more to send
            return self._update(self.status, (), is_gone=True)
        except StorageError as error:
            logger.warning("The run %s is followed without the database: %s", self.run_id, error.detail)
            with self.lock:
                return self._refresh_files()
        return self._update(status, new_events)

    def close(self) -> None:
        """Close the files."""
        with self.lock:
            for file in (self.events, self.metrics, self.log):
                file.close()

    def _read_database(self) -> tuple[RunStatus, Sequence[ServiceEvent]]:
        status, num_events = refreshed_runs(self._home).status_of(self.run_id)
        if num_events <= len(self.service_events):
            return status, ()
        return status, RunRepository(self._home.database).events(
            self.run_id, after=len(self.service_events) - 1
        )

    def _update(
        self, status: RunStatus, new_events: Sequence[ServiceEvent], *, is_gone: bool = False
    ) -> bool:
        is_over = is_gone or status in TERMINAL
        with self.lock:
            has_changed = bool(new_events) or (status, is_over) != (self.status, self.is_over)
            self.service_events.extend(new_events)
            self.status, self.is_over = status, is_over
            # After the status: the files of a run that has ended are complete.
            return self._refresh_files() or has_changed

    def _refresh_files(self) -> bool:
        # A list: any() of a generator would stop at the first that has grown.
        return any([file.refresh() for file in (self.events, self.metrics, self.log)])


CHUNK_BYTES = 64 * 1024
"""Maximum of the log in one message and of each source in one read: the memory of a viewer."""
ALL_SOURCES: tuple[LiveSource, ...] = get_args(LiveSource)


@dataclass(frozen=True)
class LiveMessage:
    """One message and the cursor after it."""

    kind: LiveKind
    data: str
    """JSON on one line."""
    cursor: Cursor


class RunReader:
    """Reads a run for one viewer."""

    def __init__(
        self, watch: RunWatch, cursor: Cursor | None = None, *, sources: Collection[LiveSource] = ALL_SOURCES
    ) -> None:
        self._watch = watch
        self.cursor = cursor or Cursor()
        self._sources = sources
        self._lines = {"events": _Lines(watch.events), "metrics": _Lines(watch.metrics)}
        self.is_finished = False
        """Whether the last message was read."""

    def read(self) -> list[LiveMessage]:
        """The next messages, up to `CHUNK_BYTES` of each source; empty if there is nothing new.

        The very last message is the final status of the run.
        """
        with self._watch.lock:
            messages = [message for source in self._sources for message in self._read(source)]
            if self._watch.is_over and not messages and not self.is_finished:
                self.is_finished = True
                messages.append(self._message("status", StatusMessage(status=self._watch.status)))
        return messages

    def heartbeat(self) -> LiveMessage:
        """A message for when nothing is new."""
        return self._message("heartbeat", Heartbeat(seq=self.cursor.log))

    def _read(self, source: LiveSource) -> Iterator[LiveMessage]:
        if source == "service":
            for event in self._watch.service_events[self.cursor.num_service_events :]:
                self.cursor = replace(self.cursor, num_service_events=event.sequence + 1)
                yield self._message("service", event)
        elif source == "log":
            offset = min(self.cursor.log, self._watch.log.num_bytes)
            chunk = log_chunk(self._watch.log, offset, is_over=self._watch.is_over)
            if chunk is not None:
                self.cursor = replace(self.cursor, log=chunk.seq)
                yield self._message("log", chunk)
        else:
            yield from self._read_lines(source)

    def _read_lines(self, source: Literal["events", "metrics"]) -> Iterator[LiveMessage]:
        lines = self._lines[source]
        before = getattr(self.cursor, source)
        position = lines.last_valid(before)
        if position != before:
            if source == "events":
                position = LinePosition()  # events have no step to go back to
            self._move(source, position)
            # The step of the last line that is still valid; 0 if there is none.
            last = lines.file.line_before(position.offset) or b"{}"
            yield self._message("rewind", Rewind(source=source, step=json.loads(last).get("step", 0)))
        for line in lines.after(position):
            position = LinePosition(position.offset + len(line), mark_of(line))
            self._move(source, position)
            kind: LiveKind = "event" if source == "events" else "metrics"
            yield LiveMessage(kind, line.decode("utf-8", "replace").rstrip("\n"), self.cursor)

    def _move(self, source: Literal["events", "metrics"], position: LinePosition) -> None:
        if source == "events":
            self.cursor = replace(self.cursor, events=position)
        else:
            self.cursor = replace(self.cursor, metrics=position)

    def _message(self, kind: LiveKind, record: Record) -> LiveMessage:
        return LiveMessage(kind, record.model_dump_json(exclude_none=True), self.cursor)


class _Lines:
    """A file of JSON lines, as read by one viewer."""

    def __init__(self, file: GrowingFile) -> None:
        self.file = file
        self._version: int | None = None

    def last_valid(self, position: LinePosition) -> LinePosition:
        """The same position, or an earlier one if the lines before it are no longer those that were sent."""
        version, self._version = self._version, self.file.version
        if version is not None:
            offset = self.file.valid_prefix(position.offset, version)
        else:  # the viewer has reconnected: the mark identifies its last line
            is_same = mark_of(self.file.line_before(position.offset)) == position.mark
            offset = position.offset if is_same else 0
        if offset == position.offset:
            return position
        return LinePosition(offset, mark_of(self.file.line_before(offset)))

    def after(self, position: LinePosition) -> list[bytes]:
        """The next whole lines. A line longer than a chunk comes alone."""
        num_bytes = CHUNK_BYTES
        while b"\n" not in (block := self.file.read(position.offset, num_bytes)):
            if len(block) < num_bytes:
                return []  # its end is not written yet
            num_bytes *= 2
        return [line + b"\n" for line in block[: block.rfind(b"\n")].split(b"\n")]


def log_chunk(file: GrowingFile, offset: int, *, is_over: bool) -> LogChunk | None:
    """A chunk of the lines of a log from `offset` on; None while there is no whole line.

    A line without a newline is held back until it gets one, exceeds a chunk, or the run has ended.
    """
    block = file.read(offset, CHUNK_BYTES)
    end = block.rfind(b"\n") + 1
    if end == 0 and len(block) < CHUNK_BYTES and not is_over:
        return None
    # A part of a long line ends with a whole character; the remaining bytes belong to the next part.
    is_final = end > 0 or (is_over and offset + len(block) == file.num_bytes)
    text, num_bytes = codecs.utf_8_decode(block[: end or None], "replace", is_final)
    return LogChunk(seq=offset + num_bytes, chunk=text, is_partial=end == 0) if text else None
