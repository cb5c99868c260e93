"""Messages between the server and a model process."""

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
    """Go on with a conversation; `decoding.num_samples` times."""

    kind: Literal["write"] = "write"
    order_id: int
    messages: tuple[ChatMessage, ...]
    decoding: Decoding
    stops: tuple[str, ...] = ()


class CancelRequest(Record):
    """Whoever asked has left."""

    kind: Literal["drop"] = "drop"
    order_id: int


Order = Annotated[GenerateRequest | CancelRequest, Field(discriminator="kind")]


class Ready(Record):
    """The model is loaded."""

    kind: Literal["ready"] = "ready"
    device: str


class RequestStarted(Record):
    """An order was read."""

    kind: Literal["begun"] = "begun"
    order_id: int
    num_prompt_tokens: int


class CompletionDelta(Record):
    """A piece of a completion."""

    kind: Literal["said"] = "said"
    order_id: int
    choice: int
    reasoning: str = ""
    content: str = ""
    num_tokens: int = 0
    """That this piece took; an end of the turn counts."""
    finish: FinishReason | None = None
    """Of its last piece."""


class Failed(Record):
    """An order cannot be carried out or, without one, the model cannot be loaded."""

    kind: Literal["failed"] = "failed"
    order_id: int | None = None
    detail: str
    next_step: str
    code: str

    @classmethod
    def of(cls, error: TunixRTError, order_id: int | None = None) -> "Failed":
        """An error, ready to travel."""
        return cls(order_id=order_id, detail=error.detail, next_step=error.next_step, code=error.code)

    def error(self) -> TunixRTError:
        """The error again; one that would need more than its words becomes a ServingError."""
        return _BY_CODE.get(self.code, ServingError)(self.detail, next_step=self.next_step)


Report = Annotated[Ready | RequestStarted | CompletionDelta | Failed, Field(discriminator="kind")]

REQUESTS: TypeAdapter[Order] = TypeAdapter(Order)
EVENTS: TypeAdapter[Report] = TypeAdapter(Report)

_FORWARDED: tuple[type[TunixRTError], ...] = (
    InvalidInputError,
    NotFoundError,
    ConflictError,
    DataError,
    DeviceError,
    DoesNotFitError,
    DivergedError,
    StorageError,
)
_BY_CODE = {kind.code: kind for kind in _FORWARDED}


def to_line(message: Record) -> bytes:
    """The message as a line."""
    return message.model_dump_json(exclude_none=True).encode() + b"\n"
