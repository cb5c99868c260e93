import re
from itertools import combinations, product
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from tunix_rt.base.statistics import sign_test, wilson_interval
from tunix_rt.evaluation.scoring.scores import (
    majority_at_k,
    mean_difference_interval,
    mean_estimate,
    pass_at_k,
    ratio_estimate,
    sample_counts,
)

DOCS = Path(__file__).parents[4] / "docs" / "comparing.md"


@pytest.mark.parametrize(
    ("num_lost", "num_gained"), [(0, 0), (0, 1), (1, 7), (5, 5), (0, 6), (12, 30), (400, 500)]
)
def test_sign_test_matches_scipy(num_lost: int, num_gained: int) -> None:
    n = num_lost + num_gained
    expected = binomtest(num_lost, n, 0.5).pvalue if n else 1.0
    assert sign_test(num_lost, num_gained) == pytest.approx(expected)


def test_documented_p_values_match_code() -> None:
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (0\.\d+) \|$", DOCS.read_text(encoding="utf-8"), re.M)
    assert len(rows) == 5
    for num_lost, num_gained, p_value in rows:
        assert sign_test(int(num_lost), int(num_gained)) == pytest.approx(float(p_value), rel=0.03)


@given(st.integers(0, 300), st.integers(0, 300))
def test_sign_test_is_symmetric(num_lost: int, num_gained: int) -> None:
    assert sign_test(num_lost, num_gained) == sign_test(num_gained, num_lost)
    assert 0 < sign_test(num_lost, num_gained) <= 1


def test_sign_test_handles_large_counts() -> None:
    assert sign_test(49_700, 50_300) == pytest.approx(binomtest(49_700, 100_000, 0.5).pvalue, rel=1e-6)
    assert sign_test(0, 100_000) == 0.0


@given(st.floats(0, 1), st.integers(1, 10_000))
def test_wilson_interval_contains_share(share: float, n: int) -> None:
    low, high = wilson_interval(share, n)
    assert 0 <= low <= share <= high <= 1


@pytest.mark.parametrize(
    ("num_samples", "expected"), [(1, (1,)), (2, (1, 2)), (6, (1, 2, 4, 6)), (8, (1, 2, 4, 8))]
)
def test_sample_counts_double(num_samples: int, expected: tuple[int, ...]) -> None:
    assert sample_counts(num_samples) == expected


@given(st.integers(1, 7), st.data())
def test_pass_at_k_matches_enumeration(num_samples: int, data: st.DataObject) -> None:
    num_right = data.draw(st.integers(0, num_samples))
    k = data.draw(st.integers(1, num_samples))
    subsets = list(combinations([True] * num_right + [False] * (num_samples - num_right), k))
    assert pass_at_k(num_samples, num_right, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


def enumerated_majority(answers: tuple[str | None, ...], k: int) -> float:
    """The chance of a right majority over every subset of k answers; ties are drawn at random."""
    chances = []
    for subset in combinations(answers, k):
        votes = [answer for answer in subset if answer is not None]
        most = max(map(votes.count, votes), default=0)
        winners = {answer for answer in votes if votes.count(answer) == most}
        chances.append(("right" in winners) / len(winners) if winners else 0.0)
    return sum(chances) / len(chances)


def test_majority_matches_enumeration() -> None:
    for answers in product(["right", "b", "c", None], repeat=5):
        counts = {answer: answers.count(answer) for answer in set(answers) - {None}}
        votes = tuple(sorted((count, count * (answer == "right")) for answer, count in counts.items()))
        for k in (1, 2, 3, 5):
            found = majority_at_k(votes, answers.count(None), k)
            assert found == pytest.approx(enumerated_majority(answers, k)), (answers, k)


def test_sampled_majority_approximates_exact_chance() -> None:
    """With 21 right and 19 wrong of 40, the right ones lead among 20 drawn, or tie and win half the time."""
    ways = {right: comb(21, right) * comb(19, 20 - right) for right in range(1, 21)}
    exact = sum(count * (0.5 if right == 10 else right > 10) for right, count in ways.items()) / comb(40, 20)
    assert majority_at_k(((19, 0), (21, 21)), 0, 20) == pytest.approx(exact, abs=0.03)
    assert majority_at_k(((19, 0), (21, 21)), 0, 40) == 1.0


def test_ratio_skips_empty_items() -> None:
    estimate = ratio_estimate([(3, 4), (0, 2), (0, 0)])
    assert estimate is not None
    assert (estimate.value, estimate.n) == (0.5, 6)
    assert ratio_estimate([(0, 0)]) is None


def test_unanimous_items_have_an_interval() -> None:
    estimate = mean_estimate([1.0] * 10)
    assert estimate is not None
    assert estimate.method == "wilson-by-item"
    assert estimate.low == pytest.approx(0.722, abs=1e-3)
    low, high = mean_difference_interval([0.0] * 50)
    assert (low, high) == pytest.approx((-0.0714, 0.0714), abs=1e-3)
    assert mean_difference_interval([1.0] * 50)[1] == 1.0


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=30))
@example([-1.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.0])
def test_difference_interval_is_antisymmetric(differences: list[float]) -> None:
    low, high = mean_difference_interval(differences)
    mean = sum(differences) / len(differences)
    assert -1 <= low <= mean <= high <= 1
    assert mean_difference_interval([-difference for difference in differences]) == (-high, -low)


def test_bootstrap_has_nominal_coverage() -> None:
    """80 items with 4 samples each and different success rates, whose true mean is known."""
    rng = np.random.default_rng(7)
    truth, num_covered, num_trials = 0.6, 0, 300
    for _ in range(num_trials):
        skills = rng.beta(1.2, 0.8, size=80)
        estimate = mean_estimate((rng.binomial(4, skills) / 4).tolist())
        assert estimate is not None
        num_covered += estimate.low <= truth <= estimate.high
    assert 0.91 <= num_covered / num_trials <= 0.98


def test_paired_bootstrap_has_nominal_coverage() -> None:
    rng = np.random.default_rng(11)
    truth, num_covered, num_trials = 0.1, 0, 300
    for _ in range(num_trials):
        differences = rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.7, 0.2], size=120)
        low, high = mean_difference_interval(differences.tolist())
        num_covered += low <= truth <= high
    assert 0.91 <= num_covered / num_trials <= 0.98
