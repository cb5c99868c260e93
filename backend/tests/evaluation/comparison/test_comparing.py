from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from support.evaluations import make_evaluation, make_prediction, make_predictions, make_protocol

from tunix_rt.base.errors import ConflictError
from tunix_rt.engines.types import Decoding
from tunix_rt.evaluation.comparison.compare import ScoredEvaluation, compare
from tunix_rt.evaluation.comparison.types import Comparison, PairedDifference
from tunix_rt.evaluation.types import Prediction


def scored(predictions: list[Prediction], name: str = "model-a", **values: Any) -> ScoredEvaluation:
    return ScoredEvaluation(make_evaluation(predictions, name=name, **values), predictions)


def compared(base: Iterable[str], other: Iterable[str]) -> Comparison:
    return compare(scored(make_predictions(base)), scored(make_predictions(other), "model-b"))


def overall(comparison: Comparison) -> PairedDifference:
    assert comparison.overall is not None
    return comparison.overall


def test_lost_and_gained_items_are_counted() -> None:
    difference = overall(compared("111100", "100010"))
    assert (difference.num_both_right, difference.num_both_wrong) == (1, 1)
    assert (difference.num_lost, difference.num_gained, difference.n) == (3, 1, 6)
    assert (difference.base, difference.other) == (pytest.approx(4 / 6), pytest.approx(2 / 6))
    assert difference.difference == pytest.approx(-2 / 6)
    assert difference.low <= difference.difference <= difference.high


def test_p_value_matches_exact_mcnemar() -> None:
    difference = overall(compared("1" * 9 + "0" * 20, "0" * 9 + "1" + "0" * 19))
    assert difference.p_value == pytest.approx(binomtest(1, 10, 0.5).pvalue)


def test_equal_evaluations_show_no_difference() -> None:
    comparison = compared("1100", "1100")
    assert overall(comparison).p_value == 1.0
    assert overall(comparison).difference == 0.0
    assert comparison.flips == ()


def test_unscored_items_are_excluded_and_counted() -> None:
    comparison = compared("1101?", "1?011")
    assert overall(comparison).n == 3
    assert overall(comparison).num_unscored == 2
    assert comparison.num_other_unscored == 1
    assert [(flip.item_id, flip.direction) for flip in comparison.flips] == [("item-1", "unscored")]


def test_disjoint_verdicts_give_no_difference() -> None:
    comparison = compared("1?", "?1")
    assert comparison.overall is None
    assert comparison.by_section == {}


def test_flips_list_lost_items_first() -> None:
    comparison = compared("0101", "1010")
    directions = [(flip.item_id, flip.direction) for flip in comparison.flips]
    assert directions == [("item-1", "lost"), ("item-3", "lost"), ("item-0", "gained"), ("item-2", "gained")]
    lost = comparison.flips[0]
    assert (lost.base.verdict, lost.other.verdict) == ("correct", "wrong")
    assert lost.base.text is not None
    assert "<answer>18</answer>" in lost.base.text
    assert (lost.other.answer, lost.expected_answer) == ("17", "18")


def test_sections_are_compared_separately() -> None:
    def predictions(verdicts: str) -> list[Prediction]:
        sections = ("core", "core", "edge_case", "edge_case")
        return [
            prediction.model_copy(update={"section": section})
            for prediction, section in zip(make_predictions(verdicts), sections, strict=True)
        ]

    comparison = compare(scored(predictions("1111")), scored(predictions("1100"), "model-b"))
    assert comparison.by_section["core"].difference == 0.0
    assert comparison.by_section["edge_case"].difference == -1.0


def test_samples_are_compared_by_share() -> None:
    difference = overall(compared(["11", "10", "00", "11"], ["10", "10", "01", "11"]))
    assert (difference.num_lost, difference.num_gained) == (1, 1)
    assert (difference.num_both_right, difference.num_both_wrong) == (1, 0)
    assert difference.base == difference.other == 0.625


def test_sample_flip_shows_right_and_wrong() -> None:
    assert compared(["011"], ["110"]).flips == ()
    (lost,) = compared(["011"], ["100"]).flips
    assert (lost.base.verdict, lost.other.verdict) == ("correct", "wrong")
    assert (lost.base.share_right, lost.other.share_right) == (pytest.approx(2 / 3), pytest.approx(1 / 3))


def test_lenient_answer_counts_as_lost() -> None:
    lenient = [make_prediction(is_lenient=True, rule="last-number")]
    (flip,) = compare(scored([make_prediction()]), scored(lenient, "model-b")).flips
    assert flip.direction == "lost"


def test_different_protocols_require_flag() -> None:
    predictions = make_predictions("10")
    sampled = make_protocol(decoding=Decoding(temperature=0.7))
    base, other = scored(predictions), scored(predictions, "model-b", protocol=sampled)
    with pytest.raises(ConflictError, match=r"decoding\.temperature: 0\.0 / 0\.7.*--allow-different"):
        compare(base, other)
    comparison = compare(base, other, allow_different_protocols=True)
    assert not comparison.is_same_protocol
    assert comparison.protocol_differences == ("decoding.temperature: 0.0 / 0.7",)


def test_different_evalsets_pair_equal_questions() -> None:
    base = [make_prediction("a"), make_prediction("b"), make_prediction("c"), make_prediction("d")]
    other = [
        make_prediction("a"),
        make_prediction("b", prompt="Another question?"),
        make_prediction("c", expected_answer="19"),
        make_prediction("e"),
    ]
    protocol = make_protocol(evalset_hash="f" * 64)
    comparison = compare(
        scored(base), scored(other, "model-b", protocol=protocol), allow_different_protocols=True
    )
    assert (comparison.num_paired, comparison.num_only_base, comparison.num_only_other) == (1, 3, 3)


def test_disjoint_evaluations_are_refused() -> None:
    base, other = scored([make_prediction("a")]), scored([make_prediction("b")], "model-b")
    with pytest.raises(ConflictError, match="share no item"):
        compare(base, other)


@given(st.lists(st.tuples(st.sampled_from("10-?"), st.sampled_from("10-?")), min_size=1, max_size=30))
def test_swapping_sides_negates_difference(verdicts: list[tuple[str, str]]) -> None:
    base, other = ("".join(side) for side in zip(*verdicts, strict=True))
    forward, backward = compared(base, other).overall, compared(other, base).overall
    assert (forward is None) == (backward is None)
    if forward is not None and backward is not None:
        assert forward.p_value == backward.p_value
        assert forward.difference == pytest.approx(-backward.difference)
        assert (forward.low, forward.high) == (-backward.high, -backward.low)
        assert (forward.num_lost, forward.num_gained) == (backward.num_gained, backward.num_lost)
        assert (
            forward.num_lost + forward.num_gained + forward.num_both_right + forward.num_both_wrong
            == forward.n
        )
