import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.evaluations import make_prediction, make_predictions

from tunix_rt.base.statistics import wilson_share
from tunix_rt.evaluation.scoring.scores import score
from tunix_rt.evaluation.types import Estimate, Generation, GroupScores, Prediction

step_verdicts = st.sampled_from(["confirmed", "broken", "unchecked"])


def overall(predictions: list[Prediction], **options: Any) -> GroupScores:
    return score(predictions, **{"has_lenient_rules": False} | options).overall


def value_and_n(estimate: Estimate | None) -> tuple[float, int]:
    assert estimate is not None
    return estimate.value, estimate.n


def test_accuracy_ignores_unscored_predictions() -> None:
    scores = score(make_predictions("110-?"), has_lenient_rules=False)
    assert scores.primary_score == 0.5
    assert value_and_n(scores.overall.accuracy) == (0.5, 4)
    assert (scores.overall.num_scored, scores.overall.num_unscored) == (4, 1)
    assert scores.overall.num_no_answer == 1


def test_single_sample_uses_wilson_interval() -> None:
    scores = overall(make_predictions("1" * 21 + "0" * 29))
    assert scores.accuracy is not None
    expected = wilson_share(21, 50)
    assert (scores.accuracy.low, scores.accuracy.high) == (expected.low, expected.high)
    assert scores.accuracy.method == "wilson"
    assert scores.pass_at == {}
    assert scores.majority_at == {}


def test_unscored_predictions_have_no_score() -> None:
    scores = score(make_predictions("??"), has_lenient_rules=False)
    assert scores.primary_score is None
    assert scores.overall.accuracy is None
    assert scores.overall.format_adherence is None
    assert scores.overall.reasoning_tokens is None
    assert scores.failures == {"prompt-too-long": 2}


def test_empty_predictions_have_no_items() -> None:
    assert score([], has_lenient_rules=False).overall.num_items == 0


def test_lenient_answers_are_counted_separately() -> None:
    lenient = make_prediction("b", is_lenient=True, rule="last-number", is_well_formed=False)
    scores = overall([make_prediction("a"), lenient], has_lenient_rules=True)
    assert value_and_n(scores.accuracy) == (0.5, 2)
    assert value_and_n(scores.lenient_accuracy) == (1.0, 2)
    assert scores.num_lenient == 1
    assert overall([lenient]).lenient_accuracy is None


def test_checker_failure_is_counted() -> None:
    prediction = make_prediction("b")
    failed = prediction.model_copy(update={"judgement": make_prediction("b", "unscored").judgement})
    assert score([make_prediction("a"), failed], has_lenient_rules=False).failures == {"checker": 1}


def test_groups_follow_reading_order() -> None:
    sections = ("edge_case", "core", "trace_sensitive", "core")
    difficulties = ("hard", "easy", "medium", "easy")
    predictions = [
        make_prediction(f"item-{number}", section=section, difficulty=difficulty, category=f"c{number % 2}")
        for number, (section, difficulty) in enumerate(zip(sections, difficulties, strict=True))
    ]
    scores = score(predictions, has_lenient_rules=False)
    assert list(scores.by_section) == ["core", "trace_sensitive", "edge_case"]
    assert list(scores.by_difficulty) == ["easy", "medium", "hard"]
    assert list(scores.by_category) == ["c0", "c1"]
    assert scores.by_section["core"].num_items == 2


def test_steps_are_counted_by_verdict() -> None:
    predictions = [
        make_prediction("a", steps=("confirmed", "broken", "unchecked")),
        make_prediction("b", steps=("confirmed", "confirmed")),
        make_prediction("c", "wrong", steps=()),
    ]
    scores = overall(predictions)
    assert scores.num_steps == 5
    assert value_and_n(scores.step_correctness) == (0.75, 4)
    assert value_and_n(scores.right_by_wrong_work) == (0.5, 2)
    assert scores.reasoning_steps is not None
    assert (scores.reasoning_steps.mean, scores.reasoning_steps.median) == (pytest.approx(5 / 3), 2)


def test_unchecked_steps_have_no_correctness() -> None:
    assert overall([make_prediction(steps=("unchecked",))]).step_correctness is None


