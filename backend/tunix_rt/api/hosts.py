"""Only requests that were meant for this server are answered: the Host and the Origin must be its own.

A page elsewhere can make a browser send requests here. With a name of its own that it points at this address
(DNS rebinding) it would even read the answers: the Host gives it away. Without one it can still send
(cross-site request forgery): the Origin gives it away.
"""

import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tunix_rt.base.http.errors import error_response

_LOOPBACK_NAMES = frozenset({"localhost"})
_DEFAULT_PORTS = (80, 443)
_FOREIGN = frozenset({"cross-site", "same-site"})
"""What a browser says of a request from another site, or from another port of this one."""
_POLICY_VIOLATION = 1008
_NUM_REMEMBERED = 16
"""Names that were looked at: nearly every request has the same one."""
_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
}
"""What tells browsers to keep the answers from other sites."""


@dataclass(frozen=True)
class Hosts:
    """The names that this server answers to."""

    names: frozenset[str] = frozenset()
    takes_any_address: bool = False
    """Whether an IP address will do: no attacker's page has one as its name."""

    @lru_cache(_NUM_REMEMBERED)  # noqa: B019 - there is one of them in a server
    def has(self, name: str) -> bool:
        """Whether a request for this name is meant for us."""
        if name in _LOOPBACK_NAMES or name in self.names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return self.takes_any_address or address.is_loopback


class OwnHostOnly:
    """Refuses requests for another host (421) and from another origin (403)."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at the headers, then pass on."""
        if scope["type"] == "websocket":
            # There are none here; one that is added must be checked as requests are.
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                others = (header for header in message.get("headers", ()) if header[0] not in _HEADERS)
                message["headers"] = [*others, *_HEADERS.items()]
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        await (refusal or self._app)(scope, receive, send_marked)

    def _refusal(self, method: str, headers: Headers) -> JSONResponse | None:
        authority = _authority(headers.get("host", ""))
        if authority is None or not self._hosts.has(authority[0]):
            return error_response(
                421,
                "This server does not answer to the host of the request.",
                "Use its address, or add the name to TUNIX_RT_ALLOWED_HOSTS: docs/security.md",
                "wrong-host",
            )
        if _is_foreign(method, headers, authority):
            return error_response(
                403,
                "The request comes from a page of another origin.",
                "Ask from the server's own pages, or without a browser.",
                "wrong-origin",
            )
        return None


def _is_foreign(method: str, headers: Headers, authority: tuple[str, int | None]) -> bool:
    origin = headers.get("origin")
    if origin is not None:
        _, separator, rest = origin.partition("://")
        return not separator or _authority(rest) != authority
    is_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
    return headers.get("sec-fetch-site") in _FOREIGN and not is_link


@lru_cache(_NUM_REMEMBERED)
def _authority(text: str) -> tuple[str, int | None] | None:
    """Host and port, in lower case, without brackets and default ports; None when it is no such thing.

    The scheme is left out of it: a proxy that ends TLS passes on the name, and not that it was https.

    Example:
        "LOCALHOST:8000" -> ("localhost", 8000); "[::1]" -> ("::1", None); "box:443" -> ("box", None)
    """
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    is_plain = parts.username is None and not (parts.path or parts.query or parts.fragment)
    return (host.rstrip("."), None if port in _DEFAULT_PORTS else port) if host and is_plain else None
