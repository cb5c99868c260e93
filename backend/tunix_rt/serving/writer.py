"""Conversations to streamed completions, for many callers at once."""

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
from tunix_rt.serving.splitter import CompletionPiece, CompletionSplitter, StopFinder, starts_in_reasoning
from tunix_rt.serving.types import ChatMessage, FinishReason
from tunix_rt.serving.wire import Begun, Failed, Said, WriteOrder

# Draws follow from the seed and the number of the choice alone: the same request gives the same text.
_PROMPT_KEY = "chat"
# Enough to see how a template's generation prompt ends.
_NUM_LAST_TOKENS = 8

_ERRORS: dict[FailureCode, tuple[type[TunixRTError], str]] = {
    "prompt-refused": (DataError, "Send other messages."),
    "prompt-too-long": (InvalidInputError, "Send fewer or shorter messages."),
    "out-of-memory": (DoesNotFitError, "Lower max_tokens, or serve the model on a larger device."),
    "non-finite": (DivergedError, "The weights are damaged or diverged; serve another version."),
    "not-text": (ServingError, "The weights do not go with their tokenizer; serve another version."),
}


@dataclass(eq=False)
class _Draft:
    """One completion that is being written."""

    order_id: int
    prompt: Prompt
    texts: TextStream
    stops: StopFinder
    splitter: CompletionSplitter
    num_unsaid: int = 0
    """Tokens that belong to no piece yet."""
    parts: list[CompletionPiece] = field(default_factory=list)

    def take(self, piece: TokenDelta) -> FinishReason | None:
        """Read a piece; the reason, if the completion has ended with it.

        Raises:
            TunixRTError: There will be no completion.
        """
        written = piece.completion
        if written is not None and written.failure is not None:
            raise _error(written.failure, written.detail)
        self.num_unsaid += len(piece.token_ids)
        self._read(self.texts.add(piece.token_ids))
        if written is not None and not self.stops.has_stopped:
            self._read(self.texts.finish())
        if self.stops.has_stopped:
            return self._ended("stop")
        if written is None:
            return None
        self.num_unsaid += written.has_ended
        return self._ended("stop" if written.has_ended else "length")

    def said(self, finish: FinishReason | None) -> list[Said]:
        """What has become certain, one piece for each change between reasoning and answer."""
        pieces = [
            Said(
                order_id=self.order_id,
                choice=self.prompt.sample,
                reasoning=part.text if part.kind == "reasoning" else "",
                content=part.text if part.kind == "content" else "",
            )
            for part in self.parts
        ]
        if finish is not None or (self.num_unsaid and pieces):
            last = pieces.pop() if pieces else Said(order_id=self.order_id, choice=self.prompt.sample)
            pieces.append(last.model_copy(update={"num_tokens": self.num_unsaid, "finish": finish}))
            self.num_unsaid = 0
        self.parts = []
        return pieces

    def _read(self, text: str | None) -> None:
        if text is None:
            raise _error("not-text", "The model wrote a token that its tokenizer does not have.")
        self.parts += self.splitter.feed(self.stops.feed(text))

    def _ended(self, finish: FinishReason) -> FinishReason:
        self.parts += [*self.splitter.feed(self.stops.finish()), *self.splitter.finish()]
        return finish


