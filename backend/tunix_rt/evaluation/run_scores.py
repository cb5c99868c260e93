"""Evaluations of runs, in the shapes of /api/tunix."""

from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.base.records import Count, Pagination, Record, Word
from tunix_rt.engines.training.run_dir import JOIN_WAIT_S, RunDir, read_manifest
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.rescore import rescore
from tunix_rt.evaluation.service import add_directory
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import Estimate, Evaluation, EvaluationFilter
from tunix_rt.models.types import EvaluationSummary

JudgeName = Literal["answer-checkers"]
"""What decides whether an answer is correct; never another model's opinion."""

Percent = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0, le=1)]

_ESTIMATES = ("accuracy", "lenient_accuracy", "format_adherence", "step_correctness", "right_by_wrong_work")


class Judge(Record):
    """Who judged."""

    name: JudgeName = "answer-checkers"
    version: str
    """Versions of everything that decides a verdict: `checker-number 1, extractor 1`."""


class DetailedMetric(Record):
    """One rate with its interval; `accuracy.core` is the accuracy of the section `core`."""

    name: str
    score: Share
    max_score: Literal[1] = 1
    details: Estimate


class RunEvaluation(Record):
    """An evaluation of a run. It carries no verdict: `POST /api/regression/check` gives one."""

    evaluation_id: UUID
    run_id: str
    score: Percent | None = None
    """The accuracy in percent; absent if nothing could be scored."""
    primary_score: Share | None = None
    metrics: dict[str, float]
    detailed_metrics: tuple[DetailedMetric, ...]
    judge: Judge
    evaluated_at: datetime
    evaluation: Evaluation
    """The whole record."""


class Scorecard(Record):
    """How many items a score is based on."""

    n_items: Count
    n_scored: Count
    n_skipped: Count
    """Failures of generation or of a checker; they are excluded from every mean."""
    primary_score: Share | None = None
    low: Share | None = None
    high: Share | None = None
    """95 % interval of the primary score."""


class ModelScore(Record):
    """A row of the list of evaluations."""

    evaluation_id: UUID
    run_id: str | None = None
    """Absent for a model that was not trained here."""
    model_id: str
    """The model that the run started from, else the model itself."""
    dataset_key: str | None = None
    config_path: str | None = None
    """Name of the recipe."""
    eval_set: str
    fingerprint: str
    """Of the protocol: scores with the same fingerprint are comparable."""
    score: Percent | None = None
    primary_score: Share | None = None
    metrics: dict[str, float]
    evaluated_at: datetime
    scorecard: Scorecard


class EvaluateRun(BaseModel):
    """Which completions of a run to judge."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    eval_set: Word | None = None
    """Judge the completions for this eval set. Default: the newest ones."""
    judge_override: JudgeName | None = None
    """There is only one judge; any other name is rejected, never substituted."""


class ScoreFilters(BaseModel):
    """The filters that a list of scores was requested with."""

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
    """Judge the stored completions of a run's model with the current extractor and checkers.

    Raises:
        NotFoundError: there is no such run.
        ConflictError: the run did not succeed, or its model has no stored completions.
    """
    run_dir = RunDir(home.settings.runs_dir / run_id)
    repository = EvaluationRepository(home.database)
    if run_dir.path.is_dir():
        manifest = read_manifest(run_dir)
        if manifest is None or manifest.status != "succeeded":
            status = "not finished" if manifest is None else manifest.status
            raise ConflictError(
                f"The run {run_id} is {status}: there is no finished model to judge.",
                next_step="Evaluate a run that succeeded, or resume this one: tunix-rt train RECIPE --resume",
            )
    elif repository.newest_of_run(run_id) is None:  # a run elsewhere is known by its evaluations
        raise NotFoundError(f"There is no run {run_id!r}.", next_step="Train one: tunix-rt train RECIPE")
    evaluation = repository.newest_of_run(run_id, evalset=request.eval_set)
    if evaluation is None and EvaluationDir(run_dir.path).evaluation.is_file():
        # Another process may be about to replace this evaluation.
        with run_dir.held(wait_s=JOIN_WAIT_S):
            added = add_directory(home, run_dir.path)
        if added.model.run_id == run_id and request.eval_set in (None, added.evalset):
            evaluation = added
    if evaluation is None:
        evalset = request.eval_set or "eval_v2"
        raise ConflictError(
            f"The model of the run {run_id} has no stored answers"
            + (f" to the eval set {request.eval_set!r}." if request.eval_set else "."),
            next_step=f"Generate answers: tunix-rt eval {run_id} --eval-set {evalset}",
        )
    return _run_evaluation(rescore(home, evaluation))


def newest_evaluation(home: Home, run_id: str) -> RunEvaluation:
    """The newest stored evaluation of a run, or NotFoundError."""
    evaluation = EvaluationRepository(home.database).newest_of_run(run_id)
    if evaluation is None:
        raise NotFoundError(
            f"There is no evaluation of a run {run_id!r}.",
            next_step=f"Create one: tunix-rt eval {run_id} --eval-set eval_v2",
        )
    return _run_evaluation(evaluation)


def list_scores(home: Home, criteria: EvaluationFilter, *, limit: int, offset: int) -> ModelScoreList:
    """A page of the scores of every model, best first; evaluations without a score come last."""
    page = EvaluationRepository(home.database).list(criteria, limit=limit, offset=offset, order="best")
    return ModelScoreList(
        data=tuple(map(_model_score, page.data)),
        pagination=page.pagination,
        filters=ScoreFilters(
            dataset_key=criteria.dataset,
            model_id=criteria.model,
            config_path=criteria.recipe,
            eval_set=criteria.evalset,
            date_from=criteria.date_from,
            date_to=criteria.date_to,
        ),
    )


def _run_evaluation(evaluation: Evaluation) -> RunEvaluation:
    assert evaluation.model.run_id is not None
    scores = evaluation.scores
    estimates: dict[str, Estimate | None] = {name: getattr(scores.overall, name) for name in _ESTIMATES}
    estimates |= {f"accuracy.{section}": group.accuracy for section, group in scores.by_section.items()}
    metrics = tuple(
        DetailedMetric(name=name, score=estimate.value, details=estimate)
        for name, estimate in estimates.items()
        if estimate is not None
    )
    versions = sorted(evaluation.protocol.versions.items())
    return RunEvaluation(
        evaluation_id=evaluation.evaluation_id,
        run_id=evaluation.model.run_id,
        score=_percent(scores.primary_score),
        primary_score=scores.primary_score,
        metrics={metric.name: metric.score for metric in metrics},
        detailed_metrics=metrics,
        judge=Judge(version=", ".join(f"{name} {version}" for name, version in versions)),
        evaluated_at=evaluation.created_at,
        evaluation=evaluation,
    )


def _model_score(summary: EvaluationSummary) -> ModelScore:
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


def _percent(rate: float | None) -> float | None:
    return None if rate is None else rate * 100
