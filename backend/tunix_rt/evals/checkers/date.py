"""Dates: right when they are the same day. A form that could mean two days is never guessed."""

import re
from datetime import date

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evals.checkers.base import Checked, quoted, undecidable
from tunix_rt.evals.checkers.plain import plain
from tunix_rt.evals.checkers.text import canonical_text

VERSION = "1"
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
    given = read_date(answer)
    wanted = [read_date(text) for text in (item.expected_answer, *item.accepted_answers)]
    if wanted[0] is None:
        return undecidable("date", item.expected_answer, "date")
    if given is None:
        explanation = f"{quoted(answer)!r} is not one unmistakable date"
        return Checked(False, "date", explanation, canonical_text(answer))
    if given in wanted:
        return Checked(True, "date", f"{quoted(answer)} is {wanted[0]}", str(wanted[0]))
    return Checked(False, "date", f"{given} is not {wanted[0]}", str(given))


def read_date(text: str) -> date | None:
    """The day that a text names; None when it names none, could mean two, or gets its weekday wrong."""
    text = _ON.sub("", " ".join(plain(text).lower().split()), count=1)
    weekday = _WEEKDAY.match(text)
    day = _day(text[weekday.end() :] if weekday else text)
    if day is not None and weekday is not None and _WEEKDAYS[day.weekday()] != weekday[1]:
        return None
    return day


def _day(text: str) -> date | None:
    for form in _FORMS:
        if match := form.fullmatch(text):
            return _date(int(match["year"]), _month(match["month"]), int(match["day"]))
    if match := _NUMERIC.fullmatch(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        if first > 12 or first == second:
            return _date(year, second, first)
        return _date(year, first, second) if second > 12 else None
    return None


def _month(name: str) -> int:
    """Its number; 0, which is no month, for any other word."""
    if name.isdigit():
        return int(name)
    full = [number for number, month in enumerate(_MONTHS, start=1) if month == name]
    short = [
        number
        for number, month in enumerate(_MONTHS, start=1)
        if month[:3] == name or name == "sept" == month[:4]
    ]
    return (full or short or [0])[0]


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
