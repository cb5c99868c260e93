"""Answers judged by the reasoning-gym verifiers in a sandboxed child process."""

import gc
import sys
from pathlib import Path

import pytest

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.datasets.types import EvalItem, GymTask, item_json
from tunix_rt.evaluation.scoring.checkers.check import check, require_checkers
from tunix_rt.evaluation.scoring.checkers.verifiers import Verifier, VerifierError
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
    assert item.task is not None
    metadata = item.task.entry["metadata"]
    assert isinstance(metadata, dict)
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


@pytest.mark.parametrize("name", ["spiral_matrix", "countdown", "binary_matrix"])
def test_program_answer_is_not_executed(tmp_path: Path, name: str) -> None:
    target = tmp_path / "written"
    for program in (f"open({str(target)!r}, 'w')", f"__import__('os').system('touch {target}')"):
        assert check(first_item(name), program).is_right is False
    assert not target.exists()


def test_verifier_child_is_sandboxed(tmp_path: Path) -> None:
    target = tmp_path / "written"
    verifier = Verifier(gc.collect)
    for program in (
        f"open({str(target)!r}, 'w')",
        f"__import__('os').system('touch {target}')",
        "__import__('subprocess').run(['true'])",
        "__import__('socket').create_connection(('127.0.0.1', 9))",
    ):
        with pytest.raises(VerifierError, match="an answer may not"):
            verifier.call(eval, program)
    assert not target.exists()


def test_verifier_recovers_from_memory_error() -> None:
    verifier = Verifier(gc.collect)
    with pytest.raises(VerifierError, match="MemoryError"):
        verifier.call(eval, "bytearray(8 << 30)")
    assert verifier.call(eval, "1 + 1") == 2


def test_unloadable_library_raises_verifier_error() -> None:
    with pytest.raises(VerifierError, match="did not start"):
        Verifier(sys.exit).call(eval, "1")


def test_broken_entry_is_unscored() -> None:
    item = first_item("chain_sum")
    broken = item.model_copy(update={"task": GymTask(name="chain_sum", entry={})})
    checked = check(broken, "7")
    assert checked.is_right is None
    assert checked.explanation == "chain_sum's verifier failed: KeyError: 'answer'"


def test_missing_library_is_reported_early(monkeypatch: pytest.MonkeyPatch) -> None:
    item = first_item("countdown")
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(MissingExtraError, match=r"tunix-rt\[gym\]"):
        require_checkers([item])
