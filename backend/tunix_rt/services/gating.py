"""Named baselines, and the gate that a new evaluation must pass."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.core.evaluation.comparison import Baseline, GateCheck, GateRule, GateVerdict
from tunix_rt.core.evaluation.record import Evaluation
from tunix_rt.core.evaluation.store_types import EvaluationFilter
from tunix_rt.db.baselines import BaselineRepository
from tunix_rt.db.evaluations import EvaluationRepository
from tunix_rt.db.gate_checks import GateCheckRepository
from tunix_rt.evals.comparing import compare
from tunix_rt.evals.gating import RuleChanges, changed_rule, gate, require_known_names
from tunix_rt.services.comparing import load_scored
from tunix_rt.services.evaluations import find_evaluation, get_evaluation, load_predictions


@dataclass(frozen=True)
class ChosenBaseline:
    """What a new evaluation is held against."""

    name: str
    evaluation: Evaluation
    rule: GateRule
    is_stored: bool = True
    """False: the evaluation of a directory, which has no history."""


def set_baseline(home: Home, name: str, evaluation: Evaluation, rule: GateRule) -> Baseline:
    """Name a stored evaluation, with the rule that its successors must pass; a name in use moves to it.

    Raises:
        InvalidInputError: The name is not one, or the rule protects what the evaluation does not have.
    """
    require_known_names(rule, load_predictions(home, evaluation))
    baseline = _baseline(name, evaluation, rule)
    BaselineRepository(home.database).put(baseline)
    return baseline


def _baseline(name: str, evaluation: Evaluation, rule: GateRule) -> Baseline:
    try:
        return Baseline(
            name=name, evaluation_id=evaluation.evaluation_id, rule=rule, created_at=datetime.now(UTC)
        )
    except ValidationError as error:
        raise InvalidInputError(
            f"{name!r} cannot name a baseline.",
            next_step="Use up to 128 letters, digits, dots, dashes and underscores; no dash or dot first.",
        ) from error


def find_baseline(home: Home, reference: str) -> ChosenBaseline:
    """A baseline by its name, or the evaluation of a directory with the rule that holds where none is set.

    Raises:
        NotFoundError: There is neither.
    """
    # A stored name begins with a letter or digit, so `./main` always means the directory.
    known = {baseline.name for baseline in BaselineRepository(home.database).list()}
    if reference not in known and os.path.exists(reference):
        return ChosenBaseline(reference, find_evaluation(home, reference), GateRule(), is_stored=False)
    return named_baseline(home, reference)


def named_baseline(home: Home, name: str) -> ChosenBaseline:
    """A stored baseline with its evaluation, or NotFoundError."""
    baseline = BaselineRepository(home.database).get(name)
    return ChosenBaseline(baseline.name, get_evaluation(home, baseline.evaluation_id), baseline.rule)


def newest_successor(home: Home, baseline: Evaluation) -> Evaluation:
    """The newest evaluation of the same eval set; NotFoundError when none is newer than the baseline.

    An older one is never taken: a CI whose evaluation did not happen must not pass on last week's.
    """
    same_evalset = EvaluationFilter(evalset=baseline.evalset, date_from=baseline.created_at)
    newest = EvaluationRepository(home.database).list(same_evalset, limit=2, offset=0).data
    others = [found for found in newest if found.evaluation_id != baseline.evaluation_id]
    if not others:
        raise NotFoundError(
            f"No evaluation of {baseline.evalset} is newer than the baseline.",
            next_step=f"Evaluate the new model: tunix-rt eval MODEL --eval-set {baseline.evalset}; "
            "or name an evaluation.",
        )
    return get_evaluation(home, others[0].evaluation_id)


def check_gate(
    home: Home, evaluation: Evaluation, baseline: ChosenBaseline, changes: RuleChanges | None = None
) -> GateVerdict:
    """The verdict of `gate_evaluation`, kept in the history of a stored baseline."""
    verdict = gate_evaluation(home, evaluation, baseline, changes)
    if baseline.is_stored:
        GateCheckRepository(home.database).add(_history_entry(evaluation, baseline, verdict))
    return verdict


def _history_entry(evaluation: Evaluation, baseline: ChosenBaseline, verdict: GateVerdict) -> GateCheck:
    return GateCheck(
        checked_at=datetime.now(UTC),
        baseline_name=baseline.name,
        baseline_evaluation_id=baseline.evaluation.evaluation_id,
        evaluation_id=evaluation.evaluation_id,
        model_name=evaluation.model.name,
        run_id=evaluation.model.run_id,
        evalset=evaluation.evalset,
        passed=verdict.passed,
        reasons=verdict.reasons,
        rule=verdict.rule,
        overall=verdict.comparison.overall,
    )


def gate_evaluation(
    home: Home, evaluation: Evaluation, baseline: ChosenBaseline, changes: RuleChanges | None = None
) -> GateVerdict:
    """Whether the evaluation may take the place of the baseline.

    Raises:
        ConflictError: They have different protocols: nothing can be said.
        InvalidInputError: It is the baseline itself, or the rule protects what the baseline does not have.
    """
    if evaluation.evaluation_id == baseline.evaluation.evaluation_id:
        raise InvalidInputError(
            f"The evaluation {evaluation.evaluation_id} is the baseline itself: it would always pass.",
            next_step="Name the evaluation of the new model.",
        )
    base = load_scored(home, baseline.evaluation)
    rule = changed_rule(baseline.rule, changes or RuleChanges())
    require_known_names(rule, base.predictions)
    return gate(baseline.name, rule, compare(base, load_scored(home, evaluation)))
