"""An evaluation: eval set x model x protocol -> scores. `evaluation.json` and the API have this shape."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from tunix_rt.base.records import Count, Record
from tunix_rt.core.evaluation.protocol import Protocol
from tunix_rt.core.evaluation.scores import Scores

ModelOrigin = Literal["run", "registry", "directory", "hub", "kaggle", "built-in", "predictions"]


class EvaluatedModel(Record):
    """What was evaluated, and where it comes from."""

    name: str
    """As it was asked for: a run id, a directory's name, a hub id; of a registered model `name:version`."""
    origin: ModelOrigin
    """`predictions`: texts that something else wrote; no model of ours ran."""
    weights: Literal["pretrained", "random"] = "pretrained"
    seed: Count | None = None
    """Of random weights."""
    revision: str | None = None
    """The commit on the hub."""
    weights_hash: str | None = None
    """SHA-256 over the weight files."""
    is_adapter: bool = False
    run_id: str | None = None
    base_model: str | None = None
    """What the run started from."""
    dataset: str | None = None
    dataset_hash: str | None = None
    recipe: str | None = None
    """Name of the recipe's file, without its ending."""

    @property
    def is_trained_here(self) -> bool:
        """A model of a run; anything else is a base model to compare with."""
        return self.run_id is not None


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


class EvaluationSummary(Record):
    """A row of the leaderboard."""

    evaluation_id: UUID
    created_at: datetime
    model: EvaluatedModel
    evalset: str
    evalset_hash: str
    fingerprint: str
    num_items: Count
    num_scored: Count
    num_unscored: Count
    primary_score: float | None = None
    low: float | None = None
    high: float | None = None
    format_adherence: float | None = None
    rescored_from: UUID | None = None
