"""Bodies are counted as they arrive, whatever Content-Length says."""

from collections.abc import Callable

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tunix_rt.base.errors import TooLargeError
from tunix_rt.base.http.errors import error_response

LINGER_BYTES = 64 * 1024 * 1024
LINGER_S = 5.0
"""How much of a refused body is read and dropped: most clients read the answer only after sending it all."""

_ANNOUNCING = frozenset({b"content-length", b"transfer-encoding"})
"""A request with neither of these headers has no body."""


class _BodyTooLarge(Exception):
    """Stops the reading of a body that has passed its limit."""


class BodyLimit:
    """Answers 413 as soon as a body passes the limit of its path."""

    def __init__(self, app: ASGIApp, limit_of: Callable[[str], int]) -> None:
        self._app = app
        self._limit_of = limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count, pass on, and cut off."""
        if scope["type"] != "http" or not any(name in _ANNOUNCING for name, _ in scope["headers"]):
            await self._app(scope, receive, send)
            return
        await _Counted(self._app, self._limit_of(scope["path"])).run(scope, receive, send)


class _Counted:
    """One request whose body is being counted."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit
        self._num_bytes = 0
        self._has_more = True
        self._too_large = False
        self._started = False

    async def run(self, scope: Scope, receive: Receive, send: Send) -> None:
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:20]) > self._limit:
            await self._refuse(receive, send)
            return

        async def counting_receive() -> Message:
            message = await self._next(receive)
            if self._num_bytes > self._limit:
                self._too_large = True
                raise _BodyTooLarge
            return message

        async def guarded_send(message: Message) -> None:
            # The framework may turn our exception into its own answer: 413 goes out in its place.
            if not self._too_large or self._started:
                self._started = True
                await send(message)

        try:
            await self._app(scope, counting_receive, guarded_send)
        except _BodyTooLarge:
            pass
        if self._too_large and not self._started:
            await self._refuse(receive, send)

    async def _refuse(self, receive: Receive, send: Send) -> None:
        response = error_response(
            413,
            f"The body is larger than the {self._limit} bytes that this route takes.",
            "Send less at once, or raise the limit: docs/configuration.md",
            TooLargeError.code,
        )
        response.headers["connection"] = "close"
        start = {"type": "http.response.start", "status": 413, "headers": response.raw_headers}
        await send(start)
        await send({"type": "http.response.body", "body": response.body, "more_body": True})
        await self._linger(receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _linger(self, receive: Receive) -> None:
        # Closing while the client still sends would reset the connection, and the answer would be lost.
        end = self._num_bytes + LINGER_BYTES
        with anyio.move_on_after(LINGER_S):
            while self._has_more and self._num_bytes < end:
                await self._next(receive)

    async def _next(self, receive: Receive) -> Message:
        message = await receive()
        self._num_bytes += len(message.get("body", b""))
        self._has_more = message.get("more_body", False)
        return message
