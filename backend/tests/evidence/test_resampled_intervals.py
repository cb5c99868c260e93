"""Only bootstrap intervals may differ between NumPy versions."""

from typing import Any

import pytest

from tunix_rt.evidence.checks.scores import RESAMPLING_TOLERANCE, is_within_resampling_error

BOOTSTRAP_SCORE = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 100, "method": "bootstrap-by-item"}


def _scores(**changes: Any) -> dict[str, Any]:
    return {"overall": {"step_correctness": BOOTSTRAP_SCORE | changes}}


@pytest.mark.parametrize(("end", "recomputed"), [("low", 0.41), ("low", 0.39), ("high", 0.615)])
def test_interval_ends_tolerate_resampling_error(end: str, recomputed: float) -> None:
    assert is_within_resampling_error(_scores(), f"overall.step_correctness.{end}", recomputed)


@pytest.mark.parametrize(
    ("changes", "key", "recomputed"),
    [
        ({}, "low", 0.4 + 1.1 * RESAMPLING_TOLERANCE * 0.2),
        ({}, "high", 0.4),
        ({}, "high", None),
        ({}, "value", 0.501),
        ({}, "n", 101),
        ({"method": "wilson"}, "low", 0.401),
    ],
)
def test_other_differences_are_rejected(changes: dict[str, Any], key: str, recomputed: object) -> None:
    assert not is_within_resampling_error(_scores(**changes), f"overall.step_correctness.{key}", recomputed)
