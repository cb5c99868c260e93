"""Signing a browser in: it keeps the access token in a cookie that scripts cannot read."""

from typing import Annotated

from fastapi import APIRouter, Header, Request, Response, status

from tunix_rt.api.access import TOKEN_COOKIE, signed_in_as
from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.records import Record
from tunix_rt.system.types import Scope as TokenScope

router = APIRouter(prefix="/api/session", tags=["session"], responses=error_responses())

_KEPT_FOR_S = 30 * 24 * 3600
"""The browser forgets it then; the token itself may end earlier."""


class Session(Record):
    """As whom this server sees you."""

    scope: TokenScope
    """What you may do."""
    token_name: str | None = None
    """The name of your access token; none on this machine, where none is needed."""


@router.get("", response_model_exclude_none=True)
async def get_session(request: Request) -> Session:
    """Who you are to this server. 401 when it wants a token and there is none."""
    return _session(request)


@router.post("", response_model_exclude_none=True)
async def sign_in(
    request: Request, response: Response, authorization: Annotated[str, Header()] = ""
) -> Session:
    """Keep the token of the `Authorization` header in a cookie. 401 when it is not valid."""
    _, _, token = authorization.partition(" ")
    # Only a token that was checked: on loopback, others are passed over.
    if signed_in_as(request.scope) is not None:
        response.set_cookie(
            TOKEN_COOKIE,
            token.strip(),
            max_age=_KEPT_FOR_S,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
    return _session(request)


@router.delete("", status_code=status.HTTP_204_NO_CONTENT)
async def sign_out(response: Response) -> None:
    """Forget the token in this browser; elsewhere it stays valid."""
    response.delete_cookie(TOKEN_COOKIE, httponly=True, samesite="strict")


def _session(request: Request) -> Session:
    token = signed_in_as(request.scope)
    return Session(scope="admin") if token is None else Session(scope=token.scope, token_name=token.name)
