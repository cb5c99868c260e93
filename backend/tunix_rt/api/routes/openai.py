"""`/v1`: the models, for OpenAI's clients."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import StreamingResponse

from tunix_rt.api.openai_errors import openai_error, openai_error_responses
from tunix_rt.base.errors import ServingError, TunixRTError
from tunix_rt.base.http.errors import ErrorBody, status_of
from tunix_rt.base.http.routing import CheckedRoute, OpenHome
from tunix_rt.base.http.transfers import unless_gone
from tunix_rt.core.chat.completion import ChatCompletion, ChatCompletionChunk, ServedModel, ServedModels
from tunix_rt.core.chat.request import ChatRequest
from tunix_rt.services.serving.answering import Asked, complete, stream
from tunix_rt.services.serving.naming import find_served, list_served, served
from tunix_rt.services.serving.pool import ModelPool

router = APIRouter(prefix="/v1", tags=["serving"], route_class=CheckedRoute)

_NO_BUFFERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
_NOBODY_LISTENS = 499
_STREAM = {"content": {"text/event-stream": {"schema": {"type": "string"}}}}


def get_models(request: Request) -> ModelPool:
    """The processes of the app's models."""
    models: ModelPool = request.app.state.models
    return models


def get_asked(body: ChatRequest, home: OpenHome) -> Asked:
    """The request, and the weights that it means. Not a coroutine: the database is asked in a thread."""
    return Asked(body, find_served(home, body.model))


Models = Annotated[ModelPool, Depends(get_models)]


@router.get("/models", response_model_exclude_none=True, responses=openai_error_responses())
def list_models(home: OpenHome, models: Models) -> ServedModels:
    """Every registered version and alias, and the newest finished runs."""
    return ServedModels(data=tuple(_with_state(model, models) for model in list_served(home)))


@router.get("/models/{name}", response_model_exclude_none=True, responses=openai_error_responses(404))
def get_model(name: str, home: OpenHome, models: Models) -> ServedModel:
    """One model, and which weights its name means now. 404 when nothing has this name."""
    return _with_state(served(name, find_served(home, name)), models)


@router.post(
    "/chat/completions",
    response_model=ChatCompletion,
    response_model_exclude_none=True,
    responses={200: _STREAM, **openai_error_responses(400, 404, 409, 500)},
)
async def create_chat_completion(
    request: Request, asked: Annotated[Asked, Depends(get_asked)], models: Models
) -> ChatCompletion | Response:
    """Go on with a conversation; the first request to a model waits until it is loaded.

    404 for an unknown model, 409 when it does not fit, 422 for what it cannot read, 503 when its process has
    died or all are busy. With `stream` errors after the first chunk are sent as a chunk.
    """
    if asked.request.stream:
        return await _streamed(request, stream(models, asked))
    completion = await unless_gone(request, complete(models, asked))
    return completion or Response(status_code=_NOBODY_LISTENS)


def _with_state(model: ServedModel, models: ModelPool) -> ServedModel:
    return model.model_copy(update={"is_loaded": models.is_loaded(model.root)})


async def _streamed(request: Request, chunks: AsyncGenerator[ChatCompletionChunk, None]) -> Response:
    """A stream whose first chunk is there: what fails before it is answered with a status."""

    async def first_chunk() -> ChatCompletionChunk:
        return await anext(chunks)

    first = await unless_gone(request, first_chunk())
    if first is None:
        return Response(status_code=_NOBODY_LISTENS)
    events = _events(request, first, chunks)
    return StreamingResponse(events, media_type="text/event-stream", headers=_NO_BUFFERS)


async def _events(
    request: Request, first: ChatCompletionChunk, chunks: AsyncGenerator[ChatCompletionChunk, None]
) -> AsyncGenerator[str, None]:
    async with aclosing(chunks):
        yield _event(first)
        try:
            async for chunk in chunks:
                _refuse_when_stopping(request)
                yield _event(chunk)
        except TunixRTError as error:
            ours = ErrorBody(detail=error.detail, next_step=error.next_step, code=error.code)
            yield f"data: {openai_error(status_of(error), ours).model_dump_json()}\n\n"
            return  # whoever waits for the end of the answer must not find one
    yield "data: [DONE]\n\n"


def _event(chunk: ChatCompletionChunk) -> str:
    return f"data: {chunk.model_dump_json(exclude_none=True)}\n\n"


def _refuse_when_stopping(request: Request) -> None:
    if request.app.state.stopping.is_set():
        raise ServingError("The server is being stopped.", next_step="Ask again when it is back.")
