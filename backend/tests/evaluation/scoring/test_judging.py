"""Judging of single completions."""

from collections.abc import Iterable
from typing import Any

import pytest

from tunix_rt.base.errors import DataError
from tunix_rt.base.host import in_this_process
from tunix_rt.datasets.types import EvalItem, evalset_hash
from tunix_rt.evaluation.scoring.extraction import MAX_ANSWER_CHARS
from tunix_rt.evaluation.scoring.judgement import judge, judge_all, protocol_versions
from tunix_rt.evaluation.types import Generation, GenerationFailure, Judgement, Protocol, default_extraction


def make_item(expected_answer: str = "18", **changes: Any) -> EvalItem:
    return EvalItem(
        **{
            "id": "q-1",
            "prompt": "How many eggs are left?",
            "expected_answer": expected_answer,
            "section": "core",
            "category": "word_problem",
            "difficulty": "easy",
        }
        | changes
    )


def make_protocol(items: Iterable[EvalItem] = (), *, is_lenient: bool = False) -> Protocol:
    return Protocol(
        evalset_hash=evalset_hash(items),
        template_hash="0" * 64,
        extraction=default_extraction("reasoning", is_lenient=is_lenient),
        max_answer_chars=MAX_ANSWER_CHARS,
        versions=protocol_versions(items),
    )


def make_generation(text: str, **changes: Any) -> Generation:
    return Generation(**{"item_id": "q-1", "text": text, "finish": "end-of-turn"} | changes)


def judged(text: str, item: EvalItem | None = None, *, is_lenient: bool = False) -> Judgement:
    return judge(item or make_item(), make_generation(text), make_protocol(is_lenient=is_lenient)).judgement


def test_correct_answer_with_valid_work() -> None:
    judgement = judged("<reasoning>\n9 * 2 = 18\nThat is all.\n</reasoning>\n<answer>18 eggs</answer>")
    assert (judgement.verdict, judgement.is_well_formed, judgement.rule) == ("correct", True, "answer-tag")
    assert [step.verdict for step in judgement.steps] == ["confirmed", "unchecked"]
    assert (judgement.checker, judgement.canonical) == ("number", "18")


def test_correct_answer_with_broken_step() -> None:
    judgement = judged("<reasoning>\n9 * 2 = 19\n</reasoning>\n<answer>18</answer>")
    assert judgement.is_correct
    assert judgement.has_broken_step


def test_wrong_answer_explains_expected_value() -> None:
    judgement = judged("<answer>19</answer>")
    assert (judgement.verdict, judgement.explanation) == ("wrong", "19 is not 18")


def test_missing_answer_has_its_own_verdict() -> None:
    judgement = judged("I do not know.")
    assert (judgement.verdict, judgement.answer, judgement.canonical) == ("no-answer", None, None)


def test_lenient_answer_is_never_correct() -> None:
    judgement = judged("So 18 are left.", is_lenient=True)
    assert (judgement.verdict, judgement.is_lenient, judgement.is_correct) == ("correct", True, False)


def test_failed_generation_is_unscored() -> None:
    failure = GenerationFailure(code="prompt-too-long", detail="600 tokens, 512 fit")
    generation = Generation(item_id="q-1", failure=failure)
    judgement = judge(make_item(), generation, make_protocol()).judgement
    assert (judgement.verdict, judgement.is_scored) == ("unscored", False)
    assert judgement.explanation == "prompt-too-long: 600 tokens, 512 fit"


def test_different_answers_are_wrong() -> None:
    judgement = judged("<answer>17</answer><answer>18</answer>")
    assert (judgement.verdict, judgement.answer) == ("wrong", "17 | 18")
    assert judgement.explanation == "2 different answers were given"
    assert judgement.canonical is None


def test_equivalent_answers_count_as_one() -> None:
    assert judged("<answer>18</answer><answer>18.0</answer>").is_correct


def test_hundred_answers_are_wrong() -> None:
    assert judged("".join(f"<answer>{number}</answer>" for number in range(100))).verdict == "wrong"


def test_oversized_answer_is_wrong() -> None:
    judgement = judged(f"<answer>{'18 ' * 35_000}</answer>")
    assert (judgement.verdict, judgement.explanation) == (
        "wrong",
        "the answer is longer than 4000 characters",
    )
    assert judgement.answer is not None
    assert len(judgement.answer) == MAX_ANSWER_CHARS


def test_undecidable_answer_is_unscored() -> None:
    judgement = judged("<answer>March 5, 2024</answer>", make_item("some day", answer_type="date"))
    assert (judgement.verdict, judgement.checker) == ("unscored", "date")
    assert "'some day' is no date" in judgement.explanation


def test_predictions_follow_item_order() -> None:
    items = [make_item(id="b"), make_item(id="a")]
    generations = [
        make_generation("x", item_id=name, sample=sample) for sample in (1, 0) for name in ("a", "b")
    ]
    predictions = list(judge_all(items, generations, make_protocol(items), in_this_process))
    assert [(prediction.item_id, prediction.sample) for prediction in predictions] == [
        ("b", 0),
        ("b", 1),
        ("a", 0),
        ("a", 1),
    ]


def test_unknown_item_is_refused() -> None:
    unknown = make_generation("x", item_id="ghost")
    with pytest.raises(DataError, match="'ghost'"):
        list(judge_all([make_item()], [unknown], make_protocol(), in_this_process))


def test_protocol_lists_only_used_checkers() -> None:
    assert sorted(protocol_versions([make_item()])) == ["checker-number", "extractor", "linter"]
    symbolic = protocol_versions([make_item("2\\sqrt{2}")])
    assert "math-verify" in symbolic
    assert "checker-number" not in symbolic
