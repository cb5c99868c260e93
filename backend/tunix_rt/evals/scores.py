"""From predictions to scores: overall and by section, category and difficulty."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from tunix_rt.core.evaluation.prediction import Prediction
from tunix_rt.core.evaluation.scores import Estimate, GroupScores, Scores, Spread
from tunix_rt.datasets.types import Difficulty, Section
from tunix_rt.evals.item_samples import ItemSamples, by_item
from tunix_rt.evals.sampling_statistics import (
    mean_estimate,
    pass_at_k,
    ratio_estimate,
    sample_counts,
    wilson_estimate,
)

CHECKER_FAILED = "checker"
_ORDER = {name: place for place, name in enumerate((*get_args(Section), *get_args(Difficulty)))}

Counting = Callable[[Prediction], int]


def score(predictions: Sequence[Prediction], *, has_lenient_rules: bool) -> Scores:
    """All scores of an evaluation; the order of the predictions does not matter.

    Args:
        predictions: Every sample of every item.
        has_lenient_rules: Whether the protocol allows lenient rules, whose answers are then scored apart.
    """
    items = list(by_item(predictions).values())
    scorer = _Scorer(
        num_samples=max((len(item.predictions) for item in items), default=1),
        has_lenient_rules=has_lenient_rules,
    )
    overall = scorer.score(items)
    return Scores(
        primary_score=None if overall.accuracy is None else overall.accuracy.value,
        overall=overall,
        by_section=scorer.score_groups(items, lambda prediction: prediction.section),
        by_category=scorer.score_groups(items, lambda prediction: prediction.category),
        by_difficulty=scorer.score_groups(items, lambda prediction: prediction.difficulty),
        failures=_sorted_counts(_failure(found) for found in predictions if not found.judgement.is_scored),
        rules=_sorted_counts(found.judgement.rule for found in predictions if found.judgement.rule),
    )


def _failure(prediction: Prediction) -> str:
    failure = prediction.generation.failure
    return CHECKER_FAILED if failure is None else failure.code


def _sorted_counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


@dataclass(frozen=True)
class _Scorer:
    """Scores groups of items in the same way."""

    num_samples: int
    """Of each item; 1: verdicts are independent, and Wilson's interval is theirs."""
    has_lenient_rules: bool

    def score_groups(
        self, items: Sequence[ItemSamples], label: Callable[[Prediction], str]
    ) -> dict[str, GroupScores]:
        groups: defaultdict[str, list[ItemSamples]] = defaultdict(list)
        for item in items:
            groups[label(item.predictions[0])].append(item)
        names = sorted(groups, key=lambda name: (_ORDER.get(name, len(_ORDER)), name))
        return {name: self.score(groups[name]) for name in names}

    def score(self, items: Sequence[ItemSamples]) -> GroupScores:
        predictions = [found for item in items for found in item.predictions]
        scored = [found for item in items for found in item.scored]
        return GroupScores(
            num_items=len(items),
            num_predictions=len(predictions),
            num_scored=len(scored),
            num_unscored=len(predictions) - len(scored),
            num_no_answer=sum(found.judgement.verdict == "no-answer" for found in scored),
            num_lenient=sum(found.judgement.is_lenient for found in scored),
            num_cut_off=sum(found.generation.finish == "cut-off" for found in predictions),
            num_steps=sum(_num_steps(found) for found in scored),
            accuracy=self._mean_of_items(items, _is_right),
            lenient_accuracy=self._mean_of_items(items, _is_right_leniently)
            if self.has_lenient_rules
            else None,
            format_adherence=self._share(items, _is_well_formed, _one),
            # Of texts from elsewhere no token is counted.
            reasoning_tokens=_spread(
                [found.generation.num_reasoning_tokens for found in scored if found.generation.num_new_tokens]
            ),
            reasoning_steps=_spread([_num_steps(found) for found in scored]),
            # A completion has many steps, so they are never independent.
            step_correctness=ratio_estimate(_parts(items, _num_confirmed, _num_checked)),
            right_by_wrong_work=self._share(items, _is_right_by_wrong_work, _is_right),
            pass_at=self._at_each_k(items, _pass_at),
            majority_at=self._at_each_k(items, ItemSamples.majority_at),
        )

    def _mean_of_items(self, items: Sequence[ItemSamples], is_counted: Counting) -> Estimate | None:
        if self.num_samples == 1:
            return self._share(items, is_counted, _one)
        scored = [item.scored for item in items if item.scored]
        return mean_estimate([sum(map(is_counted, found)) / len(found) for found in scored])

    def _share(self, items: Sequence[ItemSamples], counted: Counting, among: Counting) -> Estimate | None:
        parts = _parts(items, counted, among)
        if self.num_samples > 1:
            return ratio_estimate(parts)
        return wilson_estimate(sum(count for count, _ in parts), sum(total for _, total in parts))

    def _at_each_k(
        self, items: Sequence[ItemSamples], chance: Callable[[ItemSamples, int], float]
    ) -> dict[int, Estimate]:
        if self.num_samples == 1:
            return {}
        estimates = {
            k: mean_estimate([chance(item, k) for item in items if len(item.scored) >= k])
            for k in sample_counts(self.num_samples)
        }
        return {k: estimate for k, estimate in estimates.items() if estimate is not None}


def _parts(items: Sequence[ItemSamples], counted: Counting, among: Counting) -> list[tuple[int, int]]:
    return [(sum(map(counted, item.scored)), sum(map(among, item.scored))) for item in items]


def _pass_at(item: ItemSamples, k: int) -> float:
    return pass_at_k(len(item.scored), item.num_right, k)


def _one(prediction: Prediction) -> int:
    return 1


def _is_right(prediction: Prediction) -> int:
    return prediction.judgement.is_correct


def _is_right_leniently(prediction: Prediction) -> int:
    return prediction.judgement.verdict == "correct"


def _is_well_formed(prediction: Prediction) -> int:
    return prediction.judgement.is_well_formed


def _is_right_by_wrong_work(prediction: Prediction) -> int:
    return prediction.judgement.is_correct and prediction.judgement.has_broken_step


def _num_steps(prediction: Prediction) -> int:
    return len(prediction.judgement.steps)


def _num_confirmed(prediction: Prediction) -> int:
    return sum(step.verdict == "confirmed" for step in prediction.judgement.steps)


def _num_checked(prediction: Prediction) -> int:
    return sum(step.verdict != "unchecked" for step in prediction.judgement.steps)


def _spread(values: Sequence[int]) -> Spread | None:
    if not values:
        return None
    median, p90 = np.quantile(values, (0.5, 0.9))
    return Spread(mean=float(np.mean(values)), median=float(median), p90=float(p90), n=len(values))
