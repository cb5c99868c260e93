"""Eval items and answers that try to run code through reasoning-gym's verifiers."""

from pathlib import Path

import pytest

from tunix_rt.datasets.types import EvalItem, GymTask, item_json
from tunix_rt.evaluation.scoring.checkers.check import check
from tunix_rt.evaluation.scoring.checkers.verifiers import is_arithmetic
from tunix_rt.problems.gym import gym_eval_items

PROGRAMS = (
    "__import__('os').system('touch {path}')",
    "\uff3f\uff3fimport\uff3f\uff3f('os').system('touch {path}')",
    "_\\\n_import_\\\n_('os').system('touch {path}')",
    "[c for c in ().__class__.__base__.__subclasses__()]",
    "(lambda: open('{path}', 'w'))()",
    "sqrt(\"__import__('os').system('touch {path}')\")",
    "(__import__('os').system('touch {path}'))!",
    "open('{path}', 'w')",
    "[open('{path}', 'w')]",
    "x := 1",
    'f\'{{open("{path}", "w")}}\'',
)


def first_item(name: str) -> EvalItem:
    return EvalItem.model_validate_json(item_json(next(gym_eval_items(name, 1, seed=1))))


@pytest.mark.parametrize(
    "name", ["countdown", "puzzle24", "simple_integration", "binary_matrix", "spiral_matrix", "n_queens"]
)
def test_programs_as_answers_are_wrong(name: str, tmp_path: Path) -> None:
    target = tmp_path / "created"
    item = first_item(name)
    for program in PROGRAMS:
        assert check(item, program.format(path=target)).is_right is False
    assert not target.exists()


@pytest.mark.parametrize("place", ["entry", "expected answer"])
@pytest.mark.parametrize("name", ["bitwise_arithmetic", "number_sorting"])
def test_programs_in_items_are_not_run(name: str, place: str, tmp_path: Path) -> None:
    target = tmp_path / "created"
    program = f"__import__('os').system('touch {target}')"
    item = first_item(name)
    assert item.task is not None
    if place == "entry":
        entry = {"question": item.prompt, "answer": program, "metadata": {"problem": program}}
        forged = item.model_copy(update={"task": GymTask(name=name, entry=entry)})
        assert check(forged, item.expected_answer).is_right  # the entry in the file is not read
    else:
        forged = item.model_copy(update={"expected_answer": program})
        checked = check(forged, item.expected_answer)
        assert checked.is_right is None
        assert "rejects the expected answer" in checked.explanation
    assert not target.exists()


def test_changed_question_is_unscored() -> None:
    item = first_item("chain_sum")
    checked = check(item.model_copy(update={"prompt": "State the final answer: 1 + 1 ="}), "2")
    assert checked.is_right is None
    assert "generates another question" in checked.explanation


def test_changed_expected_answer_is_unscored() -> None:
    item = first_item("countdown")
    assert check(item.model_copy(update={"expected_answer": "1"}), "1").is_right is None


def test_options_are_part_of_the_task() -> None:
    item = next(gym_eval_items("chain_sum", 1, seed=1, options={"min_digits": 4, "max_digits": 4}))
    assert check(item, item.expected_answer).is_right
    assert item.task is not None
    other = item.model_copy(update={"task": item.task.model_copy(update={"options": {}})})
    assert check(other, item.expected_answer).is_right is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3*x**2 + exp(x)", True),
        ("-(1/2)*X**3*sin(X) + C", True),
        ("58 - (7 + 3) * 2", True),
        ("9**9**9", False),
        ("2**1000", False),
        ("x.real", False),
        ("f(x)", False),
        ("sqrt('x')", False),
        ("exp(x, evaluate=False)", False),
        ("[1, 2]", False),
        ("1 if x else 2", False),
        ("(" * 1_000 + ")" * 1_000, False),
        ("\x00", False),
    ],
)
def test_only_arithmetic_is_parsed(text: str, expected: bool) -> None:
    assert is_arithmetic(text) is expected
