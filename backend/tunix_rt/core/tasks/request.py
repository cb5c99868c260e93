"""What somebody asks a worker to do with a finished model. The body of `POST /api/tasks`."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from tunix_rt.base.records import Record, Word
from tunix_rt.engines.types import Decoding
from tunix_rt.models.types import ExportForm

TaskKind = Literal["evaluation", "export"]
ModelWord = Annotated[str, Field(min_length=1, max_length=256)]


class _Asked(Record):
    model_config = ConfigDict(use_attribute_docstrings=True)

    engine: Literal["auto", "jax", "torch"] = "auto"
    device: Literal["auto", "cpu", "gpu", "tpu"] = "auto"


class EvaluateModel(_Asked):
    """Let a model answer an eval set, and judge what it writes."""

    kind: Literal["evaluation"]
    model: ModelWord
    """A registered model (`name`, `name@alias`, `name:version`) or the id of a run. Never a path."""
    eval_set: Word
    """Name of a shipped eval set or of one in the home's `evalsets/`."""
    decoding: Decoding = Decoding()
    is_lenient: bool = False
    """Also look for answers in phrases and last numbers, counted apart."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Only the first items: another eval set, and so not comparable with the whole one."""


class ExportModel(_Asked):
    """Write a registered model for other programs, and prove that it is the same."""

    kind: Literal["export"]
    model: ModelWord
    """A registered model (`name`, `name@alias`, `name:version`)."""
    form: ExportForm
    """merged: a whole model; adapter: as PEFT loads it; zip: what was registered."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of merged weights. auto: as the base model has them."""


TaskRequest = Annotated[EvaluateModel | ExportModel, Field(discriminator="kind")]
