"""Evaluations under the names that the routes of `/api/tunix` have always used."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from tunix_rt.base.records import Count, Record
from tunix_rt.core.evaluation.record import Evaluation
from tunix_rt.core.evaluation.scores import Estimate, GroupScores
from tunix_rt.models.types import EvaluationSummary

JudgeName = Literal["answer-checkers"]
"""What decides whether an answer is right. Another model's opinion never does."""

Percent = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]

_ESTIMATES = (
    "accuracy",
    "lenient_accuracy",
    "format_adherence",
    "step_correctness",
    "right_by_wrong_work",
)


class Judge(Record):
    """Who judged."""

    name: JudgeName = "answer-checkers"
    version: str
    """Versions of what decides a verdict: `checker-number 1, extractor 1`."""


class DetailedMetric(Record):
    """One share with its interval; `accuracy.core` is the accuracy of the section `core`."""

    name: str
    score: Share
    max_score: Literal[1] = 1
    details: Estimate


class RunEvaluation(Record):
    """An evaluation of a run. A verdict is a gate's to give: `POST /api/regression/check`."""

    evaluation_id: UUID
    run_id: str
    score: Percent | None = None
    """The accuracy in percent; left out where nothing could be scored."""
    primary_score: Share | None = None
    metrics: dict[str, float]
    detailed_metrics: tuple[DetailedMetric, ...]
    judge: Judge
    evaluated_at: datetime
    evaluation: Evaluation
    """The whole record."""


class Scorecard(Record):
    """How much a score rests on."""

    n_items: Count
    n_scored: Count
    n_skipped: Count
    """Failures of generation or of a checker: in no mean."""
    primary_score: Share | None = None
    low: Share | None = None
    high: Share | None = None
    """95 % interval of the primary score."""


class ModelScore(Record):
    """A row of the list of evaluations."""

    evaluation_id: UUID
    run_id: str | None = None
    """Left out for a model that no run of ours trained."""
    model_id: str
    """What a run started from; else the model itself."""
    dataset_key: str | None = None
    config_path: str | None = None
    """Name of the recipe."""
    eval_set: str
    fingerprint: str
    """Of the protocol: scores are comparable where it is the same."""
    score: Percent | None = None
    primary_score: Share | None = None
    metrics: dict[str, float]
    evaluated_at: datetime
    scorecard: Scorecard


def run_evaluation(evaluation: Evaluation) -> RunEvaluation:
    """An evaluation of a run, under the names of `/api/tunix`."""
    assert evaluation.model.run_id is not None
    detailed = tuple(_detailed_metrics(evaluation))
    versions = sorted(evaluation.protocol.versions.items())
    return RunEvaluation(
        evaluation_id=evaluation.evaluation_id,
        run_id=evaluation.model.run_id,
        score=_percent(evaluation.scores.primary_score),
        primary_score=evaluation.scores.primary_score,
        metrics={metric.name: metric.score for metric in detailed},
        detailed_metrics=detailed,
        judge=Judge(version=", ".join(f"{name} {version}" for name, version in versions)),
        evaluated_at=evaluation.created_at,
        evaluation=evaluation,
    )


def model_score(summary: EvaluationSummary) -> ModelScore:
    """A row, under the names of `/api/tunix`."""
    model = summary.model
    metrics = {"accuracy": summary.primary_score, "format_adherence": summary.format_adherence}
    return ModelScore(
        evaluation_id=summary.evaluation_id,
        run_id=model.run_id,
        model_id=model.base_model or model.name,
        dataset_key=model.dataset,
        config_path=model.recipe,
        eval_set=summary.evalset,
        fingerprint=summary.fingerprint,
        score=_percent(summary.primary_score),
        primary_score=summary.primary_score,
        metrics={name: value for name, value in metrics.items() if value is not None},
        evaluated_at=summary.created_at,
        scorecard=Scorecard(
            n_items=summary.num_items,
            n_scored=summary.num_scored,
            n_skipped=summary.num_unscored,
            primary_score=summary.primary_score,
            low=summary.low,
            high=summary.high,
        ),
    )


def _detailed_metrics(evaluation: Evaluation) -> Iterator[DetailedMetric]:
    scores = evaluation.scores
    for name in _ESTIMATES:
        yield from _metric(name, name, scores.overall)
    for section, group in scores.by_section.items():
        yield from _metric(f"accuracy.{section}", "accuracy", group)


def _metric(shown_name: str, name: str, group: GroupScores) -> Iterator[DetailedMetric]:
    estimate: Estimate | None = getattr(group, name)
    if estimate is not None:
        yield DetailedMetric(name=shown_name, score=estimate.value, details=estimate)


def _percent(share: float | None) -> float | None:
    return None if share is None else share * 100
