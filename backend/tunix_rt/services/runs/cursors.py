"""Where a viewer is: a place in each of a run's sources, as text that it can come back with."""

import hashlib
import re
from dataclasses import dataclass, field

from tunix_rt.base.errors import InvalidInputError

_CURSOR = re.compile(r"(\d{1,15})-(\d{1,15})\.([0-9a-f]{12})?-(\d{1,15})\.([0-9a-f]{12})?-(\d{1,15})", re.A)
_MARK_BYTES = 6


@dataclass(frozen=True)
class LinePlace:
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
    events: LinePlace = field(default_factory=LinePlace)
    metrics: LinePlace = field(default_factory=LinePlace)
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
        events=LinePlace(int(events), events_mark or ""),
        metrics=LinePlace(int(metrics), metrics_mark or ""),
        log=int(log),
    )


def mark_of(line: bytes) -> str:
    """A short name of a line's content."""
    return hashlib.blake2b(line, digest_size=_MARK_BYTES).hexdigest() if line else ""
