"""Follow a run's status and growing files; the next messages for each viewer.

Whoever shows a run to many viewers looks once for all of them; they read the files at their own pace.

service events   kept by the watch, counted
    events, metrics  lines of JSON files: sent as they are; cut back and written again, `rewind` says so
    log              bytes of what was printed, in whole lines, a very long one in parts

The messages of a source come in order, each once. Nothing is remembered but the cursor: a viewer that comes
back with the cursor of the last message it got goes on right behind it.
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
from pathlib import Path
from typing import Literal, get_args

from tunix_rt.base.errors import InvalidInputError, NotFoundError, StorageError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.home import Home
from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings
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
    RunState,
    ServiceEvent,
    StatusMessage,
)
from tunix_rt.runs.unmanaged import refreshed_runs

_BLOCK_BYTES = 1 << 16


class GrowingFile:
    """A file that grows, that may not be there yet, and that may be replaced by a copy that is cut back.

    Between two calls of `look` it does not change for its readers. A file that was replaced stays open until
    the new one was compared with it: so it is known what both begin with, and whoever has read further than
    that knows that it must go back. One thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._cuts: list[int] = []
        self.num_bytes = 0
        """As of the last look."""

    @property
    def version(self) -> int:
        """Counts how often the file was cut back or replaced."""
        return len(self._cuts)

    def look(self) -> bool:
        """See how long the file is and whether it is another one; whether anything changed.

        Raises:
            StorageError: It is there and cannot be read.
        """
        with storage_errors(f"reading {self._path.name}"):
            before = (self.num_bytes, self.version)
            self._reopen()
            if self._descriptor is not None:
                self._measure(os.fstat(self._descriptor).st_size)
            return before != (self.num_bytes, self.version)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """The bytes from `offset` on, as far as the last look saw them."""
        num_remaining = min(max_bytes, self.num_bytes - offset)
        if self._descriptor is None or num_remaining <= 0:
            return b""
        return os.pread(self._descriptor, num_remaining, offset)

    def valid_prefix(self, offset: int, version: int) -> int:
        """How much of what was read up to `offset`, when the file had this version, it still begins with."""
        return min([offset, *self._cuts[version:]])

    def line_before(self, offset: int) -> bytes:
        """The line that ends at `offset`, with its end; empty at the beginning."""
        if not 0 < offset <= self.num_bytes:
            return b""
        start = self._line_start(offset - 1)
        return self.read(start, offset - start)

    def offset_of_last_lines(self, num_lines: int) -> int:
        """Where the last `num_lines` lines begin; one without an end counts."""
        place = self.num_bytes
        for _ in range(num_lines):
            if place == 0:
                break
            place = self._line_start(place - 1)
        return place

    def close(self) -> None:
        """Nothing more can be read."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def _line_start(self, offset: int) -> int:
        """Where the line begins that the byte at `offset` belongs to."""
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
            return  # not yet; or removed, and who reads it may finish
        if self._descriptor is None:
            self._descriptor = found
        elif os.path.sameopenfile(self._descriptor, found):
            os.close(found)
        else:
            self._cuts.append(_common_lines(self._descriptor, found, self.num_bytes))
            os.close(self._descriptor)
            self._descriptor, self.num_bytes = found, os.fstat(found).st_size

    def _measure(self, num_bytes: int) -> None:
        if num_bytes < self.num_bytes:
            self._cuts.append(0)  # emptied in place: what is in it now was written anew
        self.num_bytes = num_bytes


def _common_lines(old: int, new: int, num_bytes: int) -> int:
    """How many bytes of whole lines both files begin with, in the first `num_bytes` of the old one."""
    common = 0
    for start in range(0, num_bytes, _BLOCK_BYTES):
        size = min(_BLOCK_BYTES, num_bytes - start)
        left, right = os.pread(old, size, start), os.pread(new, size, start)
        same = left == right
        shared = left if same else left[: _num_equal(left, right)]
        newline = shared.rfind(b"\n")
        common = start + newline + 1 if newline >= 0 else common
        if not same:
            break
    return common


def _num_equal(left: bytes, right: bytes) -> int:
    return next(
        (place for place, (one, other) in enumerate(zip(left, right, strict=False)) if one != other),
        min(len(left), len(right)),
    )


_CURSOR = re.compile(r"(\d{1,15})-(\d{1,15})\.([0-9a-f]{12})?-(\d{1,15})\.([0-9a-f]{12})?-(\d{1,15})", re.A)
_MARK_BYTES = 6


@dataclass(frozen=True)
class LinePosition:
    """A place between two lines of a file that may be cut back and written on."""

    offset: int = 0
    mark: str = ""
    """Of the line before it, which holds the time it was written at: the same mark means the same lines."""

    def __str__(self) -> str:
        return f"{self.offset}.{self.mark}"


@dataclass(frozen=True)
class Cursor:
    """What a viewer has been sent of a run.

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
    """The cursor that `str` made this text of.

    Raises:
        InvalidInputError: No cursor reads like this.
    """
    match = _CURSOR.fullmatch(text)
    if match is None:
        raise InvalidInputError(
            f"{text[:100]!r} is no place in a run's stream.",
            next_step="Send the id of the last message that you got, or none to get everything.",
        )
    service, events, events_mark, metrics, metrics_mark, log = match.groups()
    return Cursor(
        num_service_events=int(service),
        events=LinePosition(int(events), events_mark or ""),
        metrics=LinePosition(int(metrics), metrics_mark or ""),
        log=int(log),
    )


