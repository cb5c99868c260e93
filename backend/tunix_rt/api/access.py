"""Every request shows a token whose scope covers it, unless it comes from this machine to this machine.

On loopback no token is needed: whoever can connect there can read the home directory too. A token of ours
that is sent there must still be right; other keys are passed over, since OpenAI's clients always send one.

A browser that has signed in sends its token in a cookie: links and streams cannot carry a header.
"""

import socket
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tunix_rt.api.auth_failures import AuthFailures
from tunix_rt.api.hosts import Hosts
from tunix_rt.api.web import is_web_path
from tunix_rt.base.errors import StorageError
from tunix_rt.base.http.errors import error_response, response_to
from tunix_rt.base.settings import Settings
from tunix_rt.system.store import TokenRepository
from tunix_rt.system.types import TOKEN_PREFIX, ApiToken, allows, is_loopback, needed_scope, token_hash

OPEN_PATHS = frozenset({"/api/health"})
"""What whoever watches over the server may read without a token: it says only whether it works."""
TOKEN_COOKIE = "tunix_rt_token"
KNOWN_FOR_S = 5.0
"""How long a token that was right stays so without asking again; a revoked one works no longer than that."""
_MAX_KNOWN = 1_000
_FORWARDED = ("forwarded", "x-forwarded-for")
_SIGNED_IN_AS = "signed_in_as"


@dataclass(frozen=True)
class Access:
    """Under which names a server is called, and whether everybody needs a token."""

    hosts: Hosts = field(default_factory=Hosts)
    requires_token: bool = True


def access_to(settings: Settings, host: str) -> Access:
    """On loopback: whoever is on this machine. Elsewhere: whoever has a token."""
    names = frozenset(settings.allowed_hosts)
    if is_loopback(host):
        return Access(Hosts(names), requires_token=settings.require_token)
    own_names = {host.lower(), socket.gethostname().lower()}
    return Access(Hosts(names | own_names, takes_any_address=True), requires_token=True)


def signed_in_as(scope: Scope) -> ApiToken | None:
    """The token that a request has shown; none where none is needed."""
    token: ApiToken | None = scope.get("state", {}).get(_SIGNED_IN_AS)
    return token


def is_open(method: str, path: str) -> bool:
    """Whether a request needs no token: for the server's health, and for the files of the web app."""
    return path in OPEN_PATHS or (method in ("GET", "HEAD") and is_web_path(path))


class TokenCheck:
    """Lets a request through when its token covers it; else 401, 403, or 429 after too many wrong ones."""

    def __init__(self, app: ASGIApp, tokens: TokenRepository, access: Access) -> None:
        self._app = app
        self._access = access
        self._known = _KnownTokens(tokens)
        self._failures = AuthFailures()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at the token, then pass on."""
        refusal = await self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    async def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        bearer, is_optional = _bearer(headers), self._is_optional(headers)
        needs_none = is_optional or is_open(scope["method"], scope["path"])
        # A cookie goes along with every request, wanted or not: where no token is needed it does not count.
        shown = bearer if needs_none else bearer or cookie_parser(headers.get("cookie", "")).get(TOKEN_COOKIE)
        if shown is None or (is_optional and not shown.startswith(TOKEN_PREFIX)):
            return None if needs_none else _unauthorized("This server wants an access token.")
        try:
            return await self._refusal_of(shown, scope)
        except StorageError as error:
            return response_to(error)

    def _is_optional(self, headers: Headers) -> bool:
        # What a proxy passes on did not come from this machine, although the proxy stands on it.
        return not self._access.requires_token and not any(name in headers for name in _FORWARDED)

    async def _refusal_of(self, shown: str, scope: Scope) -> JSONResponse | None:
        address = scope["client"][0] if scope.get("client") else ""
        hashed = token_hash(shown)
        token = self._known.recent(hashed)
        if token is None and (wait_s := self._failures.wait_s(address)):
            return _too_many(wait_s)
        if token is None:
            token = await anyio.to_thread.run_sync(self._known.ask, hashed)
        if token is None or not token.is_valid(datetime.now(UTC)):
            self._failures.add(address)
            return _unauthorized("The access token is not valid.")
        scope.setdefault("state", {})[_SIGNED_IN_AS] = token
        needed = needed_scope(scope["method"], scope["path"])
        return None if allows(token.scope, needed) else _forbidden(token, needed)


class _KnownTokens:
    """Tokens that were right a moment ago, so that not every request asks the database."""

    def __init__(self, tokens: TokenRepository) -> None:
        self._tokens = tokens
        self._known: OrderedDict[str, tuple[float, ApiToken]] = OrderedDict()

    def recent(self, hashed: str) -> ApiToken | None:
        """The token with this hash, if it was asked for a moment ago."""
        known_at_s, token = self._known.get(hashed, (0.0, None))
        return token if time.monotonic() - known_at_s < KNOWN_FOR_S else None

    def ask(self, hashed: str) -> ApiToken | None:
        """The token with this hash, from the database; its use is written down."""
        token, now = self._tokens.find(hashed), datetime.now(UTC)
        if token is None or not token.is_valid(now):
            self._known.pop(hashed, None)
            return token
        self._tokens.note_use(token, now)
        self._known[hashed] = (time.monotonic(), token)
        while len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)
        return token


def _bearer(headers: Headers) -> str | None:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() or None if scheme.lower() == "bearer" else None


def _unauthorized(detail: str) -> JSONResponse:
    next_step = "Send 'Authorization: Bearer TOKEN'; on the server: tunix-rt tokens create NAME --scope read"
    response = error_response(401, detail, next_step, "unauthorized")
    response.headers["www-authenticate"] = 'Bearer realm="tunix-rt"'
    return response


def _forbidden(token: ApiToken, needed: str) -> JSONResponse:
    detail = f"The access token may {token.scope}; this needs the scope {needed}."
    next_step = f"On the server: tunix-rt tokens create NAME --scope {needed}"
    response = error_response(403, detail, next_step, "forbidden")
    response.headers["www-authenticate"] = (
        f'Bearer realm="tunix-rt", error="insufficient_scope", scope="{needed}"'
    )
    return response


def _too_many(wait_s: int) -> JSONResponse:
    detail = "Too many wrong access tokens came from this address."
    response = error_response(429, detail, f"Wait {wait_s} s, then use a valid token.", "too-many-failures")
    response.headers["retry-after"] = str(wait_s)
    return response
