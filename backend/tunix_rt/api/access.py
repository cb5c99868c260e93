"""Host and token checks, throttling, browser sessions.

A page of another site can make a browser send requests here. With a host name that resolves to this address
(DNS rebinding) it could even read the responses: the Host header reveals it. Without one it can still send
requests (cross-site request forgery): the Origin header reveals it.

On loopback no token is needed: whoever can connect can also read the home directory. One of our tokens must
still be valid there; other keys are ignored, because OpenAI clients always send one.

A browser that has signed in sends its token in a cookie: links and streams cannot carry a header.
"""

import ipaddress
import math
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated
from urllib.parse import urlsplit

import anyio.to_thread
from fastapi import APIRouter, Header, Request, Response, status
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tunix_rt.api.web import is_web_path
from tunix_rt.base.errors import StorageError
from tunix_rt.base.http.errors import error_response, error_responses, response_to, secured
from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings
from tunix_rt.system.store import TokenRepository
from tunix_rt.system.types import TOKEN_PREFIX, ApiToken, allows, is_loopback, needed_scope, token_hash
from tunix_rt.system.types import Scope as TokenScope

MAX_FAILURES = 10
WINDOW_S = 60.0
MAX_SOURCES = 10_000
"""Bounds the memory that an attacker with many addresses or token prefixes can fill."""
_IPV6_NETWORK_BITS = 64
"""A provider gives each customer such a network, so it counts as one address."""
_PREFIX_CHARS = len(TOKEN_PREFIX) + 8
"""A token's public part: `trt_3f9c2a11`."""


class AuthFailures:
    """Counts wrong tokens by source: an address, the proxy, or the prefix of a token."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # Since when, and how many.
        self._by_source: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def wait_s(self, *sources: str) -> int:
        """Seconds until none of the sources is limited; 0 if none is now."""
        return max(map(self._wait_of, sources), default=0)

    def add(self, *sources: str) -> None:
        """Count a wrong token."""
        now_s = self._clock()
        for source in sources:
            since_s, count = self._by_source.pop(source, (now_s, 0))
            self._by_source[source] = (since_s, count + 1) if now_s - since_s < WINDOW_S else (now_s, 1)
        while len(self._by_source) > MAX_SOURCES:
            self._by_source.popitem(last=False)

    def _wait_of(self, source: str) -> int:
        since_s, count = self._by_source.get(source, (0.0, 0))
        return max(math.ceil(since_s + WINDOW_S - self._clock()), 0) if count >= MAX_FAILURES else 0

    def __len__(self) -> int:
        return len(self._by_source)


def failure_sources(address: str, token: str, *, is_forwarded: bool) -> tuple[str, ...]:
    """What a wrong token is counted by.

    The address of a forwarded request is what its sender claims, so all forwarded requests also count as one
    source.

    Example:
        "192.0.2.1", "trt_3f9c2a11_Jx…" -> ("address 192.0.2.1", "prefix trt_3f9c2a11")
    """
    forwarded = ("forwarded",) if is_forwarded else ()
    return (f"address {_group(address)}", f"prefix {token[:_PREFIX_CHARS]}", *forwarded)


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        return None


def _group(address: str) -> str:
    parsed = _parsed(address)
    if parsed is None or parsed.version == 4:
        return address
    return str(ipaddress.ip_network((parsed, _IPV6_NETWORK_BITS), strict=False))


_DEFAULT_PORTS = (80, 443)
_CROSS_SITE = frozenset({"cross-site", "same-site"})
"""Values of Sec-Fetch-Site for requests from another site or another port of this one."""
_NUM_REMEMBERED = 16
"""Cached names: nearly every request has the same one."""


@dataclass(frozen=True)
class Access:
    """The host names that a server accepts, and whether it requires a token."""

    hosts: frozenset[str] = frozenset()
    takes_any_address: bool = False
    """Whether any IP address is accepted as the host: a rebinding attack needs a name."""
    requires_token: bool = True

    @lru_cache(_NUM_REMEMBERED)  # noqa: B019 - one instance per server
    def has_host(self, name: str) -> bool:
        """Whether the server accepts requests for this name."""
        if name == "localhost" or name in self.hosts:
            return True
        address = _parsed(name)
        return address is not None and (self.takes_any_address or address.is_loopback)


def access_to(settings: Settings, host: str) -> Access:
    """On loopback without a token, unless the settings require one; elsewhere with a token."""
    names = frozenset(settings.allowed_hosts)
    if is_loopback(host):
        return Access(names, requires_token=settings.require_token)
    own_names = {host.lower(), socket.gethostname().lower()}
    return Access(names | own_names, takes_any_address=True)


class OwnHostOnly:
    """Refuses requests for another host (421) and from another origin (403)."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the headers, then forward the request."""
        if scope["type"] == "websocket":
            # There are no websockets; a future one must be checked like requests. 1008: policy violation.
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = secured(message.get("headers", ()))
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        await (refusal or self._app)(scope, receive, send_marked)

    def _refusal(self, method: str, headers: Headers) -> JSONResponse | None:
        authority = _authority(headers.get("host", ""))
        if authority is None or not self._access.has_host(authority[0]):
            return error_response(
                421,
                "This server does not accept the request's Host.",
                "Use its address, or add the name to TUNIX_RT_ALLOWED_HOSTS: docs/security.md",
                "wrong-host",
            )
        if _is_cross_origin(method, headers, authority):
            return error_response(
                403,
                "The request comes from a page of another origin.",
                "Send it from the server's own pages, or without a browser.",
                "wrong-origin",
            )
        return None


