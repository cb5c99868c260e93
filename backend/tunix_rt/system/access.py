"""Create, adopt, revoke and check access tokens."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from tunix_rt.base.errors import ConflictError, InvalidInputError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.system.store import TokenRepository
from tunix_rt.system.types import MIN_TOKEN_CHARS, ApiToken, Scope, new_token, token_hash

MAX_NAME_CHARS = 64


def create_token(
    tokens: TokenRepository, name: str, scope: Scope, *, lifetime: timedelta | None = None
) -> tuple[ApiToken, str]:
    """Create a token; only its hash is stored, so this is the only time that it is available."""
    token, token_id = new_token()
    return _store(tokens, token, token_id, name, scope, lifetime), token


def adopt_token(
    tokens: TokenRepository, file: Path, name: str, scope: Scope, *, lifetime: timedelta | None = None
) -> ApiToken:
    """Register the token in a file, such as a container's secret; repeating it is not an error.

    Raises:
        InvalidInputError: There is no such file, or its token is too weak.
        ConflictError: The token is known but revoked, expired, or has another scope.
    """
    if not file.is_file():
        raise InvalidInputError(f"There is no file {file}.", next_step="Check the path after --from-file.")
    with storage_errors("reading the token"):
        token = file.read_text(encoding="utf-8", errors="replace").strip()
    if len(token) < MIN_TOKEN_CHARS or not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidInputError(
            f"{file.name} does not contain a token: at least {MIN_TOKEN_CHARS} ASCII characters without "
            "spaces.",
            next_step="Create one: python -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    hashed = token_hash(token)
    if (known := tokens.find(hashed)) is None:
        return _store(tokens, token, hashed[:8], name, scope, lifetime)
    if not known.is_valid(datetime.now(UTC)) or known.scope != scope:
        raise ConflictError(
            f"The token {known.token_id} exists with the scope {known.scope} and cannot be changed.",
            next_step="Put a new token into the file; `tunix-rt tokens list` shows the existing ones.",
        )
    return known


def token_status(token: ApiToken) -> Literal["valid", "revoked", "expired"]:
    """The status of a token."""
    if token.revoked_at is not None:
        return "revoked"
    return "valid" if token.is_valid(datetime.now(UTC)) else "expired"


def _store(
    tokens: TokenRepository, token: str, token_id: str, name: str, scope: Scope, lifetime: timedelta | None
) -> ApiToken:
    if not 0 < len(name) <= MAX_NAME_CHARS:
        raise InvalidInputError(
            f"A token's name has 1 to {MAX_NAME_CHARS} characters.", next_step="Choose another name."
        )
    now = datetime.now(UTC)
    record = ApiToken(
        token_id=token_id,
        name=name,
        scope=scope,
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
    )
    tokens.add(record, token_hash(token))
    return record
