"""Generate streamed completions for many conversations at once."""

import itertools
from collections.abc import Generator as PythonGenerator
from dataclasses import dataclass, field

from tunix_rt.base.errors import (
    DataError,
    DivergedError,
    DoesNotFitError,
    InvalidInputError,
    ServingError,
    TunixRTError,
)
from tunix_rt.engines.generation.base import Generator, Prompt, TokenDelta, prompt_failure
from tunix_rt.engines.generation.text import TextStream, decode
from tunix_rt.engines.types import Decoding, FailureCode
from tunix_rt.serving.splitter import CompletionPart, CompletionSplitter, StopFinder, starts_in_reasoning
from tunix_rt.serving.types import ChatMessage, FinishReason
from tunix_rt.serving.wire import CompletionDelta, Failed, GenerateRequest, PartialCompletion, RequestStarted

# Sampling depends only on the seed and the index of the choice: the same request gives the same text.
_PROMPT_KEY = "chat"
# Enough to recognize how the generation prompt of a template ends.
_NUM_LAST_TOKENS = 8

_ERRORS: dict[FailureCode, tuple[type[TunixRTError], str]] = {
    "prompt-refused": (DataError, "Send other messages."),
    "prompt-too-long": (InvalidInputError, "Send fewer or shorter messages."),
    "out-of-memory": (DoesNotFitError, "Lower max_tokens, or serve the model on a larger device."),
    "non-finite": (DivergedError, "The weights are damaged or diverged; serve another version."),
    "not-text": (ServingError, "The weights do not match their tokenizer; serve another version."),
}


@dataclass(eq=False)
class _ActiveCompletion:
    """One completion that is being generated."""

    order_id: int
    prompt: Prompt
    texts: TextStream
    stops: StopFinder
    splitter: CompletionSplitter
    num_unreported: int = 0
    """Tokens that no delta has reported yet."""
    parts: list[CompletionPart] = field(default_factory=list)

    def take(self, piece: TokenDelta) -> FinishReason | None:
        """Add tokens; returns the finish reason once the completion is complete.

        Raises:
            TunixRTError: Generation failed.
        """
        written = piece.completion
        if written is not None and written.failure is not None:
            raise _error(written.failure, written.detail)
        self.num_unreported += len(piece.token_ids)
        self._add_text(self.texts.add(piece.token_ids))
        if written is not None and not self.stops.has_stopped:
            self._add_text(self.texts.finish())
        if written is None and not self.stops.has_stopped:
            return None
        self.parts += [*self.splitter.feed(self.stops.finish()), *self.splitter.finish()]
        if self.stops.has_stopped or written is None:
            return "stop"
        self.num_unreported += written.has_ended
        return "stop" if written.has_ended else "length"

    def deltas(self, finish: FinishReason | None) -> list[CompletionDelta]:
        """The text that is final, as one delta per switch between reasoning and answer."""
        empty = CompletionDelta(order_id=self.order_id, choice=self.prompt.sample)
        deltas = [empty.model_copy(update={part.kind: part.text}) for part in self.parts]
        if finish is not None or (self.num_unreported and deltas):
            last = deltas.pop() if deltas else empty
            deltas.append(last.model_copy(update={"num_tokens": self.num_unreported, "finish": finish}))
            self.num_unreported = 0
        self.parts = []
        return deltas

    def _add_text(self, text: str | None) -> None:
        if text is None:
            raise _error("not-text", "The model generated a token that its tokenizer does not have.")
        self.parts += self.splitter.feed(self.stops.feed(text))


