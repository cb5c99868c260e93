"""Counted values in bins."""

import pytest

from tunix_rt.base.statistics import MAX_BINS, histogram


def test_few_whole_numbers_get_a_bin_each() -> None:
    assert [(found.low, found.count) for found in histogram({2: 1, 4: 3})] == [(2, 1), (3, 0), (4, 3)]


def test_no_values_give_no_bins() -> None:
    assert histogram({}) == ()


@pytest.mark.parametrize("values", [range(1_000), range(37, 9_001, 7), [0, 100], [5]])
def test_every_value_is_counted_once_in_round_bins(values: list[int]) -> None:
    bins = histogram(dict.fromkeys(values, 1))
    assert sum(found.count for found in bins) == len(values)
    assert len(bins) <= MAX_BINS + 1
    assert bins[0].low <= min(values)
    assert bins[-1].low <= max(values) < bins[-1].high
