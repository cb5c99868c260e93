"""Rows of a file as traces ready to be stored; every rejected row is counted and kept with its reason.

`prepare_chunk` is what worker processes run: it only computes.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.files.jsonl import BadRow, RawLine, ReadRow, UnreadRow, parse_raw
from tunix_rt.core.formats.registry import RowReading, read_row
from tunix_rt.core.formats.rows import RowError
from tunix_rt.core.prepared import PreparedTrace, prepared
from tunix_rt.core.trace import Trace

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
    """What a pass over rows has met."""

    num_read: int = 0
    num_rejected: int = 0
    num_blank_lines: int = 0
    num_system_folded: int = 0
    answer_rules: Counter[str] = field(default_factory=Counter)
    first_rejections: list[Rejection] = field(default_factory=list)

    def count(self, trace: Trace) -> None:
        """Note how a trace was read from its row."""
        self.num_read += 1
        rule = trace.meta.get("answer_rule")
        if rule is not None:
            self.answer_rules[str(rule)] += 1
        self.num_system_folded += trace.meta.get("system_folded") is True

    def reject(self, line: int, reason: str, row: Any) -> None:
        """Note a row that holds no trace."""
        self.num_read += 1
        self.num_rejected += 1
        if len(self.first_rejections) < MAX_SHOWN_REJECTIONS:
            text = row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)
            self.first_rejections.append(Rejection(line=line, reason=reason, row=_shortened(text)))

    def add(self, later: "Tally") -> None:
        """Go on with what a later part of the file has met."""
        self.num_read += later.num_read
        self.num_rejected += later.num_rejected
        self.num_blank_lines += later.num_blank_lines
        self.num_system_folded += later.num_system_folded
        self.answer_rules += later.answer_rules
        room = MAX_SHOWN_REJECTIONS - len(self.first_rejections)
        self.first_rejections += later.first_rejections[:room]


@dataclass(frozen=True)
class RowJob:
    """How rows become traces."""

    reading: RowReading
    source: str
    overwrite_source: bool
    """Whether `source` also replaces what a row itself says."""
    keep_traces: bool
    """Whether the traces are wanted, or only the tally."""


class RejectedRow(NamedTuple):
    """A row that holds no trace, whole."""

    line: int
    reason: str
    row: Any


class PreparedChunk(NamedTuple):
    """What became of some rows."""

    traces: list[PreparedTrace]
    rejected: list[RejectedRow]
    tally: Tally


def prepare_chunk(job: RowJob, rows: Sequence[UnreadRow]) -> PreparedChunk:
    """The traces of these rows, ready to be stored, and the rows that hold none."""
    chunk = PreparedChunk([], [], Tally())
    for unread in rows:
        row = parse_raw(unread) if isinstance(unread, RawLine) else unread
        if isinstance(row, ReadRow):
            _take(job, row, chunk)
        elif isinstance(row, BadRow):
            _reject(chunk, row.number, row.reason, row.raw)
        else:
            chunk.tally.num_blank_lines += 1
    return chunk


def _take(job: RowJob, row: ReadRow, chunk: PreparedChunk) -> None:
    try:
        trace = read_row(row.values, job.reading)
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
