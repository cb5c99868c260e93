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
from tunix_rt.evaluation.types import Estimate, GroupScores, Prediction, Scores, Spread

NUM_RESAMPLES = 2000
MAX_SUBSETS = 13_000
"""Majority votes of at most this many subsets are all counted: exact up to 16 samples an item (12,870)."""
_NUM_SAMPLED_SUBSETS = 2000
_SEED = 0
_TAILS = (0.025, 0.975)


def wilson_estimate(count: int, n: int) -> Estimate | None:
    """The share `count / n` of independent things; None of nothing."""
    if n == 0:
        return None
    share = wilson_share(count, n)
    return Estimate(value=share.value, low=share.low, high=share.high, n=n, method="wilson")


def ratio_estimate(parts: Sequence[tuple[float, int]]) -> Estimate | None:
    """Sum of the first over sum of the second, with an interval over items.

    Each part belongs to one item: what is in an item is alike, so items are resampled, never what is in them.
    Where every item has the same ratio, resampling says nothing, and Wilson's interval over items stands in.

    Args:
        parts: Of each item, how much and of how many; items with none are left out.

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
    """The mean of one value in [0, 1] an item, with its interval over items."""
    return ratio_estimate([(value, 1) for value in values])


def mean_difference_interval(differences: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the mean of paired differences in [-1, 1]: bootstrap over the pairs.

    Where all are the same, resampling says nothing: as many unseen items as Wilson's interval of 0 of n
    allows may then differ either way.

    Example:
        50 times 0.0 -> (-0.071, 0.071)
    """
    if len(set(differences)) == 1:
        same, others = differences[0], wilson_share(0, len(differences)).high
        return same - others * (1 + same), same + others * (1 - same)
    table, turned = (_table((sign * difference, 1) for difference in differences) for sign in (1, -1))
    # Always the same one of the two is resampled: B against A mirrors A against B to the last digit.
    low, high = _bootstrap_interval(min(table, turned))
    if turned == table:
        return (low - high) / 2, (high - low) / 2
    return (-high, -low) if turned < table else (low, high)


Table = tuple[tuple[tuple[float, int], int], ...]
"""Each different pair of `how much` and `of how many`, and the number of items that have it; sorted."""


def _table(parts: Iterable[tuple[float, int]]) -> Table:
    return tuple(sorted(Counter(parts).items()))


def _ratio(table: Table) -> float:
    return sum(part * count for (part, _), count in table) / sum(among * count for (_, among), count in table)


@lru_cache(maxsize=10_000)
def _bootstrap_interval(table: Table) -> tuple[float, float]:
    """Where 95 % of the ratios lie when as many items are drawn with replacement.

    Equal items are drawn together, as one multinomial count: the same distribution in a fraction of the time.
    """
    rows = np.array([row for row, _ in table], dtype=np.float64)
    counts = np.array([count for _, count in table])
    draws = np.random.default_rng(_SEED).multinomial(counts.sum(), counts / counts.sum(), size=NUM_RESAMPLES)
    sums = draws @ rows
    low, high = np.quantile(sums[:, 0] / sums[:, 1], _TAILS)
    # A percentile of few, skewed items may miss the value itself by a hair.
    return min(float(low), _ratio(table)), max(float(high), _ratio(table))


def sample_counts(num_samples: int) -> tuple[int, ...]:
    """The k of pass@k: powers of two, and the number of samples itself.

    Example:
        6 -> 1, 2, 4, 6
    """
    powers = {1 << power for power in range(num_samples.bit_length())}
    return tuple(sorted(powers | {num_samples}))


def pass_at_k(num_samples: int, num_right: int, k: int) -> float:
    """The chance that at least one of k samples is right, estimated without bias from `num_samples` >= k.

    Example:
        4 samples, 1 right, k = 2 -> 1 - C(3, 2) / C(4, 2) = 0.5
    """
    return 1.0 - comb(num_samples - num_right, k) / comb(num_samples, k)


Votes = tuple[tuple[int, int], ...]
"""Of each different answer: how many samples gave it, and how many of those count as right; sorted."""


