"""Histograms of counted values."""

import pytest

from tunix_rt.base.statistics import MAX_BINS, histogram


def test_few_integers_get_unit_bins() -> None:
    assert [(bin.low, bin.count) for bin in histogram({2: 1, 4: 3})] == [(2, 1), (3, 0), (4, 3)]


def test_empty_counts_have_no_bins() -> None:
    assert histogram({}) == ()


@pytest.mark.parametrize("values", [range(1_000), range(37, 9_001, 7), [0, 100], [5]])
def test_bins_count_every_value_once(values: list[int]) -> None:
    bins = histogram(dict.fromkeys(values, 1))
    assert sum(bin.count for bin in bins) == len(values)
    assert len(bins) <= MAX_BINS + 1
    assert bins[0].low <= min(values)
    assert bins[-1].low <= max(values) < bins[-1].high