def test_external_texts_have_no_token_length() -> None:
    counted = make_prediction("a")
    text = Generation(item_id="b", text="<answer>18</answer>", finish="end-of-turn")
    scores = overall([counted, counted.model_copy(update={"item_id": "b", "generation": text})])
    assert scores.reasoning_tokens is not None
    assert scores.reasoning_tokens.n == 1
    assert scores.reasoning_steps is not None
    assert scores.reasoning_steps.n == 2


def test_rules_are_counted() -> None:
    predictions = [
        make_prediction("a"),
        make_prediction("b", rule="boxed"),
        make_prediction("c", rule="boxed"),
    ]
    assert score(predictions, has_lenient_rules=False).rules == {"answer-tag": 1, "boxed": 2}


def test_samples_are_averaged_per_item() -> None:
    """One item has three scored samples and the other one; both weigh the same."""
    scores = overall(make_predictions(["111", "0??"]))
    assert value_and_n(scores.accuracy) == (0.5, 2)
    assert scores.accuracy is not None
    assert scores.accuracy.method == "bootstrap-by-item"


def test_pass_at_k_requires_k_samples() -> None:
    scores = overall(make_predictions(["1100", "0???"]))
    assert list(scores.pass_at) == [1, 2, 4]
    assert value_and_n(scores.pass_at[1]) == (0.25, 2)
    assert value_and_n(scores.pass_at[2]) == (pytest.approx(1 - 1 / 6), 1)
    assert value_and_n(scores.pass_at[4]) == (1.0, 1)


def test_majority_uses_canonical_answers() -> None:
    answers = (("correct", "18.0", "18"), ("correct", "18", "18"), ("wrong", "17", "17"))
    predictions = [
        make_prediction("a", verdict, sample=sample, answer=answer, canonical=canonical)
        for sample, (verdict, answer, canonical) in enumerate(answers)
    ]
    assert value_and_n(overall(predictions).majority_at[3]) == (1.0, 1)


def test_lenient_answer_has_no_vote() -> None:
    predictions = [
        make_prediction("a"),
        *(
            make_prediction("a", "wrong", sample=sample, is_lenient=True, rule="last-number")
            for sample in (1, 2)
        ),
    ]
    assert value_and_n(overall(predictions, has_lenient_rules=True).majority_at[3]) == (1.0, 1)


@st.composite
def some_predictions(draw: st.DrawFn) -> list[Prediction]:
    num_samples = draw(st.integers(1, 4))
    return [
        make_prediction(
            f"item-{number}",
            draw(st.sampled_from(["correct", "wrong", "no-answer", "unscored"])),
            sample=sample,
            category=f"c{number % 2}",
            steps=draw(st.lists(step_verdicts, max_size=3)),
        )
        for number in range(draw(st.integers(1, 6)))
        for sample in range(num_samples)
    ]


@given(some_predictions(), st.randoms())
def test_prediction_order_does_not_matter(predictions: list[Prediction], rng: random.Random) -> None:
    shuffled = predictions.copy()
    rng.shuffle(shuffled)
    scores = [score(order, has_lenient_rules=True).to_json() for order in (predictions, shuffled)]
    assert scores[0] == scores[1]


@given(some_predictions())
def test_intervals_contain_their_value(predictions: list[Prediction]) -> None:
    scores = overall(predictions, has_lenient_rules=True)
    single = [scores.accuracy, scores.lenient_accuracy, scores.format_adherence, scores.step_correctness]
    at_k = [*scores.pass_at.values(), *scores.majority_at.values()]
    for estimate in [*single, scores.right_by_wrong_work, *at_k]:
        assert estimate is None or estimate.low <= estimate.value <= estimate.high


@given(some_predictions())
def test_metrics_at_1_equal_accuracy(predictions: list[Prediction]) -> None:
    scores = overall(predictions)
    if scores.pass_at:
        assert scores.accuracy is not None
        assert scores.pass_at[1].value == pytest.approx(scores.accuracy.value)
        assert scores.majority_at[1].value == pytest.approx(scores.accuracy.value)


@given(some_predictions())
def test_groups_sum_to_total(predictions: list[Prediction]) -> None:
    scores = score(predictions, has_lenient_rules=False)
    for groups in (scores.by_section, scores.by_category, scores.by_difficulty):
        assert sum(group.num_scored for group in groups.values()) == scores.overall.num_scored
        assert sum(group.num_steps for group in groups.values()) == scores.overall.num_steps
    assert sum(scores.failures.values()) == scores.overall.num_unscored
