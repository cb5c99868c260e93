"""Every request has an id and leaves one line in the log and one measurement.

The id comes from the header `X-Request-ID` when that is harmless, and goes out with the answer: with it, what
a client saw can be found in the log.
"""

import logging
import random
import re
import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tunix_rt.api.metrics import Measurements
from tunix_rt.base.http.errors import REQUEST_ID
from tunix_rt.base.logs import request_id

logger = logging.getLogger("tunix_rt.requests")

_HEADER = "x-request-id"
_RAW_HEADER = _HEADER.encode()
_HARMLESS = re.compile(r"[A-Za-z0-9._-]{1,64}")
_QUIET = frozenset({"/api/health", "/metrics"})
"""Asked every few seconds by whoever watches; logged only when something is wrong."""
_UNROUTED = "other"


class RequestLog:
    """Gives a request its id, measures it and writes it down."""

    def __init__(self, app: ASGIApp, measurements: Measurements) -> None:
        self._app = app
        self._measurements = measurements

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, then write down."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        own_id = _id(Headers(scope=scope).get(_HEADER, ""))
        scope.setdefault("state", {})[REQUEST_ID] = own_id
        # Never reset: the request has its own context, and the server logs a bug after we have returned.
        request_id.set(own_id)
        status, start_s = 500, time.perf_counter()

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                others = (header for header in message.get("headers", ()) if header[0] != _RAW_HEADER)
                message["headers"] = [*others, (_RAW_HEADER, own_id.encode())]
            await send(message)

        try:
            self._measurements.in_flight.inc()
            await self._app(scope, receive, send_marked)
        finally:
            self._measurements.in_flight.dec()
            self._write(scope, status, time.perf_counter() - start_s)

    def _write(self, scope: Scope, status: int, duration_s: float) -> None:
        method, path = scope["method"], scope["path"]
        route = getattr(scope.get("route"), "path", _UNROUTED)
        self._measurements.observe(method, route, status, duration_s)
        if path in _QUIET and status < 400:
            return
        fields = {
            "method": method,
            "path": path,
            "route": route,
            "status": status,
            "duration_ms": round(duration_s * 1000, 2),
            "client": scope["client"][0] if scope.get("client") else None,
        }
        message = f"{method} {path} {status} in {duration_s * 1000:.1f} ms"
        logger.log(logging.ERROR if status >= 500 else logging.INFO, message, extra={"fields": fields})


def _id(asked_for: str) -> str:
    return asked_for if _HARMLESS.fullmatch(asked_for) else f"{random.getrandbits(64):016x}"
