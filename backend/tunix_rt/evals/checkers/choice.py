"""Multiple choice: a letter, an option's text, or both where they agree."""

import re
from string import ascii_uppercase

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evals.checkers.base import Checked, quoted, undecidable
from tunix_rt.evals.checkers.number import number_of
from tunix_rt.evals.checkers.plain import plain
from tunix_rt.evals.checkers.text import canonical_text

VERSION = "1"
_LETTER = re.compile(
    r"(?:option|choice|answer)?\s*(?:\(([A-Za-z])\)|\[([A-Za-z])\]|([A-Za-z])(?=\s*$|[).:,]|\s+[-–]\s))"
    r"[).:,]?\s*[-–]?\s*(.*)",
    re.IGNORECASE | re.DOTALL,
)

_WITH_TEXT = (
    re.compile(r"(?P<letter>[A-Z]) (?P<text>.+)"),
    re.compile(r"(?P<text>.+) \((?P<letter>[A-Z])\)"),
)


def check_choice(item: EvalItem, answer: str) -> Checked:
    """Whether the answer names the expected option, and no other.

    Example:
        choices ("10 km", "12 km"), expected "B": "(b)", "B. 12 km" and "12 km" -> right; "B) 10 km" -> wrong
    """
    named = option_of(item, answer)
    wanted = {option_of(item, text) for text in (item.expected_answer, *item.accepted_answers)}
    if None in wanted:
        return undecidable("choice", item.expected_answer, "option")
    if named is None:
        explanation = f"{quoted(answer)!r} names no single option"
        return Checked(False, "choice", explanation, canonical_text(answer))
    if named in wanted:
        return Checked(True, "choice", f"option {named} is right", option_of(item, item.expected_answer))
    return Checked(False, "choice", f"option {named} is not {quoted(item.expected_answer)}", named)


def option_of(item: EvalItem, text: str) -> str | None:
    """The letter of the option that a text names; None when it names none, several, or contradicts itself."""
    text = plain(text)
    if match := _LETTER.fullmatch(text):
        letter = next(group for group in match.groups()[:3] if group).upper()
        if letter in _letters(item) and _agrees(item, letter, match[4]):
            return letter
    for form in _WITH_TEXT:
        if (match := form.fullmatch(text)) and _agrees(item, match["letter"], match["text"]):
            return match["letter"]
    named = [letter for letter, choice in _options(item).items() if _same(choice, text)]
    return named[0] if len(named) == 1 else None


def _letters(item: EvalItem) -> str:
    return ascii_uppercase[: len(item.choices)] if item.choices else ascii_uppercase


def _options(item: EvalItem) -> dict[str, str]:
    return dict(zip(ascii_uppercase, item.choices, strict=False))


def _agrees(item: EvalItem, letter: str, rest: str) -> bool:
    """Whether what follows the letter is nothing, or that option's own text."""
    if not rest.strip():
        return True
    return letter in _options(item) and _same(_options(item)[letter], rest)


def _same(choice: str, text: str) -> bool:
    if canonical_text(choice) == canonical_text(text):
        return True
    value = number_of(choice)
    return value is not None and value == number_of(text) and _words(choice) == _words(text)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+|[%$€£]", plain(text).casefold())
