"""Compare two evaluations: flips, paired differences, significance."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from tunix_rt.base.errors import ConflictError
from tunix_rt.base.home import Home
from tunix_rt.base.statistics import sign_test
from tunix_rt.evaluation.comparison.types import Comparison, Flip, FlipDirection, FlipSide, PairedDifference
from tunix_rt.evaluation.scoring.scores import ItemSamples, by_item, mean_difference_interval
from tunix_rt.evaluation.service import load_predictions
from tunix_rt.evaluation.types import Evaluation, Prediction

_MAX_DIFFERENCES = 10


@dataclass(frozen=True)
class ScoredEvaluation:
    """An evaluation with its predictions."""

    evaluation: Evaluation
    predictions: Sequence[Prediction]


@dataclass(frozen=True)
class _Pair:
    """One item in both evaluations."""

    base: ItemSamples
    other: ItemSamples

    @property
    def item(self) -> Prediction:
        return self.base.predictions[0]

    @property
    def rates(self) -> tuple[float, float] | None:
        base, other = self.base.share_right, self.other.share_right
        return None if base is None or other is None else (base, other)

    @property
    def direction(self) -> FlipDirection | None:
        if self.rates is None:
            return "unscored" if self.base.share_right and self.other.share_right is None else None
        base, other = self.rates
        return None if base == other else "lost" if other < base else "gained"


def compare(
    base: ScoredEvaluation, other: ScoredEvaluation, *, allow_different_protocols: bool = False
) -> Comparison:
    """Compare two evaluations item by item.

    Raises:
        ConflictError: Their protocols differ, or they share no item.
    """
    differences = base.evaluation.protocol.differences(other.evaluation.protocol)
    if differences and not allow_different_protocols:
        shown = list(differences[:_MAX_DIFFERENCES])
        if len(differences) > len(shown):
            shown.append(f"and {len(differences) - len(shown)} more")
        raise ConflictError(
            f"The two evaluations have different protocols, so their scores are not comparable: "
            f"{'; '.join(shown)}.",
            next_step="Evaluate both with the same protocol, or add --allow-different-protocols.",
        )
    base_items, other_items = by_item(base.predictions), by_item(other.predictions)
    shared = [_Pair(samples, other_items[key]) for key, samples in base_items.items() if key in other_items]
    pairs = [pair for pair in shared if _question(pair.base) == _question(pair.other)]
    if not pairs:
        raise ConflictError(
            "The two evaluations share no item with the same question and expected answer.",
            next_step="Compare evaluations of the same eval set; tunix-rt eval list shows it.",
        )
    return Comparison(
        base_id=base.evaluation.evaluation_id,
        other_id=other.evaluation.evaluation_id,
        base_name=base.evaluation.model.name,
        other_name=other.evaluation.model.name,
        evalset=" / ".join(dict.fromkeys((base.evaluation.evalset, other.evaluation.evalset))),
        is_same_protocol=not differences,
        protocol_differences=differences,
        num_paired=len(pairs),
        num_only_base=len(base_items) - len(pairs),
        num_only_other=len(other_items) - len(pairs),
        num_other_unscored=sum(pair.other.has_unscored for pair in pairs),
        overall=_paired_difference(pairs),
        by_section=_by_section(pairs),
        flips=_flips(pairs),
    )


def _question(samples: ItemSamples) -> tuple[str, str]:
    return samples.predictions[0].prompt, samples.predictions[0].expected_answer


def _by_section(pairs: Sequence[_Pair]) -> dict[str, PairedDifference]:
    groups: defaultdict[str, list[_Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.item.section].append(pair)
    differences = {section: _paired_difference(group) for section, group in groups.items()}
    return {section: one for section, one in differences.items() if one is not None}


def _paired_difference(pairs: Sequence[_Pair]) -> PairedDifference | None:
    rates = [pair.rates for pair in pairs if pair.rates is not None]
    if not rates:
        return None
    base, other = (sum(side) / len(rates) for side in zip(*rates, strict=True))
    num_lost = sum(after < before for before, after in rates)
    num_gained = sum(after > before for before, after in rates)
    low, high = mean_difference_interval([after - before for before, after in rates])
    return PairedDifference(
        n=len(rates),
        num_unscored=len(pairs) - len(rates),
        num_both_right=rates.count((1.0, 1.0)),
        num_both_wrong=rates.count((0.0, 0.0)),
        num_lost=num_lost,
        num_gained=num_gained,
        base=base,
        other=other,
        difference=other - base,
        low=low,
        high=high,
        p_value=sign_test(num_lost, num_gained),
    )


def _flips(pairs: Sequence[_Pair]) -> tuple[Flip, ...]:
    return tuple(
        Flip(
            item_id=pair.item.item_id,
            direction=direction,
            section=pair.item.section,
            category=pair.item.category,
            difficulty=pair.item.difficulty,
            prompt=pair.item.prompt,
            expected_answer=pair.item.expected_answer,
            base=_side(pair.base, shows_right=direction != "gained"),
            other=_side(pair.other, shows_right=direction == "gained"),
        )
        for direction in get_args(FlipDirection)
        for pair in pairs
        if pair.direction == direction
    )


def _side(samples: ItemSamples, *, shows_right: bool) -> FlipSide:
    candidates = samples.scored or samples.predictions
    shown = next(one for one in candidates if one.judgement.is_correct == shows_right)
    return FlipSide(
        verdict=shown.judgement.verdict,
        explanation=shown.judgement.explanation,
        share_right=samples.share_right,
        text=shown.generation.text,
        answer=shown.judgement.answer,
        rule=shown.judgement.rule,
    )


def compare_evaluations(
    home: Home, base: Evaluation, other: Evaluation, *, allow_different_protocols: bool = False
) -> Comparison:
    """Compare two stored evaluations.

    Raises:
        ConflictError: Their protocols differ, or they share no item.
    """
    scored = load_scored(home, base), load_scored(home, other)
    return compare(*scored, allow_different_protocols=allow_different_protocols)


def load_scored(home: Home, evaluation: Evaluation) -> ScoredEvaluation:
    """A stored evaluation with its predictions."""
    return ScoredEvaluation(evaluation, load_predictions(home, evaluation))
