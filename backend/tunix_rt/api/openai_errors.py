"""Under `/v1` errors have the shape that OpenAI's clients read; ours is inside it, to the word."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tunix_rt.base.http.errors import ANY_REQUEST, ErrorBody

PREFIX = "/v1/"

ErrorType = Literal[
    "invalid_request_error", "authentication_error", "permission_error", "rate_limit_error", "server_error"
]
_TYPES: Mapping[int, ErrorType] = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}


class OpenAIErrorDetail(ErrorBody):
    """What OpenAI's clients show, and what this API says everywhere."""

    message: str
    """What is wrong and what to do next."""
    type: ErrorType
    param: str | None = None


class OpenAIErrorBody(BaseModel):
    """The body of an error under `/v1`."""

    error: OpenAIErrorDetail


def openai_error(status: int, body: ErrorBody) -> OpenAIErrorBody:
    """An error of ours in that shape.

    Example:
        404, "There is no model 'x'." -> type invalid_request_error, code not-found
    """
    kind: ErrorType = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    message = f"{body.detail} {body.next_step}"
    return OpenAIErrorBody(error=OpenAIErrorDetail(**body.model_dump(), message=message, type=kind))


def openai_error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI's description of the statuses that a caller must handle."""
    return {status: {"model": OpenAIErrorBody} for status in (*statuses, *ANY_REQUEST)}


class OpenAIErrors:
    """Puts errors under `/v1` into that shape, whoever answers: a route, a limit, or a check of tokens."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is no error as it comes."""
        if scope["type"] == "http" and scope["path"].startswith(PREFIX):
            send = _Rewriting(send).send
        await self._app(scope, receive, send)


class _Rewriting:
    """One response, held back while it may be an error that is not whole yet."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_error(self._start)

    async def _send_error(self, start: Message) -> None:
        try:
            body = openai_error(start["status"], ErrorBody.model_validate_json(self._body))
        except ValidationError:  # the answer to a HEAD has none, nor has that to a client who left
            raw = self._body
        else:
            raw = body.model_dump_json().encode()
            MutableHeaders(raw=start["headers"])["content-length"] = str(len(raw))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": raw})
