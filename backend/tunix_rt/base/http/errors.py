"""One error shape for the whole API, and the handlers that produce it."""

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from tunix_rt.base.errors import (
    ConflictError,
    DataError,
    DeviceError,
    DivergedError,
    DoesNotFitError,
    InvalidInputError,
    JudgeError,
    KaggleError,
    MissingExtraError,
    NotFoundError,
    ServingError,
    StorageError,
    TooLargeError,
    TunixRTError,
)
from tunix_rt.base.logs import redacted
from tunix_rt.base.records import explain_problems

STATUS_OF: dict[type[TunixRTError], int] = {
    InvalidInputError: 422,
    TooLargeError: 413,
    NotFoundError: 404,
    ConflictError: 409,
    DataError: 422,
    DeviceError: 503,
    DoesNotFitError: 409,
    DivergedError: 500,
    StorageError: 503,
    JudgeError: 502,
    KaggleError: 502,
    ServingError: 503,
    MissingExtraError: 501,
    TunixRTError: 500,
}

SECURITY_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
}
"""Headers of every response: they make browsers keep it from other sites."""
CONTENT_SECURITY_POLICY = b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""The policy of every response without its own: it is data, and nothing in it may run or load."""


def secured(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of a response with the security headers."""
    others = [header for header in headers if header[0] not in SECURITY_HEADERS]
    has_policy = any(name == b"content-security-policy" for name, _ in others)
    policy = [] if has_policy else [(b"content-security-policy", CONTENT_SECURITY_POLICY)]
    return [*others, *policy, *SECURITY_HEADERS.items()]


MAX_PROBLEMS_SHOWN = 5
REQUEST_ID = "request_id"
"""Where the state of a request keeps its id."""
ANY_REQUEST = (401, 403, 413, 422, 429, 503)
"""Statuses that any request may get."""


class ErrorBody(BaseModel):
    """What is wrong, what to do next, and a code that does not change."""

    detail: str
    next_step: str
    code: str


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI's description of the statuses that a caller must handle."""
    return {status: {"model": ErrorBody} for status in (*statuses, *ANY_REQUEST)}


def install_error_handlers(app: FastAPI) -> None:
    """Return every error in the same shape."""
    app.add_exception_handler(TunixRTError, _ours)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _bug)


def error_response(status: int, detail: str, next_step: str, code: str) -> JSONResponse:
    """A response with an error body. Text that UTF-8 cannot encode, quoted from a request, is replaced."""
    body = ErrorBody(detail=_encodable(detail), next_step=_encodable(next_step), code=code)
    return JSONResponse(body.model_dump(), status)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


async def _ours(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TunixRTError)
    return response_to(error)


def response_to(error: TunixRTError) -> JSONResponse:
    """The response for an error."""
    return error_response(status_of(error), redacted(error.detail), error.next_step, error.code)


def status_of(error: TunixRTError) -> int:
    """The HTTP status of an error: that of its nearest ancestor in the table."""
    return next(STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF)


async def _validation(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    broken = next((problem for problem in error.errors() if problem["type"] == "json_invalid"), None)
    if broken is not None:
        reason = f"{broken['ctx']['error']} at character {broken['loc'][-1]}"
        detail, next_step = f"The body is not JSON: {reason}.", "Send one JSON value in UTF-8."
        return error_response(400, detail, next_step, InvalidInputError.code)
    problems = [
        problem | {"loc": tuple(part for part in problem["loc"] if part != "body") or ("body",)}
        for problem in error.errors()
    ]
    detail = explain_problems(problems, max_problems=MAX_PROBLEMS_SHOWN)
    return error_response(422, detail, "Correct the request; /docs describes it.", InvalidInputError.code)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, TunixRTError):  # raised while the body was read
        return await _ours(request, error.__cause__)
    detail, next_step, code = _explain_http(request, error)
    response = error_response(error.status_code, detail, next_step, code)
    response.headers.update(error.headers or {})
    return response


def _explain_http(request: Request, error: HTTPException) -> tuple[str, str, str]:
    routes = "See /docs for the routes."
    if error.status_code == 404:
        return "There is no such route.", routes, "not-found"
    if error.status_code == 405:
        return "This route does not support that method.", routes, "method-not-allowed"
    if error.status_code != 400:
        return f"{error.detail}.", routes, "http-error"
    if request.headers.get("content-type", "").startswith("multipart/"):
        detail = f"The form could not be read: {str(error.detail).rstrip('.')}."
        return detail, "Send a whole multipart form.", InvalidInputError.code
    return (
        "The body could not be read: it is not UTF-8, nested too deeply, or a number has too many digits.",
        "Send UTF-8 JSON with fewer levels and smaller numbers.",
        InvalidInputError.code,
    )


async def _bug(request: Request, _error: Exception) -> JSONResponse:
    response = error_response(
        500,
        "Tunix RT failed to handle this request; nothing was partially stored.",
        "This is a bug: please report it with the server's log.",
        "internal",
    )
    # This response bypasses the middleware that adds these headers.
    response.raw_headers = secured(response.raw_headers)
    if request_id := getattr(request.state, REQUEST_ID, None):
        response.headers["x-request-id"] = request_id
    return response
