"""/v1 and /api/preferences."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response, status
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ValidationError
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tunix_rt.base.errors import ServingError, TunixRTError
from tunix_rt.base.http.errors import ANY_REQUEST, ErrorBody, error_responses, status_of
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome
from tunix_rt.base.http.transfers import cancel_on_disconnect, download, spooled
from tunix_rt.serving import preferences as preference_service
from tunix_rt.serving.completions import ResolvedRequest, complete, stream
from tunix_rt.serving.names import find_served, list_served, served
from tunix_rt.serving.pool import ModelPool
from tunix_rt.serving.store import PreferenceRepository
from tunix_rt.serving.types import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatRequest,
    NewPreference,
    Preference,
    ServedModel,
    ServedModels,
)

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
    """An OpenAI error with the fields of every error of this API."""

    message: str
    """The detail and the next step in one text."""
    type: ErrorType
    param: str | None = None


class OpenAIErrorBody(BaseModel):
    """The body of an error under `/v1`."""

    error: OpenAIErrorDetail


def openai_error(status: int, body: ErrorBody) -> OpenAIErrorBody:
    """Convert an error to the OpenAI format.

    Example:
        404, "There is no model 'x'." -> type invalid_request_error, code not-found
    """
    kind: ErrorType = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    message = f"{body.detail} {body.next_step}"
    return OpenAIErrorBody(error=OpenAIErrorDetail(**body.model_dump(), message=message, type=kind))


def openai_error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI entries for the error statuses of a route."""
    return {status: {"model": OpenAIErrorBody} for status in (*statuses, *ANY_REQUEST)}


