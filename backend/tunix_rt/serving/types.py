"""OpenAI chat requests and completions; preference votes."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tunix_rt.base.records import Record, StorableText
from tunix_rt.base.statistics import Share
from tunix_rt.engines.types import Decoding
from tunix_rt.traces.types import MARKUPS, MarkupStyle

FinishReason = Literal["stop", "length"]
"""`stop`: the model ended its turn or generated a stop string. `length`: the token limit was reached."""


class ServedModel(Record):
    """A model that can be used for completions."""

    id: str
    object: Literal["model"] = "model"
    created: int
    """Seconds since 1970."""
    owned_by: Literal["tunix-rt"] = "tunix-rt"
    root: str
    """The weights that the name currently refers to: `name:version` in the registry, or a run id."""
    is_loaded: bool = False
    """Whether it can answer without loading; otherwise the first request waits for it to load."""


class ServedModels(Record):
    """All models that can be used."""

    object: Literal["list"] = "list"
    data: tuple[ServedModel, ...]


class Usage(Record):
    """Token counts of a request."""

    prompt_tokens: int
    completion_tokens: int
    """Over all completions, including end-of-turn tokens."""
    total_tokens: int


class AnswerMessage(Record):
    """The message the model generated."""

    role: Literal["assistant"] = "assistant"
    content: str
    reasoning_content: str | None = None
    """The reasoning before the answer, separated by the markup the model was trained with."""


class CompletionChoice(Record):
    """One completion."""

    index: int
    message: AnswerMessage
    finish_reason: FinishReason


class ChatCompletion(Record):
    """The response to a request without streaming."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    """The name the client sent."""
    choices: tuple[CompletionChoice, ...]
    usage: Usage


class Delta(Record):
    """Text added to a message."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    reasoning_content: str | None = None


class ChunkChoice(Record):
    """A delta of one completion."""

    index: int
    delta: Delta
    finish_reason: FinishReason | None = None


class ChatCompletionChunk(Record):
    """One chunk of a stream."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: tuple[ChunkChoice, ...]
    usage: Usage | None = None
    """Only in the last chunk, which has no choices, and only when requested."""


DEFAULT_MAX_TOKENS = 1024
"""Default per completion: a small model that never ends its turn would generate for minutes."""


Count = Annotated[int, Field(ge=1, le=131_072)]
Stop = Annotated[StorableText, Field(min_length=1, max_length=256)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


class TextPart(_Body):
    """A part of a message. Only text is supported."""

    type: Literal["text"]
    text: StorableText


class ChatMessage(_Body):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: StorableText | tuple[TextPart, ...]
    reasoning_content: StorableText | None = None
    """Reasoning of an earlier answer, shown to the model again. Most clients omit it."""

    @model_validator(mode="after")
    def _only_assistant_reasons(self) -> Self:
        if self.reasoning_content is not None and self.role != "assistant":
            raise ValueError("reasoning_content is only allowed in assistant messages")
        return self

    def to_template(self, style: MarkupStyle) -> dict[str, str]:
        """The message for a chat template, with reasoning and answer in the model's own markup."""
        content = self.content
        text = content if isinstance(content, str) else "".join(part.text for part in content)
        if self.reasoning_content is not None:
            markup = MARKUPS[style]
            parts = [markup.before_reasoning, self.reasoning_content, markup.between, text]
            text = "".join([*parts, markup.after_answer])
        return {"role": self.role, "content": text}


class StreamOptions(_Body):
    """What a stream contains besides text."""

    include_usage: bool = False
    """Send a last chunk with the token counts."""


class ChatRequest(_Body):
    """A conversation for a model to continue."""

    model: Annotated[StorableText, Field(min_length=1, max_length=256)]
    """A registered model (`name`, `name@alias`, `name:version`) or the id of a finished run. Never a path."""
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=1_000)]
    max_tokens: Count | None = None
    """Per completion. Default: 1024, or what remains of the model's context."""
    max_completion_tokens: Count | None = None
    """Alias of `max_tokens`."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """0 decodes greedily. Default: 1."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Sample from the most likely tokens whose probabilities sum to this value. Default: 1."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    """Seed of the sampling. Default: a new seed for every request."""
    n: Annotated[int, Field(ge=1, le=16)] | None = None
    """Number of completions. Default: 1."""
    stop: Stop | Annotated[tuple[Stop, ...], Field(max_length=4)] | None = None
    """Stop strings: a completion ends before the first of them."""
    stream: bool | None = None
    """Stream the completion while it is generated."""
    stream_options: StreamOptions | None = None

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        limits = {self.max_tokens, self.max_completion_tokens} - {None}
        if len(limits) > 1:
            raise ValueError("max_tokens and max_completion_tokens are aliases but differ; send only one")
        if self.stream_options is not None and not self.stream:
            raise ValueError("stream_options needs stream: true")
        if self.temperature == 0 and (self.n or 1) > 1:
            raise ValueError("n above 1 needs a temperature above 0: greedy completions are identical")
        if self.temperature == 0 and (self.top_p or 1) < 1:
            raise ValueError("top_p below 1 needs a temperature above 0")
        return self

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings."""
        if self.stop is None:
            return ()
        return (self.stop,) if isinstance(self.stop, str) else self.stop

    def decoding(self, fresh_seed: int) -> Decoding:
        """The decoding parameters; `fresh_seed` is used when the request has no seed."""
        return Decoding(
            temperature=1.0 if self.temperature is None else self.temperature,
            top_p=1.0 if self.top_p is None else self.top_p,
            num_samples=self.n or 1,
            seed=fresh_seed if self.seed is None else self.seed,
            max_new_tokens=self.max_tokens or self.max_completion_tokens or DEFAULT_MAX_TOKENS,
        )


PreferredSide = Literal["a", "b", "tie", "neither"]
"""`tie`: both are good. `neither`: both are bad."""
Answer = Annotated[StorableText, Field(max_length=200_000)]


class Candidate(Record):
    """One of the two compared answers."""

    model: Annotated[StorableText, Field(min_length=1, max_length=256)]
    """`name:version` in the registry or a run id: permanent names, not aliases."""
    content: Answer
    reasoning_content: Answer | None = None


class NewPreference(Record):
    """The body of `POST /api/preferences`."""

    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=1_000)]
    """The conversation that both models continued."""
    a: Candidate
    b: Candidate
    choice: PreferredSide


class Preference(NewPreference):
    """A stored vote."""

    id: UUID
    created_at: datetime


class PairTally(Record):
    """The result between two models over all votes."""

    model: str
    other: str
    wins: Share
    """Share of votes for `model` among votes that chose one of the two."""
    num_ties: int
    num_neither: int
