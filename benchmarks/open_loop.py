"""Requests at a fixed rate over kept-alive connections, whatever the answers take.

A request is due at its time: when the server falls behind, the wait counts (no "coordinated omission"). It is
written on bare sockets, so that on two cores the one that asks does not slow down the one that answers.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

_HEADERS_END = b"\r\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True)
class Answer:
    """How a request went."""

    kind: str
    status: int
    latency_ms: float
    """From the moment it was due."""


class _Connection(asyncio.Protocol):
    """One request at a time over HTTP/1.1."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._answer: asyncio.Future[int] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._answer is not None and self._is_whole():
            status = int(self._received[9:12])
            self._received.clear()
            self._answer.set_result(status)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the server closed the connection"))

    async def ask(self, path: str) -> int:
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _is_whole(self) -> bool:
        end = self._received.find(_HEADERS_END)
        if end < 0:
            return False
        headers = bytes(self._received[:end]).lower()
        if b"transfer-encoding: chunked" in headers:
            return self._received.endswith(_LAST_CHUNK)
        length = int(headers.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return len(self._received) >= end + len(_HEADERS_END) + length


async def ask_at_rate(
    port: int, requests: Sequence[tuple[str, str]], *, rate: float, num_connections: int
) -> list[Answer]:
    """Every request (its kind and its path) at its time; one that finds no free connection waits for it."""
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(_Connection, "127.0.0.1", port) for _ in range(num_connections)]
    free = deque(connection for _, connection in made)
    is_free = asyncio.Semaphore(num_connections)
    start_s = loop.time() + 0.1

    async def ask(number: int, kind: str, path: str) -> Answer:
        due_s = start_s + number / rate
        await asyncio.sleep(due_s - loop.time())
        async with is_free:
            connection = free.popleft()
            status = await connection.ask(path)
            free.append(connection)
        return Answer(kind, status, (loop.time() - due_s) * 1000)

    answers = await asyncio.gather(*(ask(number, *request) for number, request in enumerate(requests)))
    for connection in free:
        connection.close()
    return answers
