"""What an evaluation was asked to do, and the batches of texts that it has done so far."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from tunix_rt.base.records import Count, Record
from tunix_rt.core.evaluation.protocol import Protocol
from tunix_rt.core.evaluation.record import GenerationFigures
from tunix_rt.models.types import EvaluatedModel


class EvaluationStart(Record):
    """Content of `request.json`: whoever goes on with an evaluation must ask for the same."""

    request_version: Literal["1"] = "1"
    evaluation_id: UUID
    created_at: datetime
    model: EvaluatedModel
    evalset: str
    protocol: Protocol
    rescored_from: UUID | None = None
    """The evaluation whose texts are scored again."""

    def differences(self, other: "EvaluationStart") -> tuple[str, ...]:
        """What the two do not share, one line each; empty when one may go on with the other."""
        differences = list(self.protocol.differences(other.protocol))
        for name, mine in self.model:
            theirs = getattr(other.model, name)
            if mine != theirs:
                differences.append(f"model.{name}: {mine} / {theirs}")
        if self.rescored_from != other.rescored_from:
            differences.append(f"rescored_from: {self.rescored_from} / {other.rescored_from}")
        return tuple(differences)


class FinishedBatch(Record):
    """A line of `batches.jsonl`: texts that ended together, where they were written and how fast."""

    engine: str
    device: str
    precision: str
    batch_size: Count | None = None
    """Texts to be written at a time, where that was asked for."""
    num_generations: Count
    num_new_tokens: Count
    seconds: Annotated[float, Field(ge=0)]


def generation_figures(batches: list[FinishedBatch], *, num_new_tokens: int) -> GenerationFigures | None:
    """How the texts were made; None when none were made here.

    Args:
        batches: of every process that took part, in order.
        num_new_tokens: of all texts. A process that is killed loses the line of a batch, never its texts.
    """
    if not batches:
        return None
    seconds = sum(batch.seconds for batch in batches)
    num_timed_tokens = sum(batch.num_new_tokens for batch in batches)
    last = batches[-1]
    return GenerationFigures(
        engine=last.engine,
        device=last.device,
        precision=last.precision,
        batch_size=last.batch_size,
        num_new_tokens=num_new_tokens,
        seconds=round(seconds, 3),
        tokens_per_s=round(num_timed_tokens / seconds, 1) if seconds else 0.0,
    )
