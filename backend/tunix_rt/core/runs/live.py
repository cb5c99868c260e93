"""What a live view of a run is told: the payloads of its messages.

Engine events and metrics travel as the lines that `events.jsonl` and `metrics.jsonl` have, service events as
`ServiceEvent`; the others are here.
"""

from typing import Literal

from tunix_rt.base.records import Count, Record
from tunix_rt.engines.training.types import RunStatus

LiveSource = Literal["service", "events", "metrics", "log"]
LiveKind = Literal["service", "event", "metrics", "rewind", "log", "heartbeat", "status"]


class LogChunk(Record):
    """Lines that a run printed, or a part of one that is very long."""

    seq: Count
    """Bytes of the log up to the end of this chunk: `since_seq` goes on from there."""
    stream: Literal["output"] = "output"
    """What is printed and what is complained of go into one log, in the order in which they came."""
    chunk: str
    """Ends with a newline unless it is partial. Bytes that are no UTF-8 are replaced."""
    is_partial: bool
    """The line goes on in the next chunk, or the run ended in the middle of it."""


class Rewind(Record):
    """Lines that were sent do not hold any more: a resumed run writes them again."""

    source: Literal["events", "metrics"]
    step: Count
    """Forget the lines of later steps. 0: forget all of them."""


class Heartbeat(Record):
    """Nothing has happened for a while; the connection is alive."""

    seq: Count
    """Bytes of the log that were sent so far."""


class StatusMessage(Record):
    """The run has ended and everything was sent. It is the last message."""

    status: RunStatus