class ChatWriter:
    """A loaded model that carries out orders, as many at a time as its batches have rows."""

    def __init__(self, generator: Generator, *, max_rows: int) -> None:
        """Take a loaded model; `max_rows` completions are written side by side."""
        self._encoder = generator.encoder
        self._architecture = generator.source.architecture
        self._live = generator.stream(max_rows=max_rows)
        self._drafts: dict[int, _Draft] = {}

    @property
    def is_busy(self) -> bool:
        """Whether anything is left to write."""
        return self._live.is_busy

    def begin(self, order: WriteOrder) -> Begun | Failed:
        """Read an order; what it becomes is told by `advance`."""
        markup = self._encoder.markup
        try:
            token_ids = self._read(order)
        except TunixRTError as error:
            return Failed.of(error, order.order_id)
        end_of_prompt = decode(self._encoder, token_ids[-_NUM_LAST_TOKENS:]) or ""
        is_in_reasoning = starts_in_reasoning(end_of_prompt, markup)
        for sample in range(order.decoding.num_samples):
            prompt = Prompt(_PROMPT_KEY, token_ids, sample)
            self._drafts[id(prompt)] = _Draft(
                order.order_id,
                prompt,
                TextStream(self._encoder),
                StopFinder(order.stops),
                CompletionSplitter(markup, is_in_reasoning=is_in_reasoning),
            )
            self._live.add(prompt, order.decoding)
        return Begun(order_id=order.order_id, num_prompt_tokens=len(token_ids))

    def drop(self, order_id: int) -> None:
        """Write no more of an order; one that is not being written is no mistake."""
        for draft in [draft for draft in self._drafts.values() if draft.order_id == order_id]:
            self._forget(draft)

    def advance(self) -> list[Said | Failed]:
        """A few more tokens of everything, as texts."""
        reports: list[Said | Failed] = []
        for piece in self._live.advance():
            draft = self._drafts.get(id(piece.prompt))
            if draft is not None:
                reports += self._taken(draft, piece)
        return reports

    def _read(self, order: WriteOrder) -> list[int]:
        """The conversation as token ids; an error where the template or the model cannot read it."""
        markup = self._encoder.markup
        token_ids = self._encoder.encode_messages([message.as_written(markup) for message in order.messages])
        failed = prompt_failure(Prompt(_PROMPT_KEY, token_ids), self._architecture)
        if failed is not None and failed.failure is not None:
            raise _error(failed.failure, failed.detail)
        return token_ids

    def _taken(self, draft: _Draft, piece: TokenDelta) -> list[Said] | list[Failed]:
        try:
            finish = draft.take(piece)
        except TunixRTError as error:
            self.drop(draft.order_id)
            return [Failed.of(error, draft.order_id)]
        if finish is not None:
            self._forget(draft)
        return draft.said(finish)

    def _forget(self, draft: _Draft) -> None:
        del self._drafts[id(draft.prompt)]
        self._live.drop(draft.prompt)


def _error(code: FailureCode, detail: str) -> TunixRTError:
    kind, next_step = _ERRORS[code]
    return kind(detail, next_step=next_step)


@dataclass
class Answer:
    """What the model has said so far."""

    reasoning: str = ""
    content: str = ""
    num_tokens: int = 0
    finish: FinishReason | None = None
    """None while it is being written, and when somebody stopped it."""

    def add(self, said: Said) -> None:
        """Take another piece."""
        self.reasoning += said.reasoning
        self.content += said.content
        self.num_tokens += said.num_tokens
        self.finish = said.finish

    @property
    def message(self) -> ChatMessage:
        """As the next turn sees it."""
        return ChatMessage(role="assistant", content=self.content, reasoning_content=self.reasoning or None)


class Chat:
    """Remembers what was said; every question is asked with all of it."""

    def __init__(self, writer: ChatWriter, decoding: Decoding, *, system: str | None = None) -> None:
        """Begin with an instruction, or with nothing."""
        self._writer = writer
        self._decoding = decoding
        self._beginning = () if system is None else (ChatMessage(role="system", content=system),)
        self._messages = self._beginning
        self._ids = itertools.count()

    def forget(self) -> None:
        """Begin anew."""
        self._messages = self._beginning

    def ask(self, question: str) -> PythonGenerator[Answer, None, None]:
        """The answer as it grows. Whoever stops listening stops it; what was said until then is remembered.

        Raises:
            TunixRTError: The model cannot answer this; the question is forgotten.
        """
        messages = (*self._messages, ChatMessage(role="user", content=question))
        order = WriteOrder(order_id=next(self._ids), messages=messages, decoding=self._decoding)
        begun = self._writer.begin(order)
        if isinstance(begun, Failed):
            raise begun.error()
        answer = Answer()
        try:
            yield from self._growing(answer)
        finally:
            self._writer.drop(order.order_id)
            if answer.num_tokens:
                self._messages = (*messages, answer.message)

    def _growing(self, answer: Answer) -> PythonGenerator[Answer, None, None]:
        while self._writer.is_busy:
            for report in self._writer.advance():
                if isinstance(report, Failed):
                    raise report.error()
                answer.add(report)
            yield answer
