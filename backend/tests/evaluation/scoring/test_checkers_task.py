"""Answers judged by the reasoning-gym verifiers in a sandboxed child process."""

import sys

import pytest
import reasoning_gym

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.datasets.types import EvalItem, GymTask, item_json
from tunix_rt.evaluation.scoring.checkers.check import check, require_checkers
from tunix_rt.problems.gym import ANY_VERIFIED_ANSWER, gym_eval_items


def first_item(name: str) -> EvalItem:
    """The first item of a task, after a round trip through the eval set format."""
    return EvalItem.model_validate_json(item_json(next(gym_eval_items(name, 1, seed=1))))


@pytest.mark.parametrize("name", ["chain_sum", "countdown", "spiral_matrix", "rearc", "decimal_arithmetic"])
def test_verifier_accepts_own_answer(name: str) -> None:
    item = first_item(name)
    assert item.answer_type == "task"
    assert check(item, item.expected_answer).is_right


@pytest.mark.parametrize(
    ("name", "example"),
    [("propositional_logic", "example_answer"), ("rubiks_cube", "example_correct_answer")],
)
def test_task_without_fixed_answer_is_verified(name: str, example: str) -> None:
    item = first_item(name)
    assert item.expected_answer == ANY_VERIFIED_ANSWER
    metadata = reasoning_gym.create_dataset(name, size=1, seed=1)[0]["metadata"]
    assert check(item, str(metadata[example])).is_right


def test_partial_score_is_wrong() -> None:
    item = first_item("countdown")
    checked = check(item, "1 + 1")
    assert checked.is_right is False
    assert "countdown's verifier gives 0.0" in checked.explanation


def test_words_around_answer_are_ignored() -> None:
    item = first_item("chain_sum")
    assert check(item, f"The answer is ${item.expected_answer}$.").is_right


def test_text_comparison_needs_no_verifier() -> None:
    item = first_item("gcd")
    assert (item.answer_type, item.task) == (None, None)
    assert check(item, f"{item.expected_answer}.0").is_right


def test_item_without_origin_is_unscored() -> None:
    item = first_item("chain_sum").model_copy(update={"id": "mine", "task": GymTask(name="chain_sum")})
    checked = check(item, item.expected_answer)
    assert checked.is_right is None
    assert "does not say from which seed and index" in checked.explanation


def test_missing_library_is_reported_early(monkeypatch: pytest.MonkeyPatch) -> None:
    item = first_item("countdown")
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(MissingExtraError, match=r"tunix-rt\[gym\]"):
        require_checkers([item])
