"""Answer an OpenAI chat request, either whole or as a stream of chunks."""

import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from tunix_rt.serving.names import ServableModel
from tunix_rt.serving.pool import ModelPool
from tunix_rt.serving.types import (
    AnswerMessage,
    ChatCompletion,
    ChatCompletionChunk,
    ChatRequest,
    ChunkChoice,
    CompletionChoice,
    Delta,
    Usage,
)
from tunix_rt.serving.wire import CompletionDelta, PartialCompletion, RequestStarted


@dataclass(frozen=True)
class ResolvedRequest:
    """A request, and the weights that its model name referred to when it arrived."""

    request: ChatRequest
    model: ServableModel
    completion_id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def chunk(self, *choices: ChunkChoice, usage: Usage | None = None) -> ChatCompletionChunk:
        """One chunk of the stream."""
        return ChatCompletionChunk(
            id=self.completion_id,
            created=self.created,
            model=self.request.model,
            choices=choices,
            usage=usage,
        )


async def complete(pool: ModelPool, resolved: ResolvedRequest) -> ChatCompletion:
    """Generate all completions and return them together.

    Raises:
        TunixRTError: The model cannot be loaded, refuses the request, or its process exits.
    """
    num_prompt_tokens = 0
    completions = [PartialCompletion() for _ in range(resolved.request.n or 1)]
    async with aclosing(_events(pool, resolved)) as events:
        async for event in events:
            if isinstance(event, RequestStarted):
                num_prompt_tokens = event.num_prompt_tokens
            else:
                completions[event.choice].add(event)
    return ChatCompletion(
        id=resolved.completion_id,
        created=resolved.created,
        model=resolved.request.model,
        choices=tuple(
            CompletionChoice(
                index=index,
                message=AnswerMessage(content=one.content, reasoning_content=one.reasoning or None),
                finish_reason=one.finish or "length",
            )
            for index, one in enumerate(completions)
        ),
        usage=_usage(num_prompt_tokens, sum(completion.num_tokens for completion in completions)),
    )


async def stream(pool: ModelPool, resolved: ResolvedRequest) -> AsyncGenerator[ChatCompletionChunk, None]:
    """Yield chunks while the model generates.

    The first chunk is yielded once the model has accepted the request, so an earlier error can
    still set the HTTP status.

    Raises:
        TunixRTError: The model cannot be loaded, refuses the request, or its process exits.
    """
    num_prompt_tokens = num_new_tokens = 0
    async with aclosing(_events(pool, resolved)) as events:
        async for event in events:
            if isinstance(event, RequestStarted):
                num_prompt_tokens = event.num_prompt_tokens
                opening = Delta(role="assistant", content="")
                indices = range(resolved.request.n or 1)
                yield resolved.chunk(*(ChunkChoice(index=index, delta=opening) for index in indices))
                continue
            num_new_tokens += event.num_tokens
            delta = Delta(content=event.content or None, reasoning_content=event.reasoning or None)
            yield resolved.chunk(ChunkChoice(index=event.choice, delta=delta, finish_reason=event.finish))
    options = resolved.request.stream_options
    if options is not None and options.include_usage:
        yield resolved.chunk(usage=_usage(num_prompt_tokens, num_new_tokens))


async def _events(
    pool: ModelPool, resolved: ResolvedRequest
) -> AsyncGenerator[RequestStarted | CompletionDelta, None]:
    request = resolved.request
    decoding = request.decoding(secrets.randbelow(2**31))
    async with pool.acquire(resolved.model) as process:
        async with aclosing(process.generate(request.messages, decoding, request.stops)) as events:
            async for event in events:
                yield event


def _usage(num_prompt_tokens: int, num_new_tokens: int) -> Usage:
    return Usage(
        prompt_tokens=num_prompt_tokens,
        completion_tokens=num_new_tokens,
        total_tokens=num_prompt_tokens + num_new_tokens,
    )
