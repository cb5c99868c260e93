"""Whether a new evaluation may take the place of a baseline."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.core.evaluation.comparison import Comparison, Flip, GateRule, GateVerdict, PairedDifference
from tunix_rt.core.evaluation.prediction import Prediction

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
