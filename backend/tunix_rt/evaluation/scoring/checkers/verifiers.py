"""Checkers that run math-verify and reasoning-gym in a sandbox."""

import ast
import json
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

from pydantic import JsonValue

from tunix_rt.base.sandbox import Sandbox, SandboxError
from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.scoring.checkers.expressions import is_plain_number, parse
from tunix_rt.evaluation.scoring.checkers.numeric import number_of
from tunix_rt.evaluation.scoring.checkers.quantities import is_hedged
from tunix_rt.evaluation.scoring.checkers.text import (
    Checked,
    canonical_text,
    clean,
    plain,
    quoted,
    without_lead_in,
)

VERSION = "2"
MAX_CHARS = 500
_MAX_DEPTH = 20
_MAX_DIGITS = 100
_EXACT_DECIMALS = 15
_BIG_POWER = re.compile(r"(?:\^|\*\*)\s*[({]*\s*[-+]?(?:\d{4,}|[\w.]+\s*(?:\^|\*\*))|!\s*!|\d{4,}\s*!")
_LONG_DIGITS = re.compile(rf"\d{{{_MAX_DIGITS}}}")
_BRACES = re.compile(r"[({\[]|[)}\]]")
_FUNCTION = re.compile(r"(?<![\\A-Za-z])(sqrt|pi|sin|cos|tan|log|ln|exp|infty)(?![A-Za-z])")
_ROOT = re.compile(r"\\sqrt\s*\(([^()]*)\)")
_WORDS = re.compile(r"[^\W\d_]{2,}(?: [^\W\d_]+)*")
_SCIENTIFIC = re.compile(r"[-+]?[\d.,]+[eE][-+]?\d+")
_FORMULA = re.compile(r"(?<!\\)\$([^$]+)\$")
_DELIMITERS = re.compile(r"\\\(|\\\)|\\\[|\\\]|(?<!\\)\$")


def check_math(item: EvalItem, answer: str) -> Checked:
    r"""Whether the answer is mathematically equal to the expected one.

    Example:
        expected "2\sqrt{2}": "$\sqrt{8}$" -> right; "2.828" -> wrong
    """
    wanted = (item.expected_answer, *item.accepted_answers)
    expected, text = wanted[0], canonical_text(answer)
    value, numbers = _exact(answer), [_exact(other) for other in wanted]
    # These need no library: equal texts, plain numbers, and unreadable answers.
    if _compact(answer) in map(_compact, wanted) or (value is not None and value in numbers):
        return Checked(True, "math", f"{quoted(answer)} is {quoted(expected)}", canonical_text(expected))
    if value is not None and None not in numbers:
        return Checked(False, "math", f"{quoted(answer)} is not {quoted(expected)}", str(value))
    is_expression = None not in map(parse, (answer, *wanted))
    if not is_expression and {_is_set(answer), _is_set(expected)} == {True, False}:
        return Checked(False, "math", "a set is not a list, a point or an interval", text)
    if (problem := _unreadable(answer, is_expression)) is not None:
        return Checked(False, "math", f"the answer {problem}", text[:MAX_CHARS])
    try:
        is_right, parsed = _math_verify(list(wanted), answer)
    except SandboxError as error:
        return Checked(None, "math", f"math-verify failed: {quoted(str(error))}", None)
    relation = "equals" if is_right else "is not"
    canonical = canonical_text(expected) if is_right else parsed or text
    return Checked(is_right, "math", f"{quoted(answer)} {relation} {quoted(expected)}", canonical)


def check_readable(expected: str) -> Checked:
    """Whether math-verify can parse an expected answer; passes if the library is not installed."""
    if find_spec("math_verify") is None:
        return Checked(True, "math", "math-verify is not installed", None)
    try:
        is_right, parsed = _math_verify([expected], expected)
    except SandboxError as error:
        return Checked(False, "math", f"math-verify: {quoted(str(error))}", None)
    return Checked(is_right, "math", f"math-verify reads {parsed}", None)


def _is_set(text: str) -> bool | None:
    """Whether a text is in curly brackets (True) or other ones (False); None without brackets."""
    text = _DELIMITERS.sub("", clean(text)).removeprefix("\\left").strip()
    if text.startswith(("\\{", "{")):
        return True
    return False if text.startswith(("(", "[")) and "," in text else None


