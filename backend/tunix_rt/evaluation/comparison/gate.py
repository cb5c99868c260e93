"""Baselines, and the gate that checks new evaluations against them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches

from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError, NotFoundError, did_you_mean
from tunix_rt.base.home import Home
from tunix_rt.evaluation.comparison.compare import compare, load_scored
from tunix_rt.evaluation.comparison.store import BaselineRepository, GateCheckRepository
from tunix_rt.evaluation.comparison.types import (
    Baseline,
    Comparison,
    Flip,
    GateCheck,
    GateRule,
    GateVerdict,
)
from tunix_rt.evaluation.service import find_evaluation, get_evaluation, load_predictions
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import Evaluation, EvaluationFilter, Prediction

_MAX_NAMED = 5
_MAX_LISTED = 20


@dataclass(frozen=True)
class RuleChanges:
    """Changes to the rule of a baseline."""

    alpha: float | None = None
    max_unscored: float | None = None
    protected_sections: tuple[str, ...] = ()
    protected_categories: tuple[str, ...] = ()
    protected_items: tuple[str, ...] = ()
    """The protected names are added to those of the rule."""


def changed_rule(rule: GateRule, changes: RuleChanges) -> GateRule:
    """The rule with the changes applied."""
    return GateRule(
        alpha=rule.alpha if changes.alpha is None else changes.alpha,
        max_unscored=rule.max_unscored if changes.max_unscored is None else changes.max_unscored,
        protected_sections=_union(rule.protected_sections, changes.protected_sections),
        protected_categories=_union(rule.protected_categories, changes.protected_categories),
        protected_items=_union(rule.protected_items, changes.protected_items),
    )


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(first + second))


def require_known_names(rule: GateRule, predictions: Sequence[Prediction]) -> None:
    """Reject protected names that do not exist: a misspelt name would protect nothing.

    Raises:
        InvalidInputError: names the closest match.
    """
    for kind, protected, known in (
        ("section", rule.protected_sections, {one.section for one in predictions}),
        ("category", rule.protected_categories, {one.category for one in predictions}),
        ("item", rule.protected_items, {one.item_id for one in predictions}),
    ):
        for name in protected:
            if name not in known:
                next_step = f"It has {len(known):,} of them: tunix-rt eval items shows them."
                if len(known) <= _MAX_LISTED or get_close_matches(name, known, n=1):
                    next_step = did_you_mean(name, known)
                raise InvalidInputError(
                    f"The baseline has no {kind} {name!r} to protect.", next_step=next_step
                )


def gate(baseline: str, rule: GateRule, comparison: Comparison) -> GateVerdict:
    """Apply the rule of the named baseline to its comparison, as the base, with a new evaluation."""
    reasons = tuple(_reasons(rule, comparison))
    return GateVerdict(
        passed=not reasons, reasons=reasons, baseline=baseline, rule=rule, comparison=comparison
    )


def _reasons(rule: GateRule, comparison: Comparison) -> Iterator[str]:
    if comparison.overall is None:
        yield "no item is scored in both evaluations"
    elif (overall := comparison.overall).difference < 0 and overall.p_value < rule.alpha:
        yield (
            f"significant loss of {-overall.difference * 100:.1f} points: {overall.base:.1%} -> "
            f"{overall.other:.1%}, {overall.num_lost} lost and {overall.num_gained} gained of {overall.n}, "
            f"p = {overall.p_value:.2g} < {rule.alpha:g}"
        )
    # At least half of the samples were correct, and fewer are now.
    lost = [
        flip
        for flip in comparison.flips
        if is_protected(flip, rule) and (flip.other.share_right or 0) < 0.5 <= (flip.base.share_right or 0)
    ]
    if lost:
        items = "1 protected item is" if len(lost) == 1 else f"{len(lost)} protected items are"
        more = f" and {len(lost) - _MAX_NAMED} more" if len(lost) > _MAX_NAMED else ""
        yield f"{items} no longer right: {', '.join(flip.item_id for flip in lost[:_MAX_NAMED])}{more}"
    unscored = comparison.num_other_unscored
    if unscored > rule.max_unscored * comparison.num_paired:
        yield (
            f"{unscored} of {comparison.num_paired} items could not be scored, "
            f"more than {rule.max_unscored:.1%} may"
        )


def is_protected(flip: Flip, rule: GateRule) -> bool:
    """Whether the rule protects the item."""
    return (
        flip.section in rule.protected_sections
        or flip.category in rule.protected_categories
        or flip.item_id in rule.protected_items
    )


@dataclass(frozen=True)
class GateBaseline:
    """The evaluation and the rule that a new evaluation is checked against."""

    name: str
    evaluation: Evaluation
    rule: GateRule
    is_stored: bool = True
    """False: an evaluation directory, which has no history."""


def set_baseline(home: Home, name: str, evaluation: Evaluation, rule: GateRule) -> Baseline:
    """Name a stored evaluation as a baseline, with the rule for later ones; an existing name is replaced.

    Raises:
        InvalidInputError: The name is invalid, or the rule protects something that the evaluation lacks.
    """
    require_known_names(rule, load_predictions(home, evaluation))
    try:
        baseline = Baseline(
            name=name, evaluation_id=evaluation.evaluation_id, rule=rule, created_at=datetime.now(UTC)
        )
    except ValidationError as error:
        raise InvalidInputError(
            f"{name!r} cannot name a baseline.",
            next_step="Use up to 128 letters, digits, dots, dashes and underscores; no dash or dot first.",
        ) from error
    BaselineRepository(home.database).put(baseline)
    return baseline


def find_baseline(home: Home, reference: str) -> GateBaseline:
    """A baseline by name, or an evaluation directory with the default rule.

    Raises:
        NotFoundError: There is neither.
    """
    # A stored name starts with a letter or digit, so `./main` always means the directory.
    known = {baseline.name for baseline in BaselineRepository(home.database).list()}
    if reference not in known and os.path.exists(reference):
        return GateBaseline(reference, find_evaluation(home, reference), GateRule(), is_stored=False)
    return named_baseline(home, reference)


def named_baseline(home: Home, name: str) -> GateBaseline:
    """A stored baseline with its evaluation, or NotFoundError."""
    baseline = BaselineRepository(home.database).get(name)
    return GateBaseline(baseline.name, get_evaluation(home, baseline.evaluation_id), baseline.rule)


def newest_successor(home: Home, baseline: Evaluation) -> Evaluation:
    """The newest evaluation of the same eval set; NotFoundError if none is newer than the baseline.

    An older one is never used: a CI job whose evaluation is missing must not pass with an old one.
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
    home: Home, evaluation: Evaluation, baseline: GateBaseline, changes: RuleChanges | None = None
) -> GateVerdict:
    """Whether the evaluation passes the rule of the baseline; stored in the history of a stored baseline.

    Raises:
        ConflictError: The protocols differ, so there is no verdict.
        InvalidInputError: It is the baseline itself, or the rule protects something that the baseline lacks.
    """
    if evaluation.evaluation_id == baseline.evaluation.evaluation_id:
        raise InvalidInputError(
            f"The evaluation {evaluation.evaluation_id} is the baseline itself: it would always pass.",
            next_step="Name the evaluation of the new model.",
        )
    base = load_scored(home, baseline.evaluation)
    rule = changed_rule(baseline.rule, changes or RuleChanges())
    require_known_names(rule, base.predictions)
    verdict = gate(baseline.name, rule, compare(base, load_scored(home, evaluation)))
    if baseline.is_stored:
        check = GateCheck(
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
        GateCheckRepository(home.database).add(check)
    return verdict
