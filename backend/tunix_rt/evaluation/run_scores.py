"""Evaluations of runs, in the shapes of /api/tunix."""

from collections.abc import Iterator
from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.base.records import Count, Pagination, Record, Word, pagination
from tunix_rt.engines.training.run_dir import JOIN_WAIT_S, RunDir, read_manifest
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.rescore import rescore
from tunix_rt.evaluation.service import add_directory
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import Estimate, Evaluation, EvaluationFilter, GroupScores
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


class EvaluateRun(BaseModel):
    """Which texts of a run to judge, and by what."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    eval_set: Word | None = None
    """The texts that were written for this eval set; else the newest ones."""
    judge_override: JudgeName | None = None
    """There is one judge; an unknown one is refused, never substituted."""


class ScoreFilters(BaseModel):
    """What a list of scores was asked for."""

    model_config = ConfigDict(frozen=True)
    dataset_key: str | None = None
    model_id: str | None = None
    config_path: str | None = None
    eval_set: str | None = None
    date_from: date | datetime | None = None
    date_to: date | datetime | None = None


class ModelScoreList(BaseModel):
    """A page of scores, best first."""

    model_config = ConfigDict(frozen=True)
    data: tuple[ModelScore, ...]
    pagination: Pagination
    filters: ScoreFilters


def evaluate_run(home: Home, run_id: str, request: EvaluateRun) -> RunEvaluation:
    """Judge the texts that a run's model has written with the present extractor and checkers.

    Raises:
        NotFoundError: there is no such run.
        ConflictError: the run did not succeed, or its model has not written anything yet.
    """
    run_dir = RunDir(home.settings.runs_dir / run_id)
    _require_success(home, run_dir)
    written = _with_texts(home, run_dir, request.eval_set)
    if written is None:
        evalset = request.eval_set or "eval_v2"
        raise ConflictError(
            f"The model of the run {run_id} has no stored answers"
            + (f" to the eval set {request.eval_set!r}." if request.eval_set else "."),
            next_step=f"Let it answer: tunix-rt eval {run_id} --eval-set {evalset}",
        )
    return run_evaluation(rescore(home, written))


def newest_evaluation(home: Home, run_id: str) -> RunEvaluation:
    """The newest stored evaluation of a run, or NotFoundError."""
    found = EvaluationRepository(home.database).newest_of_run(run_id)
    if found is None:
        raise NotFoundError(
            f"There is no evaluation of a run {run_id!r}.",
            next_step=f"Make one: tunix-rt eval {run_id} --eval-set eval_v2",
        )
    return run_evaluation(found)


def list_scores(home: Home, criteria: EvaluationFilter, *, limit: int, offset: int) -> ModelScoreList:
    """A page of the scores of every model, best first; those without a score last."""
    page = EvaluationRepository(home.database).list(criteria, limit=limit, offset=offset, order="best")
    return ModelScoreList(
        data=tuple(map(model_score, page.data)),
        pagination=pagination(limit, offset, len(page.data), page.total),
        filters=ScoreFilters(
            dataset_key=criteria.dataset,
            model_id=criteria.model,
            config_path=criteria.recipe,
            eval_set=criteria.evalset,
            date_from=criteria.date_from,
            date_to=criteria.date_to,
        ),
    )


def _require_success(home: Home, run_dir: RunDir) -> None:
    """A run whose directory lies elsewhere is known by its evaluations."""
    if not run_dir.path.is_dir():
        if EvaluationRepository(home.database).newest_of_run(run_dir.run_id) is None:
            raise NotFoundError(
                f"There is no run {run_dir.run_id!r}.", next_step="Train one: tunix-rt train RECIPE"
            )
        return
    manifest = read_manifest(run_dir)
    if manifest is None or manifest.status != "succeeded":
        raise ConflictError(
            f"The run {run_dir.run_id} {_state(manifest)}: there is no finished model to judge.",
            next_step="Evaluate a run that succeeded, or go on with this one: tunix-rt train RECIPE --resume",
        )


def _state(manifest: RunManifest | None) -> str:
    return "is not finished" if manifest is None else f"is {manifest.status}"


def _with_texts(home: Home, run_dir: RunDir, evalset: str | None) -> Evaluation | None:
    """The run's newest evaluation; one that only its directory knows is stored."""
    found = EvaluationRepository(home.database).newest_of_run(run_dir.run_id, evalset=evalset)
    if found is not None or not EvaluationDir(run_dir.path).evaluation.is_file():
        return found
    # Another evaluation may be about to take the place of this one.
    with run_dir.held(wait_s=JOIN_WAIT_S):
        kept = add_directory(home, run_dir.path)
    is_meant = kept.model.run_id == run_dir.run_id and evalset in (None, kept.evalset)
    return kept if is_meant else None