def _unreadable(answer: str, is_expression: bool) -> str | None:
    """Why an answer is not evaluated; None if it can be."""
    if len(answer) > MAX_CHARS:
        return f"has more than {MAX_CHARS} characters"
    # An expression has no words except those between the values of a list: `x = 1 or x = 2`.
    if not is_expression and is_hedged(answer):
        return "says more than one thing"
    if _BIG_POWER.search(answer) or _LONG_DIGITS.search(answer):
        return "has a number too large to compute"
    depths = accumulate(1 if bracket in "({[" else -1 for bracket in _BRACES.findall(answer))
    return "is nested too deeply" if max(depths, default=0) > _MAX_DEPTH else None


def _compact(text: str) -> str:
    """The text without spaces and delimiters; plain words in canonical form."""
    words = canonical_text(text)
    return words if _WORDS.fullmatch(words) else "".join(_DELIMITERS.sub("", clean(text)).split())


def _exact(text: str) -> Fraction | None:
    # Factorials and equations are left to the library: `y = 3` is not `x = 3`, and `2cos(x)` is not 2.
    statement = parse(text)
    is_number = statement is None or is_plain_number(statement) or _SCIENTIFIC.fullmatch(text.strip())
    return None if "!" in text or "=" in text or not is_number else number_of(text)


def _latex(text: str) -> str:
    if (value := _exact(text)) is not None:
        # A decimal would be compared in floating point, and equal the number that it approximates.
        return f"$\\frac{{{value.numerator}}}{{{value.denominator}}}$"
    text = without_lead_in(clean(text))
    formulas = _FORMULA.findall(text)
    # `the side is $\sqrt{2}$ units`: the only formula of a sentence is the answer.
    text = formulas[0] if len(formulas) == 1 else text
    text = _DELIMITERS.sub("", text).rstrip(" .").replace("**", "^")
    text = _ROOT.sub(r"\\sqrt{\1}", _FUNCTION.sub(r"\\\1", text))
    return f"${text}$"


def _verify(wanted: Sequence[str], answer: str) -> tuple[bool, str | None]:
    """Runs in the sandbox: whether the answer equals an expected one, and its sympy form if not."""
    is_right = _evaluated(wanted, answer)
    if is_right:
        return True, None
    given = _parsed(_latex(answer))
    if is_right is None:
        golds = [_parsed(_latex(text)) for text in wanted]
        if not golds[0]:
            raise ValueError(f"the expected answer {wanted[0]!r} cannot be read")
        from math_verify import verify

        is_right = bool(given) and any(
            verify(gold, given, float_rounding=_EXACT_DECIMALS, timeout_seconds=None) for gold in golds
        )
    return is_right, str(given[0]) if given else None


def _evaluated(wanted: Sequence[str], answer: str) -> bool | None:
    """The verdict of evaluating both sides; None if one of them is outside that notation."""
    from tunix_rt.evaluation.scoring.checkers.equality import is_equal

    verdicts = {is_equal(text, answer) for text in wanted}
    return True if True in verdicts else None if None in verdicts else False


def _parsed(text: str) -> list[object]:
    from math_verify import LatexExtractionConfig, parse

    return list(parse(text, [LatexExtractionConfig()], fallback_mode="no_fallback", parsing_timeout=None))


def _prepare() -> None:
    import logging

    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    _verify(("1", "\\text{no}"), "\\text{two}")


_math_verify = Sandbox(_verify, prepare=_prepare, can_read_files=True)

# Their verifiers pass the answer to Python's `eval`, but give 1.0 only for these exact texts.
_COMPARED_TASKS = frozenset({"binary_matrix", "n_queens", "spiral_matrix", "string_insertion"})
# Their verifiers pass the answer to sympy's parser, which evaluates it as Python.
_EXPRESSION_TASKS = frozenset({
    "countdown", "intermediate_integration", "polynomial_multiplication", "puzzle24", "simple_integration",
})  # fmt: skip
_FUNCTIONS = frozenset({
    "Abs", "acos", "asin", "atan", "cos", "cosh", "cot", "csc", "exp", "ln", "log", "sec", "sin", "sinh",
    "sqrt", "tan", "tanh",
})  # fmt: skip
_ARITHMETIC = (
    ast.Name, ast.Load, ast.BinOp, ast.UnaryOp,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UAdd, ast.USub,
)  # fmt: skip
_MAX_EXPONENT = 99


