"""An OpenAI request answered whole or in chunks."""

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
    FinishReason,
    Usage,
)
from tunix_rt.serving.wire import CompletionDelta, RequestStarted


@dataclass(frozen=True)
class ChatJob:
    """A request, and the weights that its model's name meant when it came."""

    request: ChatRequest
    model: ServableModel
    completion_id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def chunk(self, *choices: ChunkChoice, usage: Usage | None = None) -> ChatCompletionChunk:
        """A piece of the stream that answers it."""
        return ChatCompletionChunk(
            id=self.completion_id,
            created=self.created,
            model=self.request.model,
            choices=choices,
            usage=usage,
        )


async def complete(pool: ModelPool, asked: ChatJob) -> ChatCompletion:
    """The whole answer.

    Raises:
        TunixRTError: Why there is none.
    """
    counts = _Counts()
    drafts = [_Draft() for _ in range(asked.request.n or 1)]
    async with aclosing(_reports(pool, asked)) as reports:
        async for report in reports:
            counts.add(report)
            if isinstance(report, CompletionDelta):
                drafts[report.choice].add(report)
    return ChatCompletion(
        id=asked.completion_id,
        created=asked.created,
        model=asked.request.model,
        choices=tuple(draft.choice(index) for index, draft in enumerate(drafts)),
        usage=counts.usage,
    )


async def stream(pool: ModelPool, asked: ChatJob) -> AsyncGenerator[ChatCompletionChunk, None]:
    """The answer in pieces. The first comes when the model has read the request: what fails, fails before.

    Raises:
        TunixRTError: Why there is no answer, or no more of it.
    """
    counts = _Counts()
    async with aclosing(_reports(pool, asked)) as reports:
        async for report in reports:
            counts.add(report)
            if isinstance(report, RequestStarted):
                opening = Delta(role="assistant", content="")
                yield asked.chunk(*(ChunkChoice(index=i, delta=opening) for i in range(asked.request.n or 1)))
            else:
                yield asked.chunk(_chunk_choice(report))
    if asked.request.includes_usage:
        yield asked.chunk(usage=counts.usage)


async def _reports(pool: ModelPool, asked: ChatJob) -> AsyncGenerator[RequestStarted | CompletionDelta, None]:
    request = asked.request
    decoding = request.decoding(secrets.randbelow(2**31))
    async with pool.acquire(asked.model) as process:
        async with aclosing(process.ask(request.messages, decoding, request.stops)) as reports:
            async for report in reports:
                yield report


def _chunk_choice(said: CompletionDelta) -> ChunkChoice:
    delta = Delta(content=said.content or None, reasoning_content=said.reasoning or None)
    return ChunkChoice(index=said.choice, delta=delta, finish_reason=said.finish)


@dataclass
class _Draft:
    """One completion, as far as it has come."""

    content: str = ""
    reasoning: str = ""
    finish: FinishReason = "length"

    def add(self, said: CompletionDelta) -> None:
        self.content += said.content
        self.reasoning += said.reasoning
        self.finish = said.finish or self.finish

    def choice(self, index: int) -> CompletionChoice:
        message = AnswerMessage(content=self.content, reasoning_content=self.reasoning or None)
        return CompletionChoice(index=index, message=message, finish_reason=self.finish)


@dataclass
class _Counts:
    """Tokens so far."""

    num_prompt: int = 0
    num_new: int = 0

    def add(self, report: RequestStarted | CompletionDelta) -> None:
        if isinstance(report, RequestStarted):
            self.num_prompt = report.num_prompt_tokens
        else:
            self.num_new += report.num_tokens

    @property
    def usage(self) -> Usage:
        return Usage(
            prompt_tokens=self.num_prompt,
            completion_tokens=self.num_new,
            total_tokens=self.num_prompt + self.num_new,
        )
