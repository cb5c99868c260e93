"""What one viewer of a run is sent next, from its own place in every source.

    service events   kept by the watch, counted
    events, metrics  lines of JSON files: sent as they are; cut back and written again, `rewind` says so
    log              bytes of what was printed, in whole lines, a very long one in parts

The messages of a source come in order, each once. Nothing is remembered but the cursor: a viewer that comes
back with the cursor of the last message it got goes on right behind it.
"""

import codecs
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

from tunix_rt.base.records import Record
from tunix_rt.core.runs.live import Heartbeat, LiveKind, LiveSource, LogChunk, Rewind, StatusMessage
from tunix_rt.files.growing_files import GrowingFile
from tunix_rt.services.runs.cursors import Cursor, LinePlace, mark_of
from tunix_rt.services.runs.following import RunWatch

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
        place = lines.place_that_holds(before)
        if place != before:
            place = place if source == "metrics" else LinePlace()  # events have no step to go back to
            self._move(source, place)
            yield self._message("rewind", Rewind(source=source, step=lines.step_before(place)))
        for line in lines.after(place):
            place = LinePlace(place.offset + len(line), mark_of(line))
            self._move(source, place)
            kind: LiveKind = "event" if source == "events" else "metrics"
            yield LiveMessage(kind, line.decode("utf-8", "replace").rstrip("\n"), self.cursor)

    def _read_log(self) -> Iterator[LiveMessage]:
        offset = min(self.cursor.log, self._watch.log.num_bytes)
        chunk = log_chunk(self._watch.log, offset, is_over=self._watch.is_over)
        if chunk is not None:
            self.cursor = replace(self.cursor, log=chunk.seq)
            yield self._message("log", chunk)

    def _move(self, source: Literal["events", "metrics"], place: LinePlace) -> None:
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

    def place_that_holds(self, place: LinePlace) -> LinePlace:
        """The same place, or an earlier one when the lines before it are no longer those that were sent."""
        version, self._version = self._version, self._file.version
        if version is None:  # the viewer comes from elsewhere: what it had is known by its mark
            offset = place.offset if mark_of(self._file.line_before(place.offset)) == place.mark else 0
        else:
            offset = self._file.kept_of(place.offset, version)
        return place if offset == place.offset else LinePlace(offset, mark_of(self._file.line_before(offset)))

    def step_before(self, place: LinePlace) -> int:
        """Of the last line that still holds; 0 when none does."""
        line = self._file.line_before(place.offset)
        return int(json.loads(line).get("step", 0)) if line else 0

    def after(self, place: LinePlace) -> list[bytes]:
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