def mark_of(line: bytes) -> str:
    """A short name of a line's content."""
    return hashlib.blake2b(line, digest_size=_MARK_BYTES).hexdigest() if line else ""


LOOK_EVERY_S = 0.5

logger = logging.getLogger(__name__)


class RunWatch:
    """A run that somebody follows. `look` asks the database and the disk; everything else only remembers."""

    def __init__(self, home: Home, run_id: str) -> None:
        """Take a first look.

        Raises:
            NotFoundError: There is no such run.
        """
        self.run_id = run_id
        self.lock = threading.Lock()
        """Held while the files are looked at and while a viewer reads them: neither sees half a change."""
        self._home = home
        self._run_dir = RunDir(home.settings.runs_dir / run_id)
        self.service_events: list[ServiceEvent] = []
        self.events = GrowingFile(self._run_dir.events)
        self.metrics = GrowingFile(self._run_dir.metrics)
        self.log = GrowingFile(log_file(home.settings, run_id))
        self.status: RunStatus = "queued"
        self.is_over = False
        """Whether the run has ended. The files were looked at afterwards: they will not grow."""
        self._take(*self._ask())

    def look(self) -> bool:
        """See what is new; whether anything is. A database that does not answer is asked again next time."""
        try:
            status, new_events = self._ask()
        except NotFoundError:  # removed meanwhile: what was sent of it is all there is
            return self._take(self.status, (), is_gone=True)
        except StorageError as error:
            logger.warning("The run %s is followed without the database: %s", self.run_id, error.detail)
            with self.lock:
                return self._refresh_files()
        return self._take(status, new_events)

    def close(self) -> None:
        """Let go of the files."""
        with self.lock:
            for file in (self.events, self.metrics, self.log):
                file.close()

    def _ask(self) -> tuple[RunStatus, Sequence[ServiceEvent]]:
        status, num_events = find_run_state(self._home, self.run_id)
        if num_events <= len(self.service_events):
            return status, ()
        return status, RunRepository(self._home.database).events(
            self.run_id, after=len(self.service_events) - 1
        )

    def _take(self, status: RunStatus, new_events: Sequence[ServiceEvent], *, is_gone: bool = False) -> bool:
        is_over = is_gone or status in TERMINAL
        with self.lock:
            has_changed = bool(new_events) or (status, is_over) != (self.status, self.is_over)
            self.service_events.extend(new_events)
            self.status, self.is_over = status, is_over
            # After the status: what the files hold of a run that has ended is all that they will ever hold.
            return self._refresh_files() or has_changed

    def _refresh_files(self) -> bool:
        # All of them: any() would stop at the first that has grown.
        return any([file.look() for file in (self.events, self.metrics, self.log)])


def find_run_state(home: Home, run_id: str) -> RunState:
    """Where a run stands, whoever started it; or NotFoundError."""
    return refreshed_runs(home).status_of(run_id)


def log_file(settings: Settings, run_id: str) -> Path:
    """What the processes of a run print into; a run outside the queue keeps its own log."""
    job = JobDir(settings.jobs_dir / run_id)
    return job.output if job.path.is_dir() else RunDir(settings.runs_dir / run_id).log


CHUNK_BYTES = 64 * 1024
"""Of the log in one message, and of each source in one read: what a viewer costs in memory."""
ALL_SOURCES: tuple[LiveSource, ...] = get_args(LiveSource)


@dataclass(frozen=True)
class LiveMessage:
    """One message and the place behind it."""

    kind: LiveKind
    data: str
    """JSON on one line."""
    cursor: Cursor


