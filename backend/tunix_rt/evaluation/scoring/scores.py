"""Scores overall and by group; bootstrap intervals over items, pass@k, majority@k."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from tunix_rt.base.statistics import wilson_interval, wilson_share
from tunix_rt.datasets.types import Difficulty, Section
from tunix_rt.evaluation.types import Estimate, GroupScores, Judgement, Prediction, Scores, Spread

NUM_RESAMPLES = 2000
MAX_SUBSETS = 13_000
"""Up to this many subsets, majority@k is exact: up to 16 samples per item (12,870 subsets)."""
_NUM_SAMPLED_SUBSETS = 2000
_SEED = 0
_TAILS = (0.025, 0.975)


def wilson_estimate(count: int, n: int) -> Estimate | None:
    """The rate `count / n` of independent trials; None if n is 0."""
    if n == 0:
        return None
    share = wilson_share(count, n)
    return Estimate(value=share.value, low=share.low, high=share.high, n=n, method="wilson")


def ratio_estimate(parts: Sequence[tuple[float, int]]) -> Estimate | None:
    """The sum of the numerators over the sum of the denominators, with a bootstrap interval over items.

    Each pair belongs to one item. Values within an item are dependent, so whole items are resampled. If every
    item has the same ratio, resampling gives no interval, and Wilson's interval over items is used instead.

    Args:
        parts: Numerator and denominator of each item; items with denominator 0 are left out.

    Example:
        [(3, 4), (0, 2)] -> 3 / 6 = 0.5, n = 6
    """
    table = _table(part for part in parts if part[1] > 0)
    if not table:
        return None
    value, n = _ratio(table), sum(among * count for (_, among), count in table)
    if len({part / among for (part, among), _ in table}) == 1:
        low, high = wilson_interval(value, sum(count for _, count in table))
        return Estimate(value=value, low=low, high=high, n=n, method="wilson-by-item")
    low, high = _bootstrap_interval(table)
    return Estimate(value=value, low=low, high=high, n=n, method="bootstrap-by-item")


def mean_estimate(values: Sequence[float]) -> Estimate | None:
    """The mean of one value in [0, 1] per item, with an interval over items."""
    return ratio_estimate([(value, 1) for value in values])


def mean_difference_interval(differences: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the mean of paired differences in [-1, 1], by bootstrap over the pairs.

    If all differences are equal, resampling gives no interval: then as large a share of unseen items as
    Wilson's interval for 0 of n allows may differ in either direction.

    Example:
        50 times 0.0 -> (-0.071, 0.071)
    """
    if len(set(differences)) == 1:
        value, margin = differences[0], wilson_share(0, len(differences)).high
        return value - margin * (1 + value), value + margin * (1 - value)
    table, negated = (_table((sign * difference, 1) for difference in differences) for sign in (1, -1))
    # The same one of the two is always resampled, so B against A exactly mirrors A against B.
    low, high = _bootstrap_interval(min(table, negated))
    if negated == table:
        return (low - high) / 2, (high - low) / 2
    return (-high, -low) if negated < table else (low, high)


Table = tuple[tuple[tuple[float, int], int], ...]
"""Each distinct pair of numerator and denominator with the number of items that have it; sorted."""


def _table(parts: Iterable[tuple[float, int]]) -> Table:
    return tuple(sorted(Counter(parts).items()))


def _ratio(table: Table) -> float:
    return sum(part * count for (part, _), count in table) / sum(among * count for (_, among), count in table)


@lru_cache(maxsize=10_000)
def _bootstrap_interval(table: Table) -> tuple[float, float]:
    """The 95 % percentile interval of the ratio over items resampled with replacement.

    Equal items are resampled as one multinomial count: the same distribution in a fraction of the time.
    """
    rows = np.array([row for row, _ in table], dtype=np.float64)
    counts = np.array([count for _, count in table])
    resamples = np.random.default_rng(_SEED).multinomial(
        counts.sum(), counts / counts.sum(), size=NUM_RESAMPLES
    )
    sums = resamples @ rows
    low, high = np.quantile(sums[:, 0] / sums[:, 1], _TAILS)
    # With few, skewed items a percentile may slightly miss the value itself.
    return min(float(low), _ratio(table)), max(float(high), _ratio(table))


