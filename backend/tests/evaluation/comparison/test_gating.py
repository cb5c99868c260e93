from typing import Any

import pytest
from support.evaluations import make_evaluation, make_predictions

from tunix_rt.evaluation.comparison.compare import ScoredEvaluation, compare
from tunix_rt.evaluation.comparison.gate import gate
from tunix_rt.evaluation.comparison.types import GateRule, GateVerdict


def gated(base: list[str] | str, other: list[str] | str, **rule: Any) -> GateVerdict:
    sides = [
        ScoredEvaluation(make_evaluation(predictions, name=name), predictions)
        for name, predictions in (("old", make_predictions(base)), ("new", make_predictions(other)))
    ]
    return gate("main", GateRule(**rule), compare(*sides))


def test_equal_evaluations_pass() -> None:
    verdict = gated("1100", "1100")
    assert verdict.passed
    assert verdict.reasons == ()


def test_significant_loss_fails_with_numbers() -> None:
    verdict = gated("1" * 10, "0" * 6 + "1" * 4)
    assert not verdict.passed
    assert verdict.reasons == (
        "significant loss of 60.0 points: 100.0% -> 40.0%, 6 lost and 0 gained of 10, p = 0.031 < 0.05",
    )


def test_insignificant_loss_passes() -> None:
    assert gated("1" * 10, "0" * 5 + "1" * 5).passed


def test_significant_gain_passes() -> None:
    assert gated("0" * 10, "1" * 10).passed


def test_smaller_alpha_tolerates_loss() -> None:
    assert gated("1" * 10, "0" * 6 + "1" * 4, alpha=0.01).passed


@pytest.mark.parametrize(
    "protection",
    [
        {"protected_sections": ("core",)},
        {"protected_categories": ("addition",)},
        {"protected_items": ("item-0",)},
    ],
)
def test_lost_protected_item_fails_despite_gains(protection: dict[str, Any]) -> None:
    verdict = gated("10000", "01111", **protection)
    assert verdict.reasons == ("1 protected item is no longer right: item-0",)


def test_unaffected_protected_item_passes() -> None:
    assert gated("11", "01", protected_items=("item-1",)).passed


def test_unscored_protected_item_fails() -> None:
    verdict = gated("11", "?1", protected_sections=("core",), max_unscored=0.5)
    assert verdict.reasons == ("1 protected item is no longer right: item-0",)


def test_unscored_items_fail_above_limit() -> None:
    assert gated("1111", "11?1").reasons == ("1 of 4 items could not be scored, more than 0.0% may",)
    assert gated("1111", "11?1", max_unscored=0.25).passed


def test_partly_failed_item_counts_as_unscored() -> None:
    assert not gated(["11", "11"], ["1?", "11"]).passed


def test_protected_item_needs_half_its_samples() -> None:
    assert gated(["1111"], ["1100"], protected_items=("item-0",)).passed
    assert not gated(["1111"], ["1000"], protected_items=("item-0",)).passed


def test_empty_comparison_fails() -> None:
    assert "no item is scored in both evaluations" in gated("1", "?", max_unscored=1.0).reasons


def test_many_lost_items_are_abbreviated() -> None:
    verdict = gated("1" * 8, "0" * 8, protected_sections=("core",), alpha=0.001)
    expected = "8 protected items are no longer right: item-0, item-1, item-2, item-3, item-4 and 3 more"
    assert verdict.reasons == (expected,)
