import pytest

from tunix_rt.base.statistics import wilson_share


@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [(0, 50, 0.0, 0.0714), (2, 50, 0.0110, 0.1346), (21, 50, 0.2938, 0.5577), (50, 50, 0.9286, 1.0)],
)
def test_wilson_interval_matches_reference_values(count: int, n: int, low: float, high: float) -> None:
    share = wilson_share(count, n)
    assert (share.low, share.high) == pytest.approx((low, high), abs=5e-4)


def test_empty_sample_spans_full_interval() -> None:
    share = wilson_share(0, 0)
    assert (share.low, share.high) == (0.0, 1.0)


def test_share_prints_count_and_interval() -> None:
    assert str(wilson_share(21, 50)) == "21 of 50 (42.0%, 95 % 29.4%–55.8%)"
