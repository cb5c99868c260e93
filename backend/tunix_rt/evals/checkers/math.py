"""Symbolic answers: right when math-verify finds them equal, exactly."""

import re
from fractions import Fraction
from importlib.util import find_spec

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.datasets.types import EvalItem
from tunix_rt.evals.checkers.base import Checked, quoted
from tunix_rt.evals.checkers.measures import takes_back
from tunix_rt.evals.checkers.number import number_of
from tunix_rt.evals.checkers.plain import clean, without_lead_in
from tunix_rt.evals.checkers.text import canonical_text
from tunix_rt.evals.checkers.verifier import Verifier, VerifierError

VERSION = "1"
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
_FORMULA = re.compile(r"(?<!\\)\$([^$]+)\$")
_DELIMITERS = re.compile(r"\\\(|\\\)|\\\[|\\\]|(?<!\\)\$")


def check_math(item: EvalItem, answer: str) -> Checked:
    r"""Whether the answer is mathematically equal to the expected one.

    Example:
        expected "2\sqrt{2}": "$\sqrt{8}$" -> right; "2.828" -> wrong
    """
    wanted = (item.expected_answer, *item.accepted_answers)
    plainly = _check_plainly(wanted, answer)
    if plainly is not None:
        return plainly
    try:
        is_right, parsed = _VERIFIER.call(_verify, list(map(_latex, wanted)), _latex(answer))
    except VerifierError as error:
        return Checked(None, "math", f"math-verify failed: {quoted(str(error))}", None)
    relation = "equals" if is_right else "is not"
    canonical = canonical_text(wanted[0]) if is_right else parsed or canonical_text(answer)
    return Checked(is_right, "math", f"{quoted(answer)} {relation} {quoted(wanted[0])}", canonical)


def _check_plainly(wanted: tuple[str, ...], answer: str) -> Checked | None:
    """The verdict on what needs no library: the same text, plain numbers, and what is not worth computing."""
    expected, text = wanted[0], canonical_text(answer)
    value, numbers = _exact(answer), [_exact(other) for other in wanted]
    if _squeezed(answer) in map(_squeezed, wanted) or (value is not None and value in numbers):
        return Checked(True, "math", f"{quoted(answer)} is {quoted(expected)}", canonical_text(expected))
    if value is not None and None not in numbers:
        return Checked(False, "math", f"{quoted(answer)} is not {quoted(expected)}", str(value))
    if {_is_set(answer), _is_set(expected)} == {True, False}:
        return Checked(False, "math", "a set is not a list, a point or an interval", text)
    if (problem := _unreadable(answer)) is not None:
        return Checked(False, "math", f"the answer {problem}", text[:MAX_CHARS])
    return None


def check_readable(expected: str) -> Checked:
    """Whether math-verify can read an expected answer; without the library nobody can say, so it passes."""
    if not _is_installed():
        return Checked(True, "math", "math-verify is not installed", None)
    try:
        is_right, parsed = _VERIFIER.call(_verify, [_latex(expected)], _latex(expected))
    except VerifierError as error:
        return Checked(False, "math", f"math-verify: {quoted(str(error))}", None)
    return Checked(is_right, "math", f"math-verify reads {parsed}", None)


def require_math_verify() -> None:
    """Raises MissingExtraError when math-verify is not installed."""
    if not _is_installed():
        raise MissingExtraError("Checking symbolic answers", extra="math")


def _is_installed() -> bool:
    return find_spec("math_verify") is not None


def _is_set(text: str) -> bool | None:
    """Whether a text is in curly brackets or in others; None when it is in none."""
    text = _DELIMITERS.sub("", clean(text)).removeprefix("\\left").strip()
    if text.startswith(("\\{", "{")):
        return True
    return False if text.startswith(("(", "[")) and "," in text else None


def _unreadable(answer: str) -> str | None:
    """Why an answer is not given to the library: it would not be an honest one."""
    if len(answer) > MAX_CHARS:
        return f"has more than {MAX_CHARS} characters"
    if takes_back(answer):
        return "says more than one thing"
    if _BIG_POWER.search(answer) or _LONG_DIGITS.search(answer):
        return "has a number too large to compute"
    return "is nested too deeply" if _depth(answer) > _MAX_DEPTH else None


def _depth(text: str) -> int:
    depth = deepest = 0
    for bracket in _BRACES.findall(text):
        depth += 1 if bracket in "({[" else -1
        deepest = max(deepest, depth)
    return deepest


def _squeezed(text: str) -> str:
    """The spelling in which the same expression is the same text; words are compared as words."""
    words = canonical_text(text)
    return words if _WORDS.fullmatch(words) else "".join(_DELIMITERS.sub("", clean(text)).split())


def _exact(text: str) -> Fraction | None:
    # Factorials and equations are for the library: `y = 3` is not `x = 3`.
    return None if "!" in text or "=" in text else number_of(text)


def _latex(text: str) -> str:
    if (value := _exact(text)) is not None:
        # A decimal would be compared in floating point, and pass for the number that it approximates.
        return f"$\\frac{{{value.numerator}}}{{{value.denominator}}}$"
    text = without_lead_in(clean(text))
    formulas = _FORMULA.findall(text)
    # `the side is $\sqrt{2}$ units`: the one formula of a sentence is what it states.
    text = formulas[0] if len(formulas) == 1 else text
    text = _DELIMITERS.sub("", text).rstrip(" .").replace("**", "^")
    text = _ROOT.sub(r"\\sqrt{\1}", _FUNCTION.sub(r"\\\1", text))
    return f"${text}$"


def _verify(wanted: list[str], answer: str) -> tuple[bool, str | None]:
    """Runs in the child: whether the answer equals one of the wanted, and how sympy writes it."""
    golds = [_parsed(text) for text in wanted]
    if not golds[0]:
        raise ValueError(f"the expected answer {wanted[0]!r} cannot be read")
    from math_verify import verify

    given = _parsed(answer)
    if not given:
        return False, None
    is_right = any(
        verify(gold, given, float_rounding=_EXACT_DECIMALS, timeout_seconds=None) for gold in golds
    )
    return is_right, str(given[0])


def _parsed(text: str) -> list[object]:
    from math_verify import LatexExtractionConfig, parse

    config = [LatexExtractionConfig()]
    parsed: list[object] = parse(text, config, fallback_mode="no_fallback", parsing_timeout=None)
    return parsed


def _prepare() -> None:
    import logging

    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    _verify(["$1$"], "$1$")


_VERIFIER = Verifier(_prepare)
