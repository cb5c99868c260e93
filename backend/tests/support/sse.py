"""Parse server-sent events."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Message(NamedTuple):
    kind: str
    data: str
    id: str


def messages_of(lines: Iterable[str]) -> Iterator[Message]:
    """Yield the messages of a stream; skips everything before the first one with data."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if name:
            fields[name] = value
        elif "data" in fields:
            yield Message(fields["event"], fields["data"], fields["id"])
            fields = {}