class ChatBatcher:
    """Generates for many requests at once with one loaded model."""

    def __init__(self, generator: Generator, *, max_rows: int) -> None:
        """Use a loaded model; up to `max_rows` completions share a batch, more wait for a free row."""
        self._encoder = generator.encoder
        self._architecture = generator.source.architecture
        self._live = generator.stream(max_rows=max_rows)
        self._active: dict[int, _ActiveCompletion] = {}

    @property
    def is_busy(self) -> bool:
        """Whether any completion is unfinished."""
        return self._live.is_busy

    def add(self, request: GenerateRequest) -> RequestStarted | Failed:
        """Encode a request and queue its completions; `step` generates them."""
        markup = self._encoder.markup
        try:
            token_ids = self._encoder.encode_messages([one.to_template(markup) for one in request.messages])
            failed = prompt_failure(Prompt(_PROMPT_KEY, token_ids), self._architecture)
            if failed is not None and failed.failure is not None:
                raise _error(failed.failure, failed.detail)
        except TunixRTError as error:
            return Failed.of(error, request.order_id)
        end_of_prompt = decode(self._encoder, token_ids[-_NUM_LAST_TOKENS:]) or ""
        is_in_reasoning = starts_in_reasoning(end_of_prompt, markup)
        for sample in range(request.decoding.num_samples):
            prompt = Prompt(_PROMPT_KEY, token_ids, sample)
            self._active[id(prompt)] = _ActiveCompletion(
                request.order_id,
                prompt,
                TextStream(self._encoder),
                StopFinder(request.stops),
                CompletionSplitter(markup, is_in_reasoning=is_in_reasoning),
            )
            self._live.add(prompt, request.decoding)
        return RequestStarted(order_id=request.order_id, num_prompt_tokens=len(token_ids))

    def cancel(self, order_id: int) -> None:
        """Stop generating for a request; an unknown or finished one is ignored."""
        for completion in [one for one in self._active.values() if one.order_id == order_id]:
            self._remove(completion)

    def step(self) -> list[CompletionDelta | Failed]:
        """Generate a few more tokens of every completion."""
        events: list[CompletionDelta | Failed] = []
        for piece in self._live.advance():
            completion = self._active.get(id(piece.prompt))
            if completion is None:
                continue
            try:
                finish = completion.take(piece)
            except TunixRTError as error:
                self.cancel(completion.order_id)
                events.append(Failed.of(error, completion.order_id))
                continue
            if finish is not None:
                self._remove(completion)
            events += completion.deltas(finish)
        return events

    def _remove(self, completion: _ActiveCompletion) -> None:
        del self._active[id(completion.prompt)]
        self._live.drop(completion.prompt)


def _error(code: FailureCode, detail: str) -> TunixRTError:
    kind, next_step = _ERRORS[code]
    return kind(detail, next_step=next_step)


class ChatSession:
    """A conversation; every question is sent together with all earlier messages."""

    def __init__(self, batcher: ChatBatcher, decoding: Decoding, *, system: str | None = None) -> None:
        """Start a conversation, optionally with a system message."""
        self._batcher = batcher
        self._decoding = decoding
        self._opening = () if system is None else (ChatMessage(role="system", content=system),)
        self._messages = self._opening
        self._ids = itertools.count()

    def reset(self) -> None:
        """Forget everything but the system message."""
        self._messages = self._opening

    def ask(self, question: str) -> PythonGenerator[PartialCompletion, None, None]:
        """Yield the answer as it grows. Closing the generator stops it and keeps the partial answer.

        Raises:
            TunixRTError: The model cannot answer; the question is not added to the conversation.
        """
        messages = (*self._messages, ChatMessage(role="user", content=question))
        request = GenerateRequest(order_id=next(self._ids), messages=messages, decoding=self._decoding)
        started = self._batcher.add(request)
        if isinstance(started, Failed):
            raise started.error()
        answer = PartialCompletion()
        try:
            while self._batcher.is_busy:
                for event in self._batcher.step():
                    if isinstance(event, Failed):
                        raise event.error()
                    answer.add(event)
                yield answer
        finally:
            self._batcher.cancel(request.order_id)
            if answer.num_tokens:
                reasoning = answer.reasoning or None
                reply = ChatMessage(role="assistant", content=answer.content, reasoning_content=reasoning)
                self._messages = (*messages, reply)
