"""Baselines and whether a new evaluation may replace one."""

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
    PairedDifference,
)
from tunix_rt.evaluation.service import find_evaluation, get_evaluation, load_predictions
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import Evaluation, EvaluationFilter, Prediction

_MAX_NAMED = 5
_MAX_LISTED = 20
_RIGHT_FROM = 0.5


@dataclass(frozen=True)
class RuleChanges:
    """What a caller wants otherwise than the baseline's rule says."""

    alpha: float | None = None
    max_unscored: float | None = None
    protected_sections: tuple[str, ...] = ()
    protected_categories: tuple[str, ...] = ()
    protected_items: tuple[str, ...] = ()
    """In addition to what the rule protects."""


def changed_rule(rule: GateRule, changes: RuleChanges) -> GateRule:
    """The rule with the changes."""
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
    """Refuse to protect what is not there: a misspelt name would protect nothing.

    Raises:
        InvalidInputError: With the nearest name.
    """
    for kind, protected, known in (
        ("section", rule.protected_sections, {one.section for one in predictions}),
        ("category", rule.protected_categories, {one.category for one in predictions}),
        ("item", rule.protected_items, {one.item_id for one in predictions}),
    ):
        for name in protected:
            if name not in known:
                raise InvalidInputError(
                    f"The baseline has no {kind} {name!r} to protect.", next_step=_hint(name, known)
                )


def _hint(name: str, known: set[str]) -> str:
    close = get_close_matches(name, known, n=1)
    if close or len(known) <= _MAX_LISTED:
        return did_you_mean(name, known)
    return f"It has {len(known):,} of them: tunix-rt eval items shows them."


def gate(baseline: str, rule: GateRule, comparison: Comparison) -> GateVerdict:
    """Judge a comparison, of the baseline with what is new, by a rule.

    Args:
        baseline: Its name, for the verdict.
        rule: What the new evaluation must not do.
        comparison: Of the baseline (the base) with the new evaluation.
    """
    reasons = tuple(_reasons(rule, comparison))
    return GateVerdict(
        passed=not reasons, reasons=reasons, baseline=baseline, rule=rule, comparison=comparison
    )


def _reasons(rule: GateRule, comparison: Comparison) -> Iterator[str]:
    if comparison.overall is None:
        yield "no item is scored in both evaluations"
    elif is_significant_loss(comparison.overall, rule.alpha):
        yield _loss(comparison.overall, rule.alpha)
    lost = [flip for flip in comparison.flips if is_protected(flip, rule) and _is_no_longer_right(flip)]
    if lost:
        yield f"{_protected_items(len(lost))} no longer right: {_named(lost)}"
    unscored = comparison.num_other_unscored
    if unscored > rule.max_unscored * comparison.num_paired:
        yield (
            f"{unscored} of {comparison.num_paired} items could not be scored, "
            f"more than {rule.max_unscored:.1%} may"
        )


def is_significant_loss(found: PairedDifference, alpha: float) -> bool:
    """Whether fewer are right, and chance alone would rarely do that."""
    return found.difference < 0 and found.p_value < alpha


def is_protected(flip: Flip, rule: GateRule) -> bool:
    """Whether the rule protects the item."""
    return (
        flip.section in rule.protected_sections
        or flip.category in rule.protected_categories
        or flip.item_id in rule.protected_items
    )


def _is_no_longer_right(flip: Flip) -> bool:
    """At least half of the samples were right, and fewer are; of one sample: it was right and is not."""
    before, after = flip.base.share_right or 0.0, flip.other.share_right or 0.0
    return after < _RIGHT_FROM <= before


def _loss(found: PairedDifference, alpha: float) -> str:
    return (
        f"significant loss of {-found.difference * 100:.1f} points: {found.base:.1%} -> {found.other:.1%}, "
        f"{found.num_lost} lost and {found.num_gained} gained of {found.n}, "
        f"p = {found.p_value:.2g} < {alpha:g}"
    )


def _named(flips: Sequence[Flip]) -> str:
    more = f" and {len(flips) - _MAX_NAMED} more" if len(flips) > _MAX_NAMED else ""
    return ", ".join(flip.item_id for flip in flips[:_MAX_NAMED]) + more


def _protected_items(count: int) -> str:
    return "1 protected item is" if count == 1 else f"{count} protected items are"


@dataclass(frozen=True)
class GateBaseline:
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


def find_baseline(home: Home, reference: str) -> GateBaseline:
    """A baseline by its name, or the evaluation of a directory with the rule that holds where none is set.

    Raises:
        NotFoundError: There is neither.
    """
    # A stored name begins with a letter or digit, so `./main` always means the directory.
    known = {baseline.name for baseline in BaselineRepository(home.database).list()}
    if reference not in known and os.path.exists(reference):
        return GateBaseline(reference, find_evaluation(home, reference), GateRule(), is_stored=False)
    return named_baseline(home, reference)


def named_baseline(home: Home, name: str) -> GateBaseline:
    """A stored baseline with its evaluation, or NotFoundError."""
    baseline = BaselineRepository(home.database).get(name)
    return GateBaseline(baseline.name, get_evaluation(home, baseline.evaluation_id), baseline.rule)


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
    home: Home, evaluation: Evaluation, baseline: GateBaseline, changes: RuleChanges | None = None
) -> GateVerdict:
    """The verdict of `gate_evaluation`, kept in the history of a stored baseline."""
    verdict = gate_evaluation(home, evaluation, baseline, changes)
    if baseline.is_stored:
        GateCheckRepository(home.database).add(_history_entry(evaluation, baseline, verdict))
    return verdict


def _history_entry(evaluation: Evaluation, baseline: GateBaseline, verdict: GateVerdict) -> GateCheck:
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
    home: Home, evaluation: Evaluation, baseline: GateBaseline, changes: RuleChanges | None = None
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
