"""What `/v1` answers: models, completions, and the chunks of a stream. What is not known is left out."""

from typing import Literal

from tunix_rt.base.records import Record

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
