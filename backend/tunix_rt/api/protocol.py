"""HTTP/1.1 by a fast parser, with what uvicorn leaves out: heads have a limit, answers leave in one write."""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
"""Of a request line with its headers, of the frame of a chunk, or of the trailers of a body."""


class BoundedHttp(HttpToolsProtocol):
    """One connection. Its server takes it by name: see `tunix-rt up`."""

    _num_unread = 0
    """Bytes since the last thing that was whole: a head, a piece of a body, a request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Write through a transport that puts head and body together."""
        self._writes = JoinedWrites(transport, self.loop)
        super().connection_made(cast(asyncio.Transport, self._writes))

    def eof_received(self) -> None:
        """The client sends nothing more, and the connection is closed: what was answered leaves before."""
        self._writes.flush()

    def data_received(self, data: bytes) -> None:
        """Read on, unless whatever is being read has no end."""
        self._num_unread += len(data)
        super().data_received(data)
        if self._num_unread > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def on_headers_complete(self) -> None:
        """A head is whole."""
        self._num_unread = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body came."""
        self._num_unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        self._num_unread = 0
        super().on_message_complete()


class JoinedWrites:
    """A transport whose writes of one turn of the event loop leave together.

    The server writes head and body apart, and every write of its own wakes up the client.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._waiting: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write before the event loop turns again."""
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(data)

    def close(self) -> None:
        """Write what is waiting, then close."""
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        """Write what is waiting."""
        if self._waiting:
            self._transport.write(b"".join(self._waiting))
            self._waiting.clear()
