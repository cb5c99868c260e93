"""The gate over HTTP, by run or evaluation id (/api/regression)."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.base.records import Record, Word
from tunix_rt.engines.training.types import RUN_ID_PATTERN
from tunix_rt.evaluation.comparison import gate
from tunix_rt.evaluation.comparison.store import BaselineRepository
from tunix_rt.evaluation.comparison.types import BASELINE_PATTERN, Baseline, GateRule, GateVerdict
from tunix_rt.evaluation.service import get_evaluation
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import Evaluation

Metric = Literal["primary_score"]


class EvaluationChoice(BaseModel):
    """An evaluation by its id, or the newest of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run_id: Annotated[str, Field(pattern=RUN_ID_PATTERN)] | None = None
    evaluation_id: UUID | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "EvaluationChoice":
        if (self.run_id is None) == (self.evaluation_id is None):
            raise ValueError("give run_id or evaluation_id, and not both")
        return self


class NewBaseline(EvaluationChoice):
    """The evaluation that later ones are compared with, and the rule that they must pass."""

    name: Annotated[str, Field(pattern=BASELINE_PATTERN)]
    metric: Metric = "primary_score"
    lower_is_better: Literal[False] = False
    """The primary score is the accuracy: more is better."""
    eval_set: Word | None = None
    """With `run_id`: the newest evaluation on this eval set. The evaluation must be on it."""
    dataset_key: Word | None = None
    """The evaluated run must have been trained on this dataset."""
    rule: GateRule = GateRule()


class StoredBaseline(Record):
    """A baseline with its evaluation."""

    name: str
    evaluation_id: UUID
    model_name: str
    run_id: str | None = None
    metric: Metric = "primary_score"
    lower_is_better: Literal[False] = False
    baseline_value: float | None = None
    eval_set: str
    dataset_key: str | None = None
    rule: GateRule
    created_at: datetime


class BaselineList(BaseModel):
    """Every baseline, by name."""

    model_config = ConfigDict(frozen=True)
    data: tuple[StoredBaseline, ...]


class RegressionRequest(EvaluationChoice):
    """The evaluation to check against a baseline."""

    baseline_name: Annotated[str, Field(pattern=BASELINE_PATTERN)]


class RegressionCheck(Record):
    """The result of a check against a baseline."""

    evaluation_id: UUID
    run_id: str | None = None
    baseline_name: str
    baseline_evaluation_id: UUID
    baseline_run_id: str | None = None
    metric_name: Metric = "primary_score"
    baseline_value: float | None = None
    current_value: float | None = None
    delta: float | None = None
    """Current minus baseline."""
    delta_percent: float | None = None
    """The same in percent of the baseline; absent if the baseline is 0."""
    verdict: Literal["pass", "fail"]
    details: str
    """The reasons for the verdict."""
    gate: GateVerdict


def set_baseline(home: Home, request: NewBaseline) -> StoredBaseline:
    """Name an evaluation as a baseline, replacing any baseline of that name.

    Raises:
        NotFoundError: there is no such evaluation.
        ConflictError: its eval set or dataset is not the requested one.
        InvalidInputError: the rule protects something that the evaluation lacks.
    """
    evaluation = _find(home, request, evalset=request.eval_set)
    _require_same("eval set", request.eval_set, evaluation.evalset)
    _require_same("dataset", request.dataset_key, evaluation.model.dataset)
    return _stored(home, gate.set_baseline(home, request.name, evaluation, request.rule))


def get_baseline(home: Home, name: str) -> StoredBaseline:
    """The baseline of this name, or NotFoundError."""
    return _stored(home, BaselineRepository(home.database).get(name))


def list_baselines(home: Home) -> BaselineList:
    """Every baseline, by name."""
    found = BaselineRepository(home.database).list()
    return BaselineList(data=tuple(_stored(home, baseline) for baseline in found))


def check_regression(home: Home, request: RegressionRequest) -> RegressionCheck:
    """Check an evaluation against a baseline and store the verdict.

    Raises:
        NotFoundError: there is no such evaluation or baseline.
        ConflictError: the two protocols differ, so the scores are not comparable.
    """
    baseline = gate.named_baseline(home, request.baseline_name)
    before = baseline.evaluation
    after = _find(home, request, evalset=before.evalset)
    verdict = gate.check_gate(home, after, baseline)
    base, current = before.scores.primary_score, after.scores.primary_score
    delta = None if base is None or current is None else current - base
    return RegressionCheck(
        evaluation_id=after.evaluation_id,
        run_id=after.model.run_id,
        baseline_name=verdict.baseline,
        baseline_evaluation_id=before.evaluation_id,
        baseline_run_id=before.model.run_id,
        baseline_value=base,
        current_value=current,
        delta=delta,
        delta_percent=100 * delta / base if base and delta is not None else None,
        verdict="pass" if verdict.passed else "fail",
        details="; ".join(verdict.reasons) or "no rule is broken",
        gate=verdict,
    )


def _find(home: Home, choice: EvaluationChoice, *, evalset: str | None) -> Evaluation:
    if choice.evaluation_id is not None:
        return get_evaluation(home, choice.evaluation_id)
    assert choice.run_id is not None
    found = EvaluationRepository(home.database).newest_of_run(choice.run_id, evalset=evalset)
    if found is None:
        on = "" if evalset is None else f" on {evalset!r}"
        raise NotFoundError(
            f"There is no evaluation of a run {choice.run_id!r}{on}.",
            next_step=f"Create one: tunix-rt eval {choice.run_id} --eval-set {evalset or 'eval_v2'}",
        )
    return found


def _require_same(what: str, expected: str | None, actual: str | None) -> None:
    if expected is not None and expected != actual:
        raise ConflictError(
            f"The {what} of the evaluation is {actual!r}, not {expected!r}.",
            next_step=f"Name another evaluation, or omit the {what}.",
        )


def _stored(home: Home, baseline: Baseline) -> StoredBaseline:
    evaluation = EvaluationRepository(home.database).get(baseline.evaluation_id)
    return StoredBaseline(
        name=baseline.name,
        evaluation_id=baseline.evaluation_id,
        model_name=evaluation.model.name,
        run_id=evaluation.model.run_id,
        baseline_value=evaluation.scores.primary_score,
        eval_set=evaluation.evalset,
        dataset_key=evaluation.model.dataset,
        rule=baseline.rule,
        created_at=baseline.created_at,
    )
