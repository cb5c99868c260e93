"""Parity certificate and determinism report."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from tunix_rt.base.records import Record
from tunix_rt.engines.types import Platform
from tunix_rt.recipes.types import Override

Difference = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]


class RepeatedRun(Record):
    """Two runs of the same recipe with one engine on one platform, each in its own process."""

    engine: str
    platform: Platform
    packages: dict[str, str]
    """Versions of what decides the numbers."""
    losses: tuple[float, ...]
    """Of every step of the first run, before its update."""
    weights_sha256: tuple[str, str]
    """Of the exported weights of either run."""
    batches_equal: bool
    """Whether both were given the same bytes in every step."""
    num_equal_steps: Annotated[int, Field(ge=0)]
    """Steps before the first whose losses differ in any bit."""
    max_loss_difference: Difference
    max_weight_difference: Difference
    """Over every number of every exported tensor."""
    max_weight_difference_tensor: str
    """The tensor that has it."""
    num_weights: Count
    """Numbers that were compared."""

    @property
    def is_bit_equal(self) -> bool:
        """Whether losses and weights are the same to the last bit."""
        same_losses = self.num_equal_steps == len(self.losses)
        return self.batches_equal and same_losses and len(set(self.weights_sha256)) == 1


class DeterminismReport(Record):
    """Every installed engine on every available platform."""

    report_version: Literal["1"] = "1"
    created_at: datetime
    tunix_rt_version: str
    recipe_name: str
    recipe: dict[str, JsonValue]
    """Every value that ran."""
    overrides: tuple[Override, ...]
    """How that differs from the file, with the reasons."""
    num_steps: Count
    repeats: tuple[RepeatedRun, ...]

    @property
    def passed(self) -> bool:
        """Whether every engine repeats its run bit for bit on the CPU. Accelerators are only measured."""
        return all(one.is_bit_equal for one in self.repeats if one.platform == "cpu")

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values, with its verdicts."""
        repeats = [{**one.model_dump(mode="json"), "is_bit_equal": one.is_bit_equal} for one in self.repeats]
        return {**self.model_dump(mode="json"), "repeats": repeats, "passed": self.passed}


MAX_LOSS_DIFFERENCE = 1e-4
MAX_WEIGHT_DIFFERENCE = 1e-3


class ParityRun(Record):
    """What one engine did."""

    engine: str
    packages: dict[str, str]
    """Versions of what decides the numbers."""
    losses: tuple[float, ...]
    """Of every step, before its update."""
    batch_hashes: tuple[str, ...]
    """SHA-256 of the bytes of every step's batch."""


class ParityCertificate(Record):
    """How far two runs of one recipe are from each other, in float32 on the CPU."""

    certificate_version: Literal["1"] = "1"
    certificate_id: str
    created_at: datetime
    tunix_rt_version: str
    recipe_name: str
    recipe: dict[str, JsonValue]
    """Every value that ran."""
    overrides: tuple[Override, ...]
    """How that differs from the file, with the reasons."""
    dataset: str
    dataset_hash: str
    num_steps: Annotated[int, Field(ge=1)]
    runs: tuple[ParityRun, ParityRun]
    batches_equal: bool
    """Whether both were given the same bytes in every step."""
    max_loss_difference: Difference
    max_loss_difference_step: Annotated[int, Field(ge=1)]
    """The step that has it."""
    max_weight_difference: Difference
    """Over every number of every exported tensor."""
    max_weight_difference_tensor: str
    """The tensor that has it."""
    num_weights: Annotated[int, Field(ge=1)]
    """Numbers that were compared."""
    allowed_loss_difference: Difference = MAX_LOSS_DIFFERENCE
    allowed_weight_difference: Difference = MAX_WEIGHT_DIFFERENCE
    passed: bool

    def to_json(self) -> dict[str, Any]:
        """The content of the certificate's file."""
        return self.model_dump(mode="json")
