"""An evaluation: eval set x model x protocol -> scores. `evaluation.json` and the API have this shape."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from tunix_rt.base.records import Count, Record
from tunix_rt.core.evaluation.protocol import Protocol
from tunix_rt.core.evaluation.scores import Scores
from tunix_rt.models.types import EvaluatedModel


class GenerationFigures(Record):
    """How the texts were made."""

    engine: str
    device: str
    precision: str
    batch_size: Count | None = None
    """Texts written at a time, where that was asked for; else the engine chose."""
    num_new_tokens: Count
    seconds: Annotated[float, Field(ge=0)]
    """Spent generating, over every resume."""
    tokens_per_s: Annotated[float, Field(ge=0)]


class Evaluation(Record):
    """The record that anyone can re-score from `predictions.jsonl`."""

    evaluation_version: Literal["1"] = "1"
    evaluation_id: UUID
    created_at: datetime
    tunix_rt_version: str
    model: EvaluatedModel
    evalset: str
    """Name of the eval set."""
    num_items: Count
    protocol: Protocol
    fingerprint: str
    """Of the protocol."""
    scores: Scores
    generation: GenerationFigures | None = None
    """Left out where the texts came from elsewhere."""
    predictions_hash: str
    """SHA-256 of `predictions.jsonl`."""
    rescored_from: UUID | None = None
    """The evaluation whose texts were scored again."""