class RunReader:
    """One viewer's way through a run."""

    def __init__(
        self, watch: RunWatch, cursor: Cursor | None = None, *, sources: Collection[LiveSource] = ALL_SOURCES
    ) -> None:
        self._watch = watch
        self.cursor = cursor or Cursor()
        self._sources = sources
        self._lines = {"events": _Lines(watch.events), "metrics": _Lines(watch.metrics)}
        self.is_finished = False
        """Whether the last message was sent."""

    def read(self) -> list[LiveMessage]:
        """What comes next, up to `CHUNK_BYTES` of each source; nothing when all there is was sent.

        The last message of all is the status that the run ended with.
        """
        with self._watch.lock:
            messages = [message for source in self._sources for message in self._read(source)]
            if self._watch.is_over and not messages and not self.is_finished:
                self.is_finished = True
                messages.append(self._message("status", StatusMessage(status=self._watch.status)))
        return messages

    def heartbeat(self) -> LiveMessage:
        """Something to say while nothing happens."""
        return self._message("heartbeat", Heartbeat(seq=self.cursor.log))

    def _read(self, source: LiveSource) -> Iterator[LiveMessage]:
        if source == "service":
            return self._read_service()
        return self._read_log() if source == "log" else self._read_lines(source)

    def _read_service(self) -> Iterator[LiveMessage]:
        for event in self._watch.service_events[self.cursor.num_service_events :]:
            self.cursor = replace(self.cursor, num_service_events=event.sequence + 1)
            yield self._message("service", event)

    def _read_lines(self, source: Literal["events", "metrics"]) -> Iterator[LiveMessage]:
        lines = self._lines[source]
        before = getattr(self.cursor, source)
        place = lines.last_valid(before)
        if place != before:
            place = place if source == "metrics" else LinePosition()  # events have no step to go back to
            self._move(source, place)
            yield self._message("rewind", Rewind(source=source, step=lines.step_before(place)))
        for line in lines.after(place):
            place = LinePosition(place.offset + len(line), mark_of(line))
            self._move(source, place)
            kind: LiveKind = "event" if source == "events" else "metrics"
            yield LiveMessage(kind, line.decode("utf-8", "replace").rstrip("\n"), self.cursor)

    def _read_log(self) -> Iterator[LiveMessage]:
        offset = min(self.cursor.log, self._watch.log.num_bytes)
        chunk = log_chunk(self._watch.log, offset, is_over=self._watch.is_over)
        if chunk is not None:
            self.cursor = replace(self.cursor, log=chunk.seq)
            yield self._message("log", chunk)

    def _move(self, source: Literal["events", "metrics"], place: LinePosition) -> None:
        if source == "events":
            self.cursor = replace(self.cursor, events=place)
        else:
            self.cursor = replace(self.cursor, metrics=place)

    def _message(self, kind: LiveKind, record: Record) -> LiveMessage:
        return LiveMessage(kind, record.model_dump_json(exclude_none=True), self.cursor)


class _Lines:
    """A file of JSON lines as one viewer knows it."""

    def __init__(self, file: GrowingFile) -> None:
        self._file = file
        self._version: int | None = None

    def last_valid(self, place: LinePosition) -> LinePosition:
        """The same place, or an earlier one when the lines before it are no longer those that were sent."""
        version, self._version = self._version, self._file.version
        if version is None:  # the viewer comes from elsewhere: what it had is known by its mark
            offset = place.offset if mark_of(self._file.line_before(place.offset)) == place.mark else 0
        else:
            offset = self._file.valid_prefix(place.offset, version)
        return (
            place if offset == place.offset else LinePosition(offset, mark_of(self._file.line_before(offset)))
        )

    def step_before(self, place: LinePosition) -> int:
        """Of the last line that still holds; 0 when none does."""
        line = self._file.line_before(place.offset)
        return int(json.loads(line).get("step", 0)) if line else 0

    def after(self, place: LinePosition) -> list[bytes]:
        """Whole lines from there on. A longer line than a chunk comes alone."""
        num_bytes = CHUNK_BYTES
        while b"\n" not in (block := self._file.read(place.offset, num_bytes)):
            if len(block) < num_bytes:
                return []  # torn: its end is not written yet
            num_bytes *= 2
        return [line + b"\n" for line in block[: block.rfind(b"\n")].split(b"\n")]


def log_chunk(file: GrowingFile, offset: int, *, is_over: bool) -> LogChunk | None:
    """The lines of a log from `offset` on, a chunk of them; None while there is no whole one.

    A line without an end is kept back until it has one, is longer than a chunk, or the run is over.
    """
    block = file.read(offset, CHUNK_BYTES)
    end = block.rfind(b"\n") + 1
    if end == 0 and len(block) < CHUNK_BYTES and not is_over:
        return None
    # A part of a long line ends with a whole character: its other bytes belong to the next part.
    is_final = end > 0 or (is_over and offset + len(block) == file.num_bytes)
    text, num_bytes = codecs.utf_8_decode(block[: end or None], "replace", is_final)
    return LogChunk(seq=offset + num_bytes, chunk=text, is_partial=end == 0) if text else None
