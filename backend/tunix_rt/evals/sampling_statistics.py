"""What several samples an item say: intervals by resampling items, pass@k, majority@k."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from tunix_rt.base.statistics import wilson_interval, wilson_share
from tunix_rt.core.evaluation.scores import Estimate

NUM_RESAMPLES = 2000
MAX_SUBSETS = 13_000
"""Majority votes of at most this many subsets are all counted: exact up to 16 samples an item (12,870)."""
_NUM_DRAWN_SUBSETS = 2000
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
def majority_at_k(votes: Votes, num_silent: int, k: int) -> float:
    """The chance that the most frequent answer of k samples is right, over the k-subsets of the samples.

    Ties are drawn by lot. Samples without an answer do not vote; k of them are wrong.

    Args:
        votes: One entry a different answer.
        num_silent: Samples without an answer.
        k: At most as many as there are samples.

    Example:
        answers 5, 5, 7 with 5 right, k = 2 -> subsets 55, 57, 57 -> (1 + 0.5 + 0.5) / 3
    """
    if not votes:
        return 0.0
    silent = len(votes)
    ballots = np.repeat(np.arange(silent + 1), [count for count, _ in votes] + [num_silent])
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
    return np.stack([draw.permutation(n)[:k] for _ in range(_NUM_DRAWN_SUBSETS)])
