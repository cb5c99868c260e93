"""OpenAI request and completion shapes; preferences."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tunix_rt.base.records import Record, StorableText
from tunix_rt.base.statistics import Share
from tunix_rt.engines.types import Decoding
from tunix_rt.traces.types import DEFAULT_MARKUP, MARKUPS, MarkupStyle

FinishReason = Literal["stop", "length"]
"""`stop`: the model ended its turn, or wrote a stop text. `length`: it was cut off."""


class ServedModel(Record):
    """A model that can be asked."""

    id: str
    object: Literal["model"] = "model"
    created: int
    """Seconds since 1970."""
    owned_by: Literal["tunix-rt"] = "tunix-rt"
    root: str
    """The weights that the name means now: `name:version` of the registry, or the id of a run."""
    is_loaded: bool = False
    """Whether it answers at once; else the first request waits until it is loaded."""


class ServedModels(Record):
    """All of them."""

    object: Literal["list"] = "list"
    data: tuple[ServedModel, ...]


class Usage(Record):
    """Tokens of a request."""

    prompt_tokens: int
    completion_tokens: int
    """Of all completions together, the ends of turns included."""
    total_tokens: int


class AnswerMessage(Record):
    """What the model says."""

    role: Literal["assistant"] = "assistant"
    content: str
    reasoning_content: str | None = None
    """What it wrote before the answer, by the markup that it was trained with."""


class CompletionChoice(Record):
    """One completion."""

    index: int
    message: AnswerMessage
    finish_reason: FinishReason


class ChatCompletion(Record):
    """The answer to a request that does not stream."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    """As the client named it."""
    choices: tuple[CompletionChoice, ...]
    usage: Usage


class Delta(Record):
    """What a message has gained."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    reasoning_content: str | None = None


class ChunkChoice(Record):
    """A piece of one completion."""

    index: int
    delta: Delta
    finish_reason: FinishReason | None = None


class ChatCompletionChunk(Record):
    """A piece of a stream."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: tuple[ChunkChoice, ...]
    usage: Usage | None = None
    """In the last chunk, which has no choices, when the client asked for it."""


DEFAULT_MAX_TOKENS = 1024
"""Of a completion when nobody says: a small model that does not end its turn would write for minutes."""
MAX_STOPS = 4
MAX_CHOICES = 16

Count = Annotated[int, Field(ge=1, le=131_072)]
Stop = Annotated[StorableText, Field(min_length=1, max_length=256)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


class TextPart(_Body):
    """A piece of a message. Models here read text only."""

    type: Literal["text"]
    text: StorableText


class ChatMessage(_Body):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: StorableText | tuple[TextPart, ...]
    reasoning_content: StorableText | None = None
    """Of an earlier answer: the model then sees its own reasoning too. Most clients leave it out."""

    @model_validator(mode="after")
    def _only_assistant_reasons(self) -> Self:
        if self.reasoning_content is not None and self.role != "assistant":
            raise ValueError("reasoning_content belongs to messages of the assistant")
        return self

    @property
    def text(self) -> str:
        """The content, its parts joined."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content)

    def to_template(self, style: MarkupStyle) -> dict[str, str]:
        """The message as chat templates take it; reasoning and answer stand in the model's own markup."""
        if self.reasoning_content is None:
            return {"role": self.role, "content": self.text}
        markup = MARKUPS[style]
        parts = [markup.before_reasoning, self.reasoning_content, markup.between]
        return {"role": self.role, "content": "".join([*parts, self.text, markup.after_answer])}


class StreamOptions(_Body):
    """What a stream carries besides the text."""

    include_usage: bool = False
    """Send a last chunk with the numbers of tokens."""


