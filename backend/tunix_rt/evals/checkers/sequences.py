"""Lists (order counts) and sets (it does not): right when every element is, and none is left over."""

import re
from collections.abc import Sequence

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evals.checkers.base import Checked, quoted
from tunix_rt.evals.checkers.number import number_of
from tunix_rt.evals.checkers.plain import clean, plain
from tunix_rt.evals.checkers.text import canonical_text

VERSION = "1"
_GOES_ON = "..."
_BRACKETS = {"[": "]", "{": "}", "(": ")"}
_BULLET = re.compile(r"(?:[-*•]|\d{1,3}[.)])\s+")
_LAST_AND = re.compile(r",?\s+and\s+")


def check_list(item: EvalItem, answer: str) -> Checked:
    """Whether the answer has the expected elements in their order.

    Example:
        expected "[1, 2, 3]": "1, 2 and 3.0" -> right; "3, 2, 1" -> wrong
    """
    given = _elements(answer)
    wanted = [_elements(text) for text in (item.expected_answer, *item.accepted_answers)]
    is_right = given in wanted
    explanation = (
        f"{quoted(answer)!r} {'is' if is_right else 'is not'} {quoted(item.expected_answer)!r}, in order"
    )
    return Checked(is_right, "list", explanation, "; ".join(wanted[0] if is_right else given))


def check_set(item: EvalItem, answer: str) -> Checked:
    """Whether the answer has the expected elements, in any order; repeating one changes nothing.

    Example:
        expected "{1, 2}": "2 and 1" -> right; "1, 2, 3" -> wrong
    """
    given = _sorted(_elements(answer))
    wanted = [_sorted(_elements(text)) for text in (item.expected_answer, *item.accepted_answers)]
    is_right = given in wanted
    relation = "has" if is_right else "does not have"
    explanation = f"{quoted(answer)!r} {relation} the elements of {quoted(item.expected_answer)!r}"
    return Checked(is_right, "set", explanation, "; ".join(wanted[0] if is_right else given))


def _sorted(elements: Sequence[str]) -> list[str]:
    return sorted(set(elements))


def _elements(text: str) -> list[str]:
    lines = [_BULLET.sub("", line.strip(), count=1) for line in text.strip().split("\n") if line.strip()]
    parts = lines if len(lines) > 1 else _parts(plain(text))
    goes_on = [_GOES_ON] if clean(text).rstrip(")]} ").endswith(_GOES_ON) else []
    return [_element(part) for part in parts if part.strip()] + goes_on


def _element(text: str) -> str:
    value = number_of(text)
    return canonical_text(text) if value is None else str(value)


def _parts(text: str) -> list[str]:
    """Split at semicolons, else at commas with a space after them, else at every comma."""
    if len(text) > 1 and _BRACKETS.get(text[0]) == text[-1]:
        text = text[1:-1]
    if ";" in text:
        return text.split(";")
    if _LAST_AND.search(text):
        text = _LAST_AND.sub(", ", text)
    # `1,000, 2,000` has two elements, `1,2,3` has three.
    return text.split(", ") if ", " in text else text.split(",")