def _is_cross_origin(method: str, headers: Headers, authority: tuple[str, int | None]) -> bool:
    origin = headers.get("origin")
    if origin is not None:
        _, separator, rest = origin.partition("://")
        return not separator or _authority(rest) != authority
    is_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
    return headers.get("sec-fetch-site") in _CROSS_SITE and not is_link


@lru_cache(_NUM_REMEMBERED)
def _authority(text: str) -> tuple[str, int | None] | None:
    """Host and port, in lower case, without brackets and default ports; None if invalid.

    The scheme is ignored: a proxy that terminates TLS forwards the name, but not that it was https.

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


OPEN_PATHS = frozenset({"/api/health"})
"""Readable without a token for monitoring; reveals only whether the server works."""
TOKEN_COOKIE = "tunix_rt_token"
KNOWN_FOR_S = 5.0
"""How long a valid token is cached; a revoked one works at most this long."""
_MAX_KNOWN = 1_000
_FORWARDED = ("forwarded", "x-forwarded-for")
_MAX_LIMITED_CHECKS = 2
"""Concurrent database lookups for limited sources: the other threads serve everybody else."""
_SIGNED_IN_AS = "signed_in_as"


def signed_in_as(scope: Scope) -> ApiToken | None:
    """The token of a request; None if it has none and needs none."""
    token: ApiToken | None = scope.get("state", {}).get(_SIGNED_IN_AS)
    return token


class TokenCheck:
    """Checks the token of a request: 401, 403, or 429 for an invalid one after too many of them.

    A limited source has its tokens checked like any other, so that nobody can lock out a valid one; only few
    of these checks run at a time.
    """

    def __init__(self, app: ASGIApp, tokens: TokenRepository, access: Access) -> None:
        self._app = app
        self._access = access
        self._known = _KnownTokens(tokens)
        self._failures = AuthFailures()
        self._limited_checks = anyio.CapacityLimiter(_MAX_LIMITED_CHECKS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the token, then forward the request."""
        refusal = await self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    async def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers, path = Headers(scope=scope), scope["path"]
        scheme, _, value = headers.get("authorization", "").partition(" ")
        bearer = value.strip() if scheme.lower() == "bearer" else ""
        # A forwarded request did not come from this machine, even if the proxy runs on it.
        is_optional = not self._access.requires_token and not any(name in headers for name in _FORWARDED)
        is_open = path in OPEN_PATHS or (scope["method"] in ("GET", "HEAD") and is_web_path(path))
        # Browsers send the cookie with every request: it is ignored where no token is needed.
        needs_none = is_optional or is_open
        shown = bearer or (None if needs_none else cookie_parser(headers.get("cookie", "")).get(TOKEN_COOKIE))
        if shown is None or (is_optional and not shown.startswith(TOKEN_PREFIX)):
            return None if needs_none else _unauthorized("This server requires an access token.")
        try:
            return await self._refusal_of(shown, scope)
        except StorageError as error:
            return response_to(error)

    async def _refusal_of(self, shown: str, scope: Scope) -> JSONResponse | None:
        address = scope["client"][0] if scope.get("client") else ""
        is_forwarded = any(name in Headers(scope=scope) for name in _FORWARDED)
        sources = failure_sources(address, shown, is_forwarded=is_forwarded)
        token = await self._find(token_hash(shown), is_limited=self._failures.wait_s(*sources) > 0)
        if token is None or not token.is_valid(datetime.now(UTC)):
            # Read before the failure is counted: the failure that reaches the limit still gets 401.
            wait_s = self._failures.wait_s(*sources)
            self._failures.add(*sources)
            return _too_many(wait_s) if wait_s else _unauthorized("The access token is not valid.")
        scope.setdefault("state", {})[_SIGNED_IN_AS] = token
        needed = needed_scope(scope["method"], scope["path"])
        return None if allows(token.scope, needed) else _forbidden(token, needed)

    async def _find(self, hashed: str, *, is_limited: bool) -> ApiToken | None:
        if (token := self._known.recent(hashed)) is not None:
            return token
        # A token that was valid before does not wait behind the guesses of others.
        limiter = self._limited_checks if is_limited and hashed not in self._known else None
        return await anyio.to_thread.run_sync(self._known.query, hashed, limiter=limiter)


