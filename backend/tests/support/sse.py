"""Reading server-sent events as a client does."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Message(NamedTuple):
    kind: str
    data: str
    id: str


def messages_of(lines: Iterable[str]) -> Iterator[Message]:
    """The messages in the lines of a stream; what comes before the first one with data is left out."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if name:
            fields[name] = value
        elif "data" in fields:
            yield Message(fields["event"], fields["data"], fields["id"])
            fields = {}
