"""Multiple choice, lists, sets, dates."""

import re
from datetime import date
from string import ascii_uppercase

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.scoring.checkers.numeric import number_of
from tunix_rt.evaluation.scoring.checkers.text import (
    Checked,
    canonical_text,
    clean,
    plain,
    quoted,
    undecidable,
)

VERSION = "1"
SET_VERSION = "2"
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
    """The letter of the option that a text names; None if it names none or several, or is inconsistent."""
    text = plain(text)
    if match := _LETTER.fullmatch(text):
        letter = next(group for group in match.groups()[:3] if group).upper()
        known = ascii_uppercase[: len(item.choices)] if item.choices else ascii_uppercase
        if letter in known and _agrees(item, letter, match[4]):
            return letter
    for form in _WITH_TEXT:
        if (match := form.fullmatch(text)) and _agrees(item, match["letter"], match["text"]):
            return match["letter"]
    named = [letter for letter, choice in _options(item).items() if _same(choice, text)]
    return named[0] if len(named) == 1 else None


def _options(item: EvalItem) -> dict[str, str]:
    return dict(zip(ascii_uppercase, item.choices, strict=False))


def _agrees(item: EvalItem, letter: str, rest: str) -> bool:
    """Whether the rest after the letter is empty or the text of that option."""
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


_MONTHS = "january february march april may june july august september october november december".split()
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_NAME = r"(?P<month>[a-z]{3,9})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_FORMS = tuple(
    re.compile(form)
    for form in (
        r"(?P<year>\d{4})([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})",
        rf"{_NAME} {_DAY},? (?P<year>\d{{4}})",
        rf"(?:the )?{_DAY}(?: of)? {_NAME},? (?P<year>\d{{4}})",
    )
)
_NUMERIC = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_WEEKDAY = re.compile(rf"({'|'.join(_WEEKDAYS)}),? (?:the )?")
_ON = re.compile(r"(?:it (?:is|was) )?(?:on )?")


def check_date(item: EvalItem, answer: str) -> Checked:
    """Whether the answer is the expected day.

    Example:
        expected "2024-03-05": "March 5, 2024" -> right; "03/05/2024" -> wrong: it could be 3 May
    """
    given = parse_date(answer)
    wanted = [parse_date(text) for text in (item.expected_answer, *item.accepted_answers)]
    if wanted[0] is None:
        return undecidable("date", item.expected_answer, "date")
    if given is None:
        explanation = f"{quoted(answer)!r} is not one unmistakable date"
        return Checked(False, "date", explanation, canonical_text(answer))
    if given in wanted:
        return Checked(True, "date", f"{quoted(answer)} is {wanted[0]}", str(wanted[0]))
    return Checked(False, "date", f"{given} is not {wanted[0]}", str(given))


def parse_date(text: str) -> date | None:
    """The date in a text; None if there is none, it is ambiguous, or its weekday is wrong."""
    text = _ON.sub("", " ".join(plain(text).lower().split()), count=1)
    weekday = _WEEKDAY.match(text)
    day = _day(text[weekday.end() :] if weekday else text)
    if day is not None and weekday is not None and _WEEKDAYS[day.weekday()] != weekday[1]:
        return None
    return day


def _day(text: str) -> date | None:
    year = month = day = 0
    for form in _FORMS:
        if match := form.fullmatch(text):
            year, month, day = int(match["year"]), _month(match["month"]), int(match["day"])
            break
    if match := _NUMERIC.fullmatch(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        if first > 12 or first == second:
            month, day = second, first
        elif second > 12:
            month, day = first, second
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _month(name: str) -> int:
    """The number of the month; 0 for any other word."""
    if name.isdigit():
        return int(name)
    months = enumerate(_MONTHS, start=1)
    return next(
        (number for number, month in months if name in (month, month[:3]) or name == "sept" == month[:4]), 0
    )


_ELLIPSIS = "..."
_BRACKETS = {"[": "]", "{": "}", "(": ")"}
_BULLET = re.compile(r"(?:[-*•]|\d{1,3}[.)])\s+")
_OTHER_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
_LAST_AND = re.compile(r",?\s+and\s+")


def check_list(item: EvalItem, answer: str) -> Checked:
    """Whether the answer has the expected elements in their order.

    Example:
        expected "[1, 2, 3]": "1, 2 and 3.0" -> right; "3, 2, 1" -> wrong
    """
    given, *wanted = map(_elements, (answer, item.expected_answer, *item.accepted_answers))
    is_right = given in wanted
    relation = "is" if is_right else "is not"
    explanation = f"{quoted(answer)!r} {relation} {quoted(item.expected_answer)!r}, in order"
    return Checked(is_right, "list", explanation, "; ".join(wanted[0] if is_right else given))


def check_set(item: EvalItem, answer: str) -> Checked:
    """Whether the answer has the expected elements, in any order; repetitions are ignored.

    Example:
        expected "{1, 2}": "2 and 1" -> right; "1, 2, 3" and "(1, 2)" -> wrong
    """
    if plain(item.expected_answer).startswith("{") and _OTHER_BRACKETS.fullmatch(plain(answer)):
        explanation = f"{quoted(answer)!r} is a point, an interval or a list, not a set"
        return Checked(False, "set", explanation, canonical_text(answer))
    given, *wanted = (
        sorted(set(_elements(text))) for text in (answer, item.expected_answer, *item.accepted_answers)
    )
    is_right = given in wanted
    relation = "has" if is_right else "does not have"
    explanation = f"{quoted(answer)!r} {relation} the elements of {quoted(item.expected_answer)!r}"
    return Checked(is_right, "set", explanation, "; ".join(wanted[0] if is_right else given))


def _elements(text: str) -> list[str]:
    lines = [_BULLET.sub("", line.strip(), count=1) for line in text.strip().split("\n") if line.strip()]
    parts = lines if len(lines) > 1 else _parts(plain(text))
    ellipsis = [_ELLIPSIS] if clean(text).rstrip(")]} ").endswith(_ELLIPSIS) else []
    values = [(part, number_of(part)) for part in parts if part.strip()]
    return [canonical_text(part) if value is None else str(value) for part, value in values] + ellipsis


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