class _KnownTokens:
    """Recently valid tokens, so that not every request queries the database."""

    def __init__(self, tokens: TokenRepository) -> None:
        self._tokens = tokens
        self._known: OrderedDict[str, tuple[float, ApiToken]] = OrderedDict()

    def __contains__(self, hashed: str) -> bool:
        return hashed in self._known

    def recent(self, hashed: str) -> ApiToken | None:
        known_at_s, token = self._known.get(hashed, (0.0, None))
        return token if time.monotonic() - known_at_s < KNOWN_FOR_S else None

    def query(self, hashed: str) -> ApiToken | None:
        token, now = self._tokens.find(hashed), datetime.now(UTC)
        if token is None or not token.is_valid(now):
            self._known.pop(hashed, None)
            return token
        self._tokens.note_use(token, now)
        self._known[hashed] = (time.monotonic(), token)
        while len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)
        return token


def _refused(status: int, detail: str, next_step: str, code: str, headers: Mapping[str, str]) -> JSONResponse:
    response = error_response(status, detail, next_step, code)
    response.headers.update(headers)
    return response


def _unauthorized(detail: str) -> JSONResponse:
    next_step = "Send 'Authorization: Bearer TOKEN'; on the server: tunix-rt tokens create NAME --scope read"
    challenge = 'Bearer realm="tunix-rt"'
    return _refused(401, detail, next_step, "unauthorized", {"www-authenticate": challenge})


def _too_many(wait_s: int) -> JSONResponse:
    detail = "The access token is not valid, and too many invalid ones came from here or for this token."
    next_step = f"Send a valid token, which is accepted at once; wait {wait_s} s before trying others."
    return _refused(429, detail, next_step, "too-many-failures", {"retry-after": str(wait_s)})


def _forbidden(token: ApiToken, needed: str) -> JSONResponse:
    detail = f"The access token has the scope {token.scope}; this needs the scope {needed}."
    next_step = f"On the server: tunix-rt tokens create NAME --scope {needed}"
    challenge = f'Bearer realm="tunix-rt", error="insufficient_scope", scope="{needed}"'
    return _refused(403, detail, next_step, "forbidden", {"www-authenticate": challenge})


router = APIRouter(prefix="/api/session", tags=["session"], responses=error_responses())

_COOKIE_MAX_AGE_S = 30 * 24 * 3600
"""The token itself may expire earlier."""


class Session(Record):
    """The identity of the client."""

    scope: TokenScope
    """Scope of the client."""
    token_name: str | None = None
    """Name of the access token; absent on loopback without a token."""


@router.get("", response_model_exclude_none=True)
async def get_session(request: Request) -> Session:
    """The identity of the client. 401 when a token is required and missing."""
    return _session(request)


@router.post("", response_model_exclude_none=True)
async def sign_in(
    request: Request, response: Response, authorization: Annotated[str, Header()] = ""
) -> Session:
    """Store the token of the `Authorization` header in a cookie. 401 when it is not valid."""
    _, _, token = authorization.partition(" ")
    # Only a checked token: on loopback, others are ignored.
    if signed_in_as(request.scope) is not None:
        response.set_cookie(
            TOKEN_COOKIE,
            token.strip(),
            max_age=_COOKIE_MAX_AGE_S,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
    return _session(request)


@router.delete("", status_code=status.HTTP_204_NO_CONTENT)
async def sign_out(response: Response) -> None:
    """Delete the cookie; the token itself stays valid."""
    response.delete_cookie(TOKEN_COOKIE, httponly=True, samesite="strict")


def _session(request: Request) -> Session:
    token = signed_in_as(request.scope)
    return Session(scope="admin") if token is None else Session(scope=token.scope, token_name=token.name)
