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
    """A new token, and the only chance to see it."""
    token, token_id = new_token()
    return _keep(tokens, token, token_id, name, scope, lifetime), token


def adopt_token(
    tokens: TokenRepository, file: Path, name: str, scope: Scope, *, lifetime: timedelta | None = None
) -> ApiToken:
    """Accept the token that stands in a file, as secrets come to a container; again is no error.

    Raises:
        InvalidInputError: There is no such file, or what stands in it could be guessed.
        ConflictError: The token is known and was revoked, has expired, or has another scope.
    """
    token = _read(file)
    hashed = token_hash(token)
    known = tokens.find(hashed)
    if known is None:
        return _keep(tokens, token, hashed[:8], name, scope, lifetime)
    if not known.is_valid(datetime.now(UTC)) or known.scope != scope:
        raise ConflictError(
            f"The token {known.token_id} is known, with the scope {known.scope}, and cannot become another.",
            next_step="Put a new token into the file; `tunix-rt tokens list` shows the known ones.",
        )
    return known


def revoke_token(tokens: TokenRepository, token_id: str) -> ApiToken:
    """Make a token worthless. NotFoundError when there is none with this id."""
    return tokens.revoke(token_id, datetime.now(UTC))


def token_status(token: ApiToken) -> Literal["valid", "revoked", "expired"]:
    """What has become of a token."""
    if token.revoked_at is not None:
        return "revoked"
    return "valid" if token.is_valid(datetime.now(UTC)) else "expired"


def has_valid_token(tokens: TokenRepository) -> bool:
    """Whether anybody could come in."""
    return tokens.num_valid(datetime.now(UTC)) > 0


def _keep(
    tokens: TokenRepository, token: str, token_id: str, name: str, scope: Scope, lifetime: timedelta | None
) -> ApiToken:
    if not 0 < len(name) <= MAX_NAME_CHARS:
        raise InvalidInputError(
            f"A token's name has 1 to {MAX_NAME_CHARS} characters.", next_step="Choose another name."
        )
    now = datetime.now(UTC)
    kept = ApiToken(
        token_id=token_id,
        name=name,
        scope=scope,
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
    )
    tokens.add(kept, token_hash(token))
    return kept


def _read(file: Path) -> str:
    if not file.is_file():
        raise InvalidInputError(f"There is no file {file}.", next_step="Check the path after --from-file.")
    with storage_errors("reading the token"):
        token = file.read_text(encoding="utf-8", errors="replace").strip()
    if len(token) < MIN_TOKEN_CHARS or not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidInputError(
            f"What stands in {file.name} is no token: it takes at least {MIN_TOKEN_CHARS} ASCII characters "
            "without blanks.",
            next_step="Make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    return token