def sample_counts(num_samples: int) -> tuple[int, ...]:
    """The k of pass@k: powers of two and the number of samples.

    Example:
        6 -> 1, 2, 4, 6
    """
    powers = {1 << power for power in range(num_samples.bit_length())}
    return tuple(sorted(powers | {num_samples}))


def pass_at_k(num_samples: int, num_right: int, k: int) -> float:
    """The probability that at least one of k samples is correct: unbiased estimate from `num_samples` >= k.

    Example:
        4 samples, 1 right, k = 2 -> 1 - C(3, 2) / C(4, 2) = 0.5
    """
    return 1.0 - comb(num_samples - num_right, k) / comb(num_samples, k)


Votes = tuple[tuple[int, int], ...]
"""For each distinct answer, the samples that gave it and how many of them are correct; sorted."""


@lru_cache(maxsize=100_000)
def majority_at_k(votes: Votes, num_abstained: int, k: int) -> float:
    """The probability that the most frequent answer of k samples is correct, over all k-subsets.

    Ties are broken at random. Samples without an answer do not vote; a subset without votes is wrong.

    Args:
        votes: One entry per distinct answer.
        num_abstained: Samples without an answer.
        k: At most as many as there are samples.

    Example:
        answers 5, 5, 7 with 5 right, k = 2 -> subsets 55, 57, 57 -> (1 + 0.5 + 0.5) / 3
    """
    if not votes:
        return 0.0
    num_answers = len(votes)  # also the index of the abstentions
    ballots = np.repeat(np.arange(num_answers + 1), [count for count, _ in votes] + [num_abstained])
    subsets = ballots[_subsets(len(ballots), k)]
    offsets = (num_answers + 1) * np.arange(len(subsets))[:, None]
    counts = np.bincount((subsets + offsets).ravel(), minlength=len(subsets) * (num_answers + 1))
    cast = counts.reshape(len(subsets), -1)[:, :num_answers]
    wins = (cast == cast.max(axis=1, keepdims=True)) & (cast > 0)
    rightness = np.array([num_right / count for count, num_right in votes])
    return float(((wins @ rightness) / np.maximum(wins.sum(axis=1), 1)).mean())


@lru_cache(maxsize=64)
def _subsets(n: int, k: int) -> NDArray[np.intp]:
    """All k-subsets of n positions, or 2,000 random ones with a fixed seed if there are too many."""
    if comb(n, k) <= MAX_SUBSETS:
        return np.array(list(combinations(range(n), k)), dtype=np.intp)
    rng = np.random.default_rng(_SEED)
    return np.stack([rng.permutation(n)[:k] for _ in range(_NUM_SAMPLED_SUBSETS)])


@dataclass(frozen=True)
class ItemSamples:
    """All predictions of one item."""

    predictions: tuple[Prediction, ...]

    @cached_property
    def scored(self) -> tuple[Prediction, ...]:
        """Predictions with a verdict."""
        return tuple(one for one in self.predictions if one.judgement.is_scored)

    @property
    def has_unscored(self) -> bool:
        """Whether a prediction has no verdict."""
        return len(self.scored) < len(self.predictions)

    @cached_property
    def num_right(self) -> int:
        """The number of correct predictions."""
        return sum(one.judgement.is_correct for one in self.scored)

    @property
    def share_right(self) -> float | None:
        """Correct predictions among the scored ones; None if none could be scored."""
        return self.num_right / len(self.scored) if self.scored else None

    @cached_property
    def votes(self) -> Votes:
        """The distinct answers. An answer without a canonical form or from a lenient rule does not vote."""
        counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for judgement in (one.judgement for one in self.scored):
            if judgement.canonical is not None and not judgement.is_lenient:
                entry = counts[judgement.canonical]
                entry[0] += 1
                entry[1] += judgement.is_correct
        return tuple(sorted((count, num_right) for count, num_right in counts.values()))

    def majority_at(self, k: int) -> float:
        """The probability that the most frequent answer of k samples is correct."""
        num_abstained = len(self.scored) - sum(count for count, _ in self.votes)
        return majority_at_k(self.votes, num_abstained, k)


def by_item(predictions: Iterable[Prediction]) -> dict[str, ItemSamples]:
    """The predictions by item id, in the order of the samples; items in order of first appearance."""
    grouped: defaultdict[str, list[Prediction]] = defaultdict(list)
    for prediction in predictions:
        grouped[prediction.item_id].append(prediction)
    return {
        item_id: ItemSamples(tuple(sorted(samples, key=lambda one: one.sample)))
        for item_id, samples in grouped.items()
    }