@lru_cache(maxsize=100_000)
def majority_at_k(votes: Votes, num_abstained: int, k: int) -> float:
    """The chance that the most frequent answer of k samples is right, over the k-subsets of the samples.

    Ties are drawn by lot. Samples without an answer do not vote; k of them are wrong.

    Args:
        votes: One entry a different answer.
        num_abstained: Samples without an answer.
        k: At most as many as there are samples.

    Example:
        answers 5, 5, 7 with 5 right, k = 2 -> subsets 55, 57, 57 -> (1 + 0.5 + 0.5) / 3
    """
    if not votes:
        return 0.0
    silent = len(votes)
    ballots = np.repeat(np.arange(silent + 1), [count for count, _ in votes] + [num_abstained])
    drawn = ballots[_subsets(len(ballots), k)]
    offsets = (silent + 1) * np.arange(len(drawn))[:, None]
    counts = np.bincount((drawn + offsets).ravel(), minlength=len(drawn) * (silent + 1))
    cast = counts.reshape(len(drawn), -1)[:, :silent]
    wins = (cast == cast.max(axis=1, keepdims=True)) & (cast > 0)
    rightness = np.array([num_right / count for count, num_right in votes])
    return float(((wins @ rightness) / np.maximum(wins.sum(axis=1), 1)).mean())


@lru_cache(maxsize=64)
def _subsets(n: int, k: int) -> NDArray[np.intp]:
    """All k-subsets of n positions, or 2,000 drawn with a fixed seed where there are too many."""
    if comb(n, k) <= MAX_SUBSETS:
        return np.array(list(combinations(range(n), k)), dtype=np.intp)
    draw = np.random.default_rng(_SEED)
    return np.stack([draw.permutation(n)[:k] for _ in range(_NUM_SAMPLED_SUBSETS)])


@dataclass(frozen=True)
class ItemSamples:
    """All predictions of one item."""

    predictions: tuple[Prediction, ...]

    @cached_property
    def scored(self) -> tuple[Prediction, ...]:
        """Those with a verdict."""
        return tuple(found for found in self.predictions if found.judgement.is_scored)

    @property
    def has_unscored(self) -> bool:
        """Whether one of them has no verdict."""
        return len(self.scored) < len(self.predictions)

    @cached_property
    def num_right(self) -> int:
        """Right ones."""
        return sum(found.judgement.is_correct for found in self.scored)

    @property
    def share_right(self) -> float | None:
        """Right ones among the scored; None where none could be scored."""
        return self.num_right / len(self.scored) if self.scored else None

    @cached_property
    def votes(self) -> Votes:
        """Its different answers. One without a canonical form, or found by a lenient rule, has no vote."""
        counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for judgement in (found.judgement for found in self.scored):
            if judgement.canonical is not None and not judgement.is_lenient:
                entry = counts[judgement.canonical]
                entry[0] += 1
                entry[1] += judgement.is_correct
        return tuple(sorted((count, num_right) for count, num_right in counts.values()))

    def majority_at(self, k: int) -> float:
        """The chance that the most frequent answer of k samples is right."""
        num_abstained = len(self.scored) - sum(count for count, _ in self.votes)
        return majority_at_k(self.votes, num_abstained, k)


def by_item(predictions: Iterable[Prediction]) -> dict[str, ItemSamples]:
    """The predictions of each item by its id, samples in their order, items as they first appear."""
    grouped: defaultdict[str, list[Prediction]] = defaultdict(list)
    for prediction in predictions:
        grouped[prediction.item_id].append(prediction)
    return {
        item_id: ItemSamples(tuple(sorted(found, key=lambda one: one.sample)))
        for item_id, found in grouped.items()
    }


CHECKER_FAILED = "checker"
_ORDER = {name: place for place, name in enumerate((*get_args(Section), *get_args(Difficulty)))}

PredictionCount = Callable[[Prediction], int]


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

    def _mean_of_items(self, items: Sequence[ItemSamples], is_counted: PredictionCount) -> Estimate | None:
        if self.num_samples == 1:
            return self._share(items, is_counted, _one)
        scored = [item.scored for item in items if item.scored]
        return mean_estimate([sum(map(is_counted, found)) / len(found) for found in scored])

    def _share(
        self, items: Sequence[ItemSamples], counted: PredictionCount, among: PredictionCount
    ) -> Estimate | None:
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


def _parts(
    items: Sequence[ItemSamples], counted: PredictionCount, among: PredictionCount
) -> list[tuple[int, int]]:
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
