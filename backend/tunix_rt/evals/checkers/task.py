"""Answers to reasoning-gym tasks: right when the task's own verifier gives the full score."""

import re
from functools import lru_cache
from typing import Any

from tunix_rt.core.errors import MissingExtraError
from tunix_rt.core.evalset import EvalItem
from tunix_rt.evals.checkers.base import Checked, quoted
from tunix_rt.evals.checkers.plain import without_lead_in
from tunix_rt.evals.checkers.text import canonical_text
from tunix_rt.evals.checkers.verifier import Verifier, VerifierError

VERSION = "1"
# Their verifiers hand the answer to Python's `eval` or to sympy's parser, which calls it.
EVALUATING_TASKS = frozenset({
    "binary_matrix", "countdown", "intermediate_integration", "n_queens", "polynomial_multiplication",
    "puzzle24", "simple_integration", "spiral_matrix", "string_insertion",
})  # fmt: skip
_FUNCTIONS = "sqrt|exp|log|ln|sin|cos|tan|asin|acos|atan|sinh|cosh|tanh|sec|csc|cot|Abs|pi"
_PROGRAM = re.compile(
    rf"__|\b(?!(?:{_FUNCTIONS})\b)[^\W\d]\w+\s*\(|[\w)\]]\s*\.\s*[^\W\d]|\d\s*\*\*\s*\(?\d{{3}}|=|:|\blambda\b"
)


def check_task(item: EvalItem, answer: str) -> Checked:
    """Whether the task's verifier gives 1.0; anything less is wrong.

    Example:
        a chain_sum entry with answer "7": "7" -> right; "The answer is 7" -> right; "8" -> wrong
    """
    assert item.task is not None  # the item's own validator
    text = without_lead_in(answer.strip())
    canonical = canonical_text(text)
    if item.task.name in EVALUATING_TASKS and _PROGRAM.search(text):
        return Checked(False, "task", "the answer is not an expression or a table", canonical)
    try:
        score = _VERIFIER.call(_score, item.task.name, item.task.entry, text)
    except VerifierError as error:
        return Checked(None, "task", f"{item.task.name}'s verifier failed: {quoted(str(error))}", None)
    return Checked(score == 1.0, "task", f"{item.task.name}'s verifier gives {score:g} of 1", canonical)


def require_reasoning_gym() -> None:
    """Raises MissingExtraError when reasoning-gym is not installed."""
    from importlib.util import find_spec

    if find_spec("reasoning_gym") is None:
        raise MissingExtraError("Verifying reasoning-gym answers", extra="gym")


def _score(name: str, entry: dict[str, Any], answer: str) -> float:
    """Runs in the child."""
    return float(_dataset(name).score_answer(answer, entry))


@lru_cache(maxsize=128)
def _dataset(name: str) -> Any:
    import reasoning_gym

    return reasoning_gym.create_dataset(name, size=1, seed=0)


def _prepare() -> None:
    import reasoning_gym  # noqa: F401


_VERIFIER = Verifier(_prepare)