def check_task(item: EvalItem, answer: str) -> Checked:
    """Whether the verifier of the task returns 1.0; anything less is wrong.

    The entry is generated again from its task, seed and index: an eval set from elsewhere decides neither
    what a verifier reads nor what it accepts.

    Example:
        a chain_sum entry with answer "7": "7" -> right; "The answer is 7" -> right; "8" -> wrong
    """
    assert item.task is not None  # the item's own validator
    task, text = item.task, without_lead_in(answer.strip())
    # Verifiers do not handle LaTeX or a Unicode minus, and some need the answer unchanged.
    spellings = list(dict.fromkeys((text, plain(text))))
    canonical = canonical_text(text)
    if task.name in _EXPRESSION_TASKS and not any(map(is_arithmetic, spellings)):
        return Checked(False, "task", "the answer is not an expression", canonical)
    seed, index = _origin(item)
    if seed is None:
        why = "the item does not say from which seed and index its entry was generated"
        return Checked(None, "task", f"{task.name}'s verifier was not run: {why}", None)
    try:
        score = _score_task(
            task.name, seed, index, task.options, item.prompt, item.expected_answer, spellings
        )
    except SandboxError as error:
        return Checked(None, "task", f"{task.name}'s verifier failed: {quoted(str(error))}", None)
    return Checked(score == 1.0, "task", f"{task.name}'s verifier gives {score:g} of 1", canonical)


def _origin(item: EvalItem) -> tuple[int | None, int]:
    """Seed and index of the entry; items of earlier versions have them in their id only."""
    assert item.task is not None
    if item.task.seed is not None and item.task.index is not None:
        return item.task.seed, item.task.index
    match = re.fullmatch(r"gym-[a-z0-9_]+-(\d{1,9})-(\d{1,9})", item.id)
    return (int(match[1]), int(match[2])) if match else (None, 0)


def is_arithmetic(text: str) -> bool:
    """Whether a text is an expression of numbers, names, operators and known functions of bounded size.

    Python's own parser decides, so that no spelling of a program passes.

    Example:
        "3*x**2 + exp(x)" -> True; "x.real", "f(x)", "[1, 2]", "9**9**9", "sqrt('x')" -> False
    """
    if len(text) > MAX_CHARS:
        return False
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(map(_is_arithmetic_node, ast.walk(tree.body)))


def _is_arithmetic_node(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=value):
            return type(value) in (int, float)
        case ast.Call(func=ast.Name(id=name), args=[_], keywords=[]):
            return name in _FUNCTIONS
        case ast.BinOp(op=ast.Pow(), right=exponent):
            return not any(isinstance(one, ast.Pow) or _is_large(one) for one in ast.walk(exponent))
        case _:
            return isinstance(node, _ARITHMETIC)


def _is_large(node: ast.AST) -> bool:
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    return isinstance(value, int | float) and value > _MAX_EXPONENT


def _score(
    name: str,
    seed: int,
    index: int,
    options: dict[str, JsonValue],
    prompt: str,
    expected: str,
    spellings: Sequence[str],
) -> float:
    """Runs in the sandbox: the best score of the spellings."""
    dataset, entry = _generated(name, seed, index, json.dumps(options))

    def score(answer: str) -> float:
        if name in _COMPARED_TASKS:
            right = entry["metadata"].get("valid_answers") or [entry["answer"]]
            return float(answer.strip() in map(str.strip, right))
        if name in _EXPRESSION_TASKS and not is_arithmetic(answer):
            return 0.0
        return float(dataset.score_answer(answer, entry))

    if entry["question"].strip() != prompt:
        raise ValueError(f"reasoning-gym generates another question {index} from seed {seed}")
    # Some tasks have several right answers, and which one they name depends on the process.
    if entry["answer"] is not None and expected != str(entry["answer"]) and score(expected) != 1.0:
        raise ValueError(f"the verifier rejects the expected answer {expected!r}")
    return max(map(score, spellings))


@lru_cache(maxsize=1024)
def _generated(name: str, seed: int, index: int, options: str) -> tuple[Any, dict[str, Any]]:
    import reasoning_gym

    dataset = reasoning_gym.create_dataset(name, size=index + 1, seed=seed, **json.loads(options))
    return dataset, dataset[index]


def _load_reasoning_gym() -> None:
    import reasoning_gym  # noqa: F401


_score_task = Sandbox(_score, prepare=_load_reasoning_gym, can_read_files=True)