class OpenAIErrors:
    """Middleware that converts errors under `/v1` to the OpenAI format, whichever layer raised them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Buffer an error until its body is complete; pass other responses through unchanged."""
        start: Message | None = None
        body = b""

        async def send_converted(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and message["status"] >= 400:
                start = message
            elif start is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    raw = _converted(start, body)
                    await send(start)
                    await send({"type": "http.response.body", "body": raw})

        is_openai = scope["type"] == "http" and scope["path"].startswith(PREFIX)
        await self._app(scope, receive, send_converted if is_openai else send)


def _converted(start: Message, raw: bytes) -> bytes:
    try:
        body = openai_error(start["status"], ErrorBody.model_validate_json(raw))
    except ValidationError:  # responses to HEAD and to disconnected clients have no body
        return raw
    converted = body.model_dump_json().encode()
    MutableHeaders(raw=start["headers"])["content-length"] = str(len(converted))
    return converted


router = APIRouter(prefix="/v1", tags=["serving"], route_class=CheckedRoute)

_NO_BUFFERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
_CLIENT_CLOSED_REQUEST = 499
_STREAM = {"content": {"text/event-stream": {"schema": {"type": "string"}}}}


def get_models(request: Request) -> ModelPool:
    """The model pool of the app."""
    models: ModelPool = request.app.state.models
    return models


def resolve_request(body: ChatRequest, home: OpenHome) -> ResolvedRequest:
    """The request and its weights. Not a coroutine: the database is queried in a thread."""
    return ResolvedRequest(body, find_served(home, body.model))


Models = Annotated[ModelPool, Depends(get_models)]


@router.get("/models", response_model_exclude_none=True, responses=openai_error_responses())
def list_models(home: OpenHome, models: Models) -> ServedModels:
    """Every registered version and alias, and the newest finished runs."""
    return ServedModels(data=tuple(_with_state(model, models) for model in list_served(home)))


@router.get("/models/{name}", response_model_exclude_none=True, responses=openai_error_responses(404))
def get_model(name: str, home: OpenHome, models: Models) -> ServedModel:
    """One model and the weights its name currently refers to. 404 if unknown."""
    return _with_state(served(name, find_served(home, name)), models)


@router.post(
    "/chat/completions",
    response_model=ChatCompletion,
    response_model_exclude_none=True,
    responses={200: _STREAM, **openai_error_responses(400, 404, 409, 500)},
)
async def create_chat_completion(
    request: Request, resolved: Annotated[ResolvedRequest, Depends(resolve_request)], models: Models
) -> ChatCompletion | Response:
    """Continue a conversation; the first request to a model waits until it is loaded.

    404 for an unknown model, 409 if it does not fit, 422 if the model cannot read the messages, 503 if its
    process stopped or all models are busy. With `stream`, errors after the first chunk are sent as a chunk.
    """
    if resolved.request.stream:
        return await _stream_response(request, stream(models, resolved))
    completion = await cancel_on_disconnect(request, complete(models, resolved))
    return completion or Response(status_code=_CLIENT_CLOSED_REQUEST)


def _with_state(model: ServedModel, models: ModelPool) -> ServedModel:
    return model.model_copy(update={"is_loaded": models.is_loaded(model.root)})


async def _stream_response(request: Request, chunks: AsyncGenerator[ChatCompletionChunk, None]) -> Response:
    """Wait for the first chunk, so that earlier errors set the HTTP status, then stream."""

    async def first_chunk() -> ChatCompletionChunk:
        return await anext(chunks)

    first = await cancel_on_disconnect(request, first_chunk())
    if first is None:
        return Response(status_code=_CLIENT_CLOSED_REQUEST)
    events = _events(request, first, chunks)
    return StreamingResponse(events, media_type="text/event-stream", headers=_NO_BUFFERS)


async def _events(
    request: Request, first: ChatCompletionChunk, chunks: AsyncGenerator[ChatCompletionChunk, None]
) -> AsyncGenerator[str, None]:
    async with aclosing(chunks):
        yield _event(first)
        try:
            async for chunk in chunks:
                if request.app.state.stopping.is_set():
                    raise ServingError("The server is shutting down.", next_step="Try again when it is back.")
                yield _event(chunk)
        except TunixRTError as error:
            body = ErrorBody(detail=error.detail, next_step=error.next_step, code=error.code)
            yield f"data: {openai_error(status_of(error), body).model_dump_json()}\n\n"
            return  # without [DONE]: clients must not take the answer for complete
    yield "data: [DONE]\n\n"


def _event(chunk: ChatCompletionChunk) -> str:
    return f"data: {chunk.model_dump_json(exclude_none=True)}\n\n"


preferences_router = APIRouter(
    prefix="/api/preferences", tags=["preferences"], responses=error_responses(), route_class=CheckedRoute
)

_LINES = "application/x-ndjson"
_FILE: dict[int | str, dict[str, Any]] = {200: {"content": {_LINES: {}}}}


async def _preference_repository(home: OpenHome) -> PreferenceRepository:
    return PreferenceRepository(home.database)


Votes = Annotated[PreferenceRepository, Depends(_preference_repository)]


@preferences_router.post(
    "", status_code=status.HTTP_201_CREATED, responses=error_responses(400), response_model_exclude_none=True
)
def add_preference(vote: NewPreference, votes: Votes) -> Preference:
    """Store which of two answers was preferred."""
    return preference_service.add_preference(votes, vote)


@preferences_router.get("", response_model_exclude_none=True)
def list_preferences(
    votes: Votes, limit: Limit = 20, offset: Offset = 0
) -> preference_service.PreferenceList:
    """A page of votes, newest first, with a tally per pair of models over all votes."""
    return preference_service.list_preferences(votes, limit=limit, offset=offset)


@preferences_router.get("/export.jsonl", responses=_FILE, response_class=StreamingResponse)
def export_preferences(votes: Votes) -> StreamingResponse:
    """Every decided vote as a preference pair: `prompt`, `chosen`, `rejected`."""
    return download(spooled(preference_service.preference_lines(votes)), "preferences.jsonl", _LINES)


@preferences_router.delete(
    "/{vote_id}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404)
)
def delete_preference(vote_id: UUID, votes: Votes) -> None:
    """Delete a vote. 404 if unknown."""
    votes.remove(vote_id)
