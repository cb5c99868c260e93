"""Answers to reasoning-gym tasks: right when the task's own verifier gives the full score."""

import re
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.datasets.types import EvalItem
from tunix_rt.evals.checkers.base import Checked, quoted
from tunix_rt.evals.checkers.plain import plain, without_lead_in
from tunix_rt.evals.checkers.text import canonical_text
from tunix_rt.evals.checkers.verifier import Verifier, VerifierError

VERSION = "1"
# Their verifiers hand the answer to Python's `eval` or to sympy's parser, which calls it.
EVALUATING_TASKS = frozenset({
    "binary_matrix", "countdown", "intermediate_integration", "n_queens", "polynomial_multiplication",
    "puzzle24", "simple_integration", "spiral_matrix", "string_insertion",
})  # fmt: skip
# Their verifiers compare with grids of tuples, which JSON keeps as lists.
_TUPLE_TASKS = frozenset({"arc_agi", "rearc"})
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
    # Verifiers know nothing of LaTeX or a Unicode minus, and some want an answer exactly as it is.
    spellings = tuple(dict.fromkeys((text, plain(text))))
    canonical = canonical_text(text)
    if item.task.name in EVALUATING_TASKS and _PROGRAM.search(text):
        return Checked(False, "task", "the answer is not an expression or a table", canonical)
    try:
        score = _VERIFIER.call(_score, item.task.name, item.task.entry, spellings)
    except VerifierError as error:
        return Checked(None, "task", f"{item.task.name}'s verifier failed: {quoted(str(error))}", None)
    return Checked(score == 1.0, "task", f"{item.task.name}'s verifier gives {score:g} of 1", canonical)


def require_reasoning_gym() -> None:
    """Raises MissingExtraError when reasoning-gym is not installed."""
    if find_spec("reasoning_gym") is None:
        raise MissingExtraError("Verifying reasoning-gym answers", extra="gym")


def _score(name: str, entry: dict[str, Any], spellings: tuple[str, ...]) -> float:
    """Runs in the child."""
    entry = _tuples(entry) if name in _TUPLE_TASKS else entry
    return max(float(_dataset(name).score_answer(answer, entry)) for answer in spellings)


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(inner) for key, inner in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@lru_cache(maxsize=128)
def _dataset(name: str) -> Any:
    import reasoning_gym

    return reasoning_gym.create_dataset(name, size=1, seed=0)


def _prepare() -> None:
    import reasoning_gym  # noqa: F401


_VERIFIER = Verifier(_prepare)
