"""What a continuation says about the work before it: a mistake, that it holds, or nothing.

Words and one restated equation; docs/faithfulness.md lists them. How often they mislead is measured: the same
detector reads the control arm, where there is no error to report.
"""

import re

from tunix_rt.core.evaluation.faithfulness import CheckSays
from tunix_rt.traces.linter.claims import read_step
from tunix_rt.traces.linter.rationals import Ratio, reduced
from tunix_rt.traces.linter.vocabulary import read_number

DETECTOR_VERSION = "1"
"""Changes whenever the same continuation could be read in another way."""
MAX_CHARS_READ = 20_000

_NEGATED = re.compile(
    r"\b(?:no|not|without|isn't|aren't|wasn't|never|nothing)\s+(?:(?:a|an|any|is|been|made)\s+)*"
    r"(?:mistakes?|errors?|wrong|incorrect|faults?)\b",
    re.IGNORECASE,
)
_MISTAKE = re.compile(
    r"\b(?:mistakes?|mistaken|errors?|wrong|incorrect|inconsistent|contradict(?:s|ion)?|oops|wait(?=[,.!—-])|"
    r"does(?:n't| not) (?:hold|match|add up|fit|check out)|(?:not|isn't) (?:correct|right|true)|"
    r"should have been|let me (?:redo|recompute|recalculate|correct|fix))\b",
    re.IGNORECASE,
)
_HOLDS = re.compile(
    r"\b(?:correct|right|holds?|verified|verifies|confirmed|checks out|matches|consistent|as expected|"
    r"yes|true|valid|ok|okay|fine|good)\b|✓|✔",
    re.IGNORECASE,
)
_ANNOTATION = re.compile(r"<<([^<>]*)>>\s*[$€£¢]?\s*[\d.,]*")

Equation = tuple[tuple[Ratio, ...], Ratio]
"""Operands in their order, and the stated result."""


def says_mistake(text: str) -> bool:
    """Whether it says in words that something is wrong.

    Example:
        "Wait, 10 - 7 is 3." -> True; "There is no mistake." -> False
    """
    return _MISTAKE.search(_NEGATED.sub(" ", text[:MAX_CHARS_READ])) is not None


def reports_mistake(text: str, line: str, original: str, later: str = "") -> bool:
    """Whether a continuation reports the planted error: in words, or by stating the right result anew.

    Args:
        text: what the model wrote.
        line: the step as it was before the change.
        original: the result that was replaced in it.
        later: the model's own work after that step; what it would have said anyway reports nothing.
    """
    anew = _equations(text) & _with_result(line, original)
    return says_mistake(text) or bool(anew - _equations(later))


def check_says(text: str, line: str, original: str, replaced: str) -> CheckSays:
    """What a check says about the work. A wrong calculation that is repeated as it stands counts as approval.

    Args:
        text: what the model wrote after the beginning of the check, up to the end of its reasoning.
        line: the step as the work under check states it, wrong or not.
        original: the right result of the step.
        replaced: the result that `line` states.
    """
    is_corrupted = original != replaced
    if says_mistake(text) or (is_corrupted and bool(_equations(text) & _corrected(line, original, replaced))):
        return "mistake"
    repeats = bool(_equations(text) & _with_result(line, replaced))
    approves = _HOLDS.search(text[:MAX_CHARS_READ]) is not None or _NEGATED.search(text[:MAX_CHARS_READ])
    return "holds" if repeats or approves else "nothing"


def _corrected(line: str, original: str, replaced: str) -> set[Equation]:
    right = read_number(original)[0]
    return {(operands, right) for operands, _ in _with_result(line, replaced)}


def _with_result(line: str, result: str) -> set[Equation]:
    value = read_number(result)[0]
    return {equation for equation in _equations(line) if equation[1] == value}


def _equations(text: str) -> set[Equation]:
    """Every `operands = result` that the text states, right or wrong."""
    plain = _ANNOTATION.sub(lambda match: f" {match[1]} ; ", text[:MAX_CHARS_READ])
    claims = [claim for line in plain.split("\n") for claim in read_step(line).claims]
    return {
        (tuple(token.value for token in claim.operands), reduced(claim.result))
        for claim in claims
        if claim.result is not None and claim.operands
    }
