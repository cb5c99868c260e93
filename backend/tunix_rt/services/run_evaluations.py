"""Evaluations of runs: judge stored texts again, show the newest, list the scores of all models."""

from datetime import date, datetime

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.base.records import Pagination, Word, pagination
from tunix_rt.core.evaluation.record import Evaluation
from tunix_rt.core.evaluation.run_evaluation import (
    JudgeName,
    ModelScore,
    RunEvaluation,
    model_score,
    run_evaluation,
)
from tunix_rt.core.evaluation.store_types import EvaluationFilter
from tunix_rt.db.evaluations import EvaluationRepository
from tunix_rt.engines.training.run_dir import JOIN_WAIT_S, RunDir, read_manifest
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.files.evaluation_dirs import EvaluationDir
from tunix_rt.services.evaluation_rescoring import rescore
from tunix_rt.services.evaluations import add_directory


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
