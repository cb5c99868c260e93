"""Engine and device names, decoding parameters, device reports."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from tunix_rt.base.records import Count, Record

Platform = Literal["cpu", "gpu", "tpu"]


class DoctorProblem(Record):
    """A device or engine that is present and does not work."""

    detail: str
    next_step: str


class DeviceReport(Record):
    """Devices of one kind, as an engine sees them."""

    platform: Platform
    kind: str
    """E.g. `NVIDIA H200`."""
    num_devices: Count
    memory_bytes: Count | None = None
    """What one of them offers."""


class Decoding(Record):
    """How tokens are chosen."""

    temperature: Annotated[float, Field(ge=0, le=10)] = 0.0
    """0 takes the most likely token (greedy); above, tokens are drawn."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Draw from the most likely tokens that together have this probability."""
    num_samples: Annotated[int, Field(ge=1, le=1000)] = 1
    """Completions per item."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Decides every draw. A sample depends on the seed, the item and its number, never on its batch."""
    max_new_tokens: Annotated[int, Field(ge=1, le=131_072)] = 512
    """A completion that reaches it without ending its turn is cut off."""

    @model_validator(mode="after")
    def _draws_make_sense(self) -> "Decoding":
        if self.temperature == 0 and self.num_samples > 1:
            raise ValueError("num_samples above 1 needs a temperature above 0: greedy ones are all the same")
        if self.temperature == 0 and self.top_p < 1:
            raise ValueError("top_p needs a temperature above 0")
        return self


FailureCode = Literal["prompt-too-long", "prompt-refused", "out-of-memory", "non-finite", "not-text"]

DeviceName = Literal["auto", "cpu", "gpu", "tpu"]
EngineName = Literal["jax", "torch"]


@dataclass(frozen=True)
class DeviceRequest:
    """Which device the run should use."""

    name: DeviceName = "auto"
    index: int | None = None
    """One device of several. None: all of them."""
