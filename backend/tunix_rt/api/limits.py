"""Bounded request heads and bodies."""

from collections.abc import Callable
from contextlib import suppress

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tunix_rt.base.errors import InvalidInputError, TooLargeError
from tunix_rt.base.http.errors import error_response, secured

LINGER_BYTES = 64 * 1024 * 1024
LINGER_S = 5.0
"""How much of a refused body is read and dropped: most clients read a response only after sending it all."""

_ANNOUNCING = frozenset({b"content-length", b"transfer-encoding"})
"""A request with neither of these headers has no body."""


class _BodyTooLarge(Exception):
    """Stops reading a body that exceeds its limit."""


class BodyLimit:
    """Answers 413 as soon as a body exceeds the limit of its path."""

    def __init__(self, app: ASGIApp, limit_of: Callable[[str], int]) -> None:
        self._app = app
        self._limit_of = limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request while counting its body."""
        if scope["type"] != "http" or not any(name in _ANNOUNCING for name, _ in scope["headers"]):
            await self._app(scope, receive, send)
            return
        limit, body = self._limit_of(scope["path"]), _CountedBody(receive)
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:20]) > limit:
            await _refuse(limit, body, send)
            return
        has_started = False

        async def counting_receive() -> Message:
            message = await body.next()
            if body.num_bytes > limit:
                raise _BodyTooLarge
            return message

        async def guarded_send(message: Message) -> None:
            # The framework may turn our exception into its own response, which 413 replaces.
            nonlocal has_started
            if body.num_bytes <= limit or has_started:
                has_started = True
                await send(message)

        with suppress(_BodyTooLarge):
            await self._app(scope, counting_receive, guarded_send)
        if body.num_bytes > limit and not has_started:
            await _refuse(limit, body, send)


class _CountedBody:
    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.num_bytes = 0
        self.has_more = True

    async def next(self) -> Message:
        message = await self._receive()
        self.num_bytes += len(message.get("body", b""))
        self.has_more = message.get("more_body", False)
        return message


async def _refuse(limit: int, body: _CountedBody, send: Send) -> None:
    response = error_response(
        413,
        f"The body is larger than the {limit} bytes that this route takes.",
        "Send smaller requests, or raise the limit: docs/configuration.md",
        TooLargeError.code,
    )
    response.headers["connection"] = "close"
    await send({"type": "http.response.start", "status": 413, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    # Closing while the client still sends would reset the connection and lose the response.
    end = body.num_bytes + LINGER_BYTES
    with anyio.move_on_after(LINGER_S):
        while body.has_more and body.num_bytes < end:
            await body.next()
    await send({"type": "http.response.body", "body": b"", "more_body": False})


MAX_HEAD_BYTES = 64 * 1024
"""Limit for a request line with headers, for the framing of a chunk, and for trailers."""


class BoundedHttp(HttpToolsProtocol):
    """A connection with bounded heads; `tunix-rt up` passes the class to uvicorn by name."""

    _num_unread = 0
    """Bytes since the last complete head, body chunk or request."""

    def data_received(self, data: bytes) -> None:
        """Parse, and refuse a head that exceeds the limit."""
        self._num_unread += len(data)
        super().data_received(data)
        if self._num_unread > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that cannot be parsed, in the shape of every error."""
        refusal = error_response(400, msg, "Send a valid HTTP/1.1 request.", InvalidInputError.code)
        headers = secured([*refusal.raw_headers, (b"connection", b"close")])
        lines = [b"HTTP/1.1 400 Bad Request", *(b"%b: %b" % header for header in headers), b"", b""]
        self.transport.write(b"\r\n".join(lines) + bytes(refusal.body))
        self.transport.close()

    def on_headers_complete(self) -> None:
        """A head is complete."""
        self._num_unread = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A body chunk has arrived."""
        self._num_unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is complete."""
        self._num_unread = 0
        super().on_message_complete()