_ORDER = {name: position for position, name in enumerate((*get_args(Section), *get_args(Difficulty)))}

JudgementCount = Callable[[Judgement], int]


def score(predictions: Sequence[Prediction], *, has_lenient_rules: bool) -> Scores:
    """All scores of an evaluation; the order of the predictions does not matter.

    Args:
        predictions: Every sample of every item.
        has_lenient_rules: Whether the protocol allows lenient rules; their answers are scored separately.
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
        failures=_sorted_counts(
            "checker" if one.generation.failure is None else one.generation.failure.code
            for one in predictions
            if not one.judgement.is_scored
        ),
        rules=_sorted_counts(one.judgement.rule for one in predictions if one.judgement.rule),
    )


def _sorted_counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


@dataclass(frozen=True)
class _Scorer:
    """Scores groups of items in the same way."""

    num_samples: int
    """Per item. With 1, verdicts are independent and get Wilson's interval."""
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
        predictions = [one for item in items for one in item.predictions]
        scored = [one for item in items for one in item.scored]
        return GroupScores(
            num_items=len(items),
            num_predictions=len(predictions),
            num_scored=len(scored),
            num_unscored=len(predictions) - len(scored),
            num_no_answer=sum(one.judgement.verdict == "no-answer" for one in scored),
            num_lenient=sum(one.judgement.is_lenient for one in scored),
            num_cut_off=sum(one.generation.finish == "cut-off" for one in predictions),
            num_steps=sum(len(one.judgement.steps) for one in scored),
            accuracy=self._mean_of_items(items, lambda one: one.is_correct),
            lenient_accuracy=self._mean_of_items(items, lambda one: one.verdict == "correct")
            if self.has_lenient_rules
            else None,
            format_adherence=self._rate(items, lambda one: one.is_well_formed),
            # External predictions have no token counts.
            reasoning_tokens=_spread(
                [one.generation.num_reasoning_tokens for one in scored if one.generation.num_new_tokens]
            ),
            reasoning_steps=_spread([len(one.judgement.steps) for one in scored]),
            # The steps of one completion are not independent.
            step_correctness=ratio_estimate(
                _count_by_item(
                    items,
                    lambda one: sum(step.verdict == "confirmed" for step in one.steps),
                    lambda one: sum(step.verdict != "unchecked" for step in one.steps),
                )
            ),
            right_by_wrong_work=self._rate(
                items, lambda one: one.is_correct and one.has_broken_step, lambda one: one.is_correct
            ),
            pass_at=self._at_each_k(items, lambda item, k: pass_at_k(len(item.scored), item.num_right, k)),
            majority_at=self._at_each_k(items, ItemSamples.majority_at),
        )

    def _mean_of_items(self, items: Sequence[ItemSamples], counted: JudgementCount) -> Estimate | None:
        if self.num_samples == 1:
            return self._rate(items, counted)
        counts = _count_by_item(items, counted, lambda _: 1)
        return mean_estimate([count / total for count, total in counts if total])

    def _rate(
        self, items: Sequence[ItemSamples], counted: JudgementCount, among: JudgementCount = lambda _: 1
    ) -> Estimate | None:
        counts = _count_by_item(items, counted, among)
        if self.num_samples > 1:
            return ratio_estimate(counts)
        return wilson_estimate(sum(count for count, _ in counts), sum(total for _, total in counts))

    def _at_each_k(
        self, items: Sequence[ItemSamples], probability: Callable[[ItemSamples, int], float]
    ) -> dict[int, Estimate]:
        if self.num_samples == 1:
            return {}
        estimates = {
            k: mean_estimate([probability(item, k) for item in items if len(item.scored) >= k])
            for k in sample_counts(self.num_samples)
        }
        return {k: estimate for k, estimate in estimates.items() if estimate is not None}


def _count_by_item(
    items: Sequence[ItemSamples], counted: JudgementCount, among: JudgementCount
) -> list[tuple[int, int]]:
    judgements = [[one.judgement for one in item.scored] for item in items]
    return [(sum(map(counted, group)), sum(map(among, group))) for group in judgements]


def _spread(values: Sequence[int]) -> Spread | None:
    if not values:
        return None
    median, p90 = np.quantile(values, (0.5, 0.9))
    return Spread(mean=float(np.mean(values)), median=float(median), p90=float(p90), n=len(values))