class ChatRequest(_Body):
    """A conversation that a model goes on with."""

    model: Annotated[StorableText, Field(min_length=1, max_length=256)]
    """A registered model (`name`, `name@alias`, `name:version`) or the id of a finished run. Never a path."""
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=1_000)]
    max_tokens: Count | None = None
    """Of one completion. Default: 1024, or what the model's context leaves."""
    max_completion_tokens: Count | None = None
    """Another name of `max_tokens`."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """0 takes the most likely token. Default: 1."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Draw from the most likely tokens that together have this probability. Default: 1."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    """Decides every draw. Default: another one for every request."""
    n: Annotated[int, Field(ge=1, le=MAX_CHOICES)] | None = None
    """Completions of the same conversation. Default: 1."""
    stop: Stop | Annotated[tuple[Stop, ...], Field(max_length=MAX_STOPS)] | None = None
    """Texts at which a completion is cut; they are not part of it."""
    stream: bool | None = None
    """Send the completion while it is written."""
    stream_options: StreamOptions | None = None

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        limits = {self.max_tokens, self.max_completion_tokens} - {None}
        if len(limits) > 1:
            raise ValueError("max_tokens and max_completion_tokens mean the same, and differ; send one")
        if self.stream_options is not None and not self.stream:
            raise ValueError("stream_options needs stream: true")
        if self.temperature == 0 and (self.n or 1) > 1:
            raise ValueError("n above 1 needs a temperature above 0: greedy completions are all the same")
        if self.temperature == 0 and (self.top_p or 1) < 1:
            raise ValueError("top_p below 1 needs a temperature above 0")
        return self

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts at which completions are cut."""
        if self.stop is None:
            return ()
        return (self.stop,) if isinstance(self.stop, str) else self.stop

    @property
    def includes_usage(self) -> bool:
        """Whether a stream ends with the numbers of tokens."""
        return self.stream_options is not None and self.stream_options.include_usage

    def decoding(self, fresh_seed: int) -> Decoding:
        """How tokens are chosen; `fresh_seed` where the client leaves the draws to us."""
        return Decoding(
            temperature=1.0 if self.temperature is None else self.temperature,
            top_p=1.0 if self.top_p is None else self.top_p,
            num_samples=self.n or 1,
            seed=fresh_seed if self.seed is None else self.seed,
            max_new_tokens=self.max_tokens or self.max_completion_tokens or DEFAULT_MAX_TOKENS,
        )


MAX_ANSWER_CHARS = 200_000

PreferredSide = Literal["a", "b", "tie", "neither"]
"""`tie`: both are good. `neither`: both are bad."""
Answer = Annotated[StorableText, Field(max_length=MAX_ANSWER_CHARS)]


class Candidate(Record):
    """One of the two answers."""

    model: Annotated[StorableText, Field(min_length=1, max_length=256)]
    """`name:version` of the registry or the id of a run: weights, not a name that moves."""
    content: Answer
    reasoning_content: Answer | None = None


class NewPreference(Record):
    """The body of `POST /api/preferences`."""

    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=1_000)]
    """The conversation that both went on with."""
    a: Candidate
    b: Candidate
    choice: PreferredSide


class Preference(NewPreference):
    """A vote that is kept."""

    id: UUID
    created_at: datetime


class PairTally(Record):
    """How two models stand against each other, over all votes."""

    model: str
    other: str
    wins: Share
    """Votes for `model`, of those that chose one of the two."""
    num_ties: int
    num_neither: int


def preference_line(vote: Preference) -> dict[str, Any] | None:
    """`{"prompt", "chosen", "rejected"}` as conversations, as TRL reads them; None if neither was chosen."""
    if vote.choice not in ("a", "b"):
        return None
    chosen, rejected = (vote.a, vote.b) if vote.choice == "a" else (vote.b, vote.a)
    return {
        "prompt": [message.to_template(DEFAULT_MARKUP) for message in vote.messages],
        "chosen": [_turn(chosen)],
        "rejected": [_turn(rejected)],
        "chosen_model": chosen.model,
        "rejected_model": rejected.model,
    }


def _turn(candidate: Candidate) -> dict[str, str]:
    turn = ChatMessage(
        role="assistant", content=candidate.content, reasoning_content=candidate.reasoning_content
    )
    return turn.to_template(DEFAULT_MARKUP)
