"""JSON lines between the server and a model process: requests one way, events the other."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from tunix_rt.base.errors import (
    ConflictError,
    DataError,
    DeviceError,
    DivergedError,
    DoesNotFitError,
    InvalidInputError,
    NotFoundError,
    ServingError,
    StorageError,
    TunixRTError,
)
from tunix_rt.base.records import Record
from tunix_rt.engines.types import Decoding
from tunix_rt.serving.types import ChatMessage, FinishReason


class GenerateRequest(Record):
    """Continue a conversation, `decoding.num_samples` times."""

    kind: Literal["write"] = "write"
    order_id: int
    messages: tuple[ChatMessage, ...]
    decoding: Decoding
    stops: tuple[str, ...] = ()


class CancelRequest(Record):
    """The client has disconnected."""

    kind: Literal["drop"] = "drop"
    order_id: int


Request = Annotated[GenerateRequest | CancelRequest, Field(discriminator="kind")]


class Ready(Record):
    """The model is loaded."""

    kind: Literal["ready"] = "ready"
    device: str


class RequestStarted(Record):
    """A request was accepted and its prompt encoded."""

    kind: Literal["begun"] = "begun"
    order_id: int
    num_prompt_tokens: int


class CompletionDelta(Record):
    """New text of one completion."""

    kind: Literal["said"] = "said"
    order_id: int
    choice: int
    reasoning: str = ""
    content: str = ""
    num_tokens: int = 0
    """Tokens since the previous delta, including an end-of-turn token."""
    finish: FinishReason | None = None
    """Set in the last delta of a completion."""


class Failed(Record):
    """A request failed or, without an id, the model cannot be loaded."""

    kind: Literal["failed"] = "failed"
    order_id: int | None = None
    detail: str
    next_step: str
    code: str

    @classmethod
    def of(cls, error: TunixRTError, order_id: int | None = None) -> "Failed":
        """The event that reports this error."""
        return cls(order_id=order_id, detail=error.detail, next_step=error.next_step, code=error.code)

    def error(self) -> TunixRTError:
        """The reported error; a ServingError when its type cannot be rebuilt from its texts alone."""
        return _BY_CODE.get(self.code, ServingError)(self.detail, next_step=self.next_step)


Event = Annotated[Ready | RequestStarted | CompletionDelta | Failed, Field(discriminator="kind")]

REQUESTS: TypeAdapter[Request] = TypeAdapter(Request)
EVENTS: TypeAdapter[Event] = TypeAdapter(Event)

_BY_CODE: dict[str, type[TunixRTError]] = {
    error.code: error
    for error in (
        InvalidInputError,
        NotFoundError,
        ConflictError,
        DataError,
        DeviceError,
        DoesNotFitError,
        DivergedError,
        StorageError,
    )
}


def to_line(message: Record) -> bytes:
    """The message as one JSON line."""
    return message.model_dump_json(exclude_none=True).encode() + b"\n"


@dataclass
class PartialCompletion:
    """The text of one completion so far."""

    reasoning: str = ""
    content: str = ""
    num_tokens: int = 0
    finish: FinishReason | None = None
    """None until the model has finished, and for a completion that was stopped early."""

    def add(self, delta: CompletionDelta) -> None:
        """Append a delta."""
        self.reasoning += delta.reasoning
        self.content += delta.content
        self.num_tokens += delta.num_tokens
        self.finish = delta.finish or self.finish
