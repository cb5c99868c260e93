"""Who may ask for what: scopes, the tokens that carry them, and what each request needs."""

import hashlib
import ipaddress
import secrets
from datetime import datetime
from typing import Literal, get_args

from tunix_rt.base.records import Record

Scope = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Each may do what those before it may."""

TOKEN_PREFIX = "trt_"
MIN_TOKEN_CHARS = 32
"""Of a token that somebody brings along; those that are made here have 256 random bits."""

_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_QUEUE = "/api/tunix/queue"
_OPENAI = "/v1/"
_SESSION = "/api/session"


class ApiToken(Record):
    """What is kept of a token. The token itself is shown once, to whoever made it."""

    token_id: str
    name: str
    scope: Scope
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    """Within a minute."""
    revoked_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether it opens anything at this moment."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def new_token() -> tuple[str, str]:
    """A token that nobody can guess, and the id by which people speak of it.

    Example:
        ("trt_3f9c2a11_Jx…", "3f9c2a11")
    """
    token_id = secrets.token_hex(4)
    return f"{TOKEN_PREFIX}{token_id}_{secrets.token_urlsafe(32)}", token_id


def token_hash(token: str) -> str:
    """What is stored in its place. A token has 256 random bits: no salt and no slow hash is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def allows(held: Scope, needed: Scope) -> bool:
    """Whether a token with the scope `held` may do what needs `needed`."""
    return SCOPES.index(held) >= SCOPES.index(needed)


def needed_scope(method: str, path: str) -> Scope:
    """The scope that a request needs.

    Example:
        GET /api/traces -> read; POST /v1/chat/completions -> read; POST /api/traces -> write;
        DELETE /api/tunix/runs/x -> admin; POST /api/tunix/queue/pause -> admin
    """
    # Signing a browser in and out changes nothing here.
    if method in _READING_METHODS or path == _SESSION:
        return "read"
    if method == "DELETE" or path == _QUEUE or path.startswith(f"{_QUEUE}/"):
        return "admin"
    # Asking a model changes nothing.
    return "read" if path.startswith(_OPENAI) else "write"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
