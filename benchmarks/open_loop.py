"""Requests at a fixed rate over kept-alive connections, whatever the answers take.

A request is due at its time: when the server falls behind, the wait counts (no "coordinated omission"). One
thread on bare sockets, so that on two cores the one that asks hardly slows down the one that answers.
"""

import selectors
import socket
import time
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

_READ_BYTES = 1 << 18
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length: "
_LONGEST_WAIT_S = 60.0


@dataclass(frozen=True)
class Answer:
    """How a request went."""

    kind: str
    status: int
    latency_ms: float
    """From the moment it was due."""


@dataclass(frozen=True)
class _Due:
    kind: str
    raw: bytes
    at_s: float


class _Connection:
    """One request at a time over HTTP/1.1."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._asked: _Due | None = None
        self._received = bytearray()
        self._num_expected = 0

    def ask(self, due: _Due) -> None:
        self._asked = due
        self._received.clear()
        self._num_expected = 0
        self.socket.sendall(due.raw)

    def answer(self) -> Answer | None:
        """Read what there is; the answer when it is whole."""
        received = self.socket.recv(_READ_BYTES)
        if not received or self._asked is None:
            raise ConnectionResetError("the server closed the connection")
        self._received += received
        if not self._num_expected:
            self._num_expected = _whole_length(self._received)
        if not self._num_expected or len(self._received) < self._num_expected:
            return None
        latency_ms = (time.perf_counter() - self._asked.at_s) * 1000
        return Answer(self._asked.kind, int(self._received[9:12]), latency_ms)


def _whole_length(received: bytearray) -> int:
    """How long the answer will be, head and body; 0 as long as that is not known."""
    end = received.find(_HEAD_END)
    if end < 0:
        return 0
    start = received.find(_LENGTH, 0, end)
    if start < 0:
        raise ValueError("the server answers in pieces, which this program does not read")
    start += len(_LENGTH)
    length = int(received[start : received.index(b"\r\n", start)])
    return end + len(_HEAD_END) + length


def ask_at_rate(
    port: int, requests: Sequence[tuple[str, str]], *, rate: float, num_connections: int
) -> list[Answer]:
    """Every request (its kind and its path) at its time; one that finds no free connection waits for it."""
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        connections = [_Connection(port) for _ in range(num_connections)]
        for connection in connections:
            stack.enter_context(connection.socket)
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        start_s = time.perf_counter() + 0.1
        due = deque(_due(request, start_s + n / rate) for n, request in enumerate(requests))
        return _ask_all(due, deque(connections), selector)


def _due(request: tuple[str, str], at_s: float) -> _Due:
    kind, path = request
    return _Due(kind, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode(), at_s)


def _ask_all(due: deque[_Due], free: deque[_Connection], selector: selectors.BaseSelector) -> list[Answer]:
    answers: list[Answer] = []
    num_requests = len(due)
    while len(answers) < num_requests:
        while due and free and due[0].at_s <= time.perf_counter():
            free.popleft().ask(due.popleft())
        wait_s = max(due[0].at_s - time.perf_counter(), 0) if due and free else _LONGEST_WAIT_S
        for key, _ in selector.select(wait_s):
            connection: _Connection = key.data
            if (answer := connection.answer()) is not None:
                answers.append(answer)
                free.append(connection)
    return answers
