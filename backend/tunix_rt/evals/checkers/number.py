"""Numbers: right when exactly equal, however they are written."""

import re
from fractions import Fraction

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evals.checkers.base import Checked, quoted, undecidable
from tunix_rt.evals.checkers.measures import Measure, read_measure
from tunix_rt.evals.checkers.plain import plain
from tunix_rt.evals.checkers.text import canonical_text
from tunix_rt.evals.checkers.units import find_unit

VERSION = "1"
PLAIN_NUMBER = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,30})?")
_PERCENT = re.compile(r"percent|per cent|%", re.IGNORECASE)
_ASKED_PERCENT = re.compile(r"(?<![\d.])(?<!\d[\s-])(?:percent|per cent|%)", re.IGNORECASE)
"""Per cent that no number stands before: `what percentage`, `in %`; not `20 % off`."""
_SENTENCE_END = re.compile(r"[.?!]\s+")


def check_number(item: EvalItem, answer: str) -> Checked:
    """Whether the answer states exactly one number, and it is the expected one or an accepted one.

    Example:
        expected "0.5": "½" -> right; "0.50 litres" -> right; "0.5 or 1" -> wrong
    """
    asks_percent = _asks_percent(item)
    value = number_of(answer, in_percent=asks_percent)
    wanted = [
        number_of(text, in_percent=asks_percent) for text in (item.expected_answer, *item.accepted_answers)
    ]
    if None in wanted:
        return undecidable("number", item.expected_answer, "number")
    if value is None:
        explanation = f"{quoted(answer)!r} does not state exactly one number"
        return Checked(False, "number", explanation, canonical_text(answer))
    if value in wanted:
        return Checked(True, "number", f"{quoted(answer)} equals {item.expected_answer}", str(wanted[0]))
    return Checked(False, "number", f"{quoted(answer)} is not {item.expected_answer}", str(value))


def number_of(text: str, *, in_percent: bool = False) -> Fraction | None:
    """The one number that a text states. Per cent divides by 100 unless it is the unit asked for.

    Example:
        "10 %" -> 1/10, and 10 with `in_percent`
    """
    if PLAIN_NUMBER.fullmatch(text):  # as most answers are written
        return Fraction(text)
    measure = read_measure(plain(text))
    if measure is None or _is_of_an_unknown(measure):
        return None
    unit, _ = find_unit(measure.after)
    if unit is not None and unit.dimension == "share" and not in_percent:
        return measure.value / 100
    return measure.value


def _is_of_an_unknown(measure: Measure) -> bool:
    """`2x` is not 2; `2 m` may be."""
    first, _, rest = measure.after.partition(" ")
    is_article = first == "a" and rest
    return len(first) == 1 and first.isalpha() and not is_article and find_unit(first)[0] is None


def _asks_percent(item: EvalItem) -> bool:
    """Whether the expected answer, or the last sentence of the question, is in per cent."""
    if _PERCENT.search(item.expected_answer):
        return True
    question = _SENTENCE_END.split(item.prompt.strip())[-1]
    return _ASKED_PERCENT.search(question) is not None
