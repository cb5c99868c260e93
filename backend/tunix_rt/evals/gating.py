"""Whether a new evaluation may take the place of a baseline."""

from collections.abc import Iterator, Sequence

from tunix_rt.core.evaluation.comparison import Comparison, Flip, GateRule, GateVerdict, PairedDifference

_MAX_NAMED = 5
_RIGHT_FROM = 0.5


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
