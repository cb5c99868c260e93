"""Number and quantity checkers."""

import re
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.scoring.checkers.quantities import (
    MONEY,
    Measure,
    find_unit,
    parse_measure,
    parse_measures,
)
from tunix_rt.evaluation.scoring.checkers.text import Checked, canonical_text, plain, quoted, undecidable

VERSION = "2"
PLAIN_NUMBER = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,30})?")
_PERCENT = re.compile(r"percent|per cent|%", re.IGNORECASE)
_ASKED_PERCENT = re.compile(r"(?<![\d.])(?<!\d[\s-])(?:percent|per cent|%)", re.IGNORECASE)
"""Percent without a number before it: `what percentage`, `in %`; not `20 % off`."""
_SENTENCE_END = re.compile(r"[.?!]\s+")


def check_number(item: EvalItem, answer: str) -> Checked:
    """Whether the answer states exactly one number, and it is the expected one or an accepted one.

    Example:
        expected "0.5": "½" -> right; "0.50 litres" -> right; "0.5 or 1" -> wrong
    """
    question = _SENTENCE_END.split(item.prompt.strip())[-1]
    in_percent = bool(_PERCENT.search(item.expected_answer) or _ASKED_PERCENT.search(question))
    value = number_of(answer, in_percent=in_percent)
    wanted = [number_of(one, in_percent=in_percent) for one in (item.expected_answer, *item.accepted_answers)]
    if None in wanted:
        return undecidable("number", item.expected_answer, "number")
    if value is None:
        explanation = f"{quoted(answer)!r} does not state exactly one number"
        return Checked(False, "number", explanation, canonical_text(answer))
    if value in wanted:
        return Checked(True, "number", f"{quoted(answer)} equals {item.expected_answer}", str(wanted[0]))
    return Checked(False, "number", f"{quoted(answer)} is not {item.expected_answer}", str(value))


def number_of(text: str, *, in_percent: bool = False) -> Fraction | None:
    """The one number that a text states. Percent divides by 100 unless percent is the expected unit.

    Example:
        "10 %" -> 1/10, and 10 with `in_percent`
    """
    if PLAIN_NUMBER.fullmatch(text):  # the most common form
        return Fraction(text)
    measure = parse_measure(plain(text))
    if measure is None:
        return None
    first, _, rest = measure.after.partition(" ")
    is_article = first == "a" and rest
    if len(first) == 1 and first.isalpha() and not is_article and find_unit(first)[0] is None:
        return None  # `2x` is not 2; `2 m` may be
    unit, _ = find_unit(measure.after)
    if unit is not None and unit.dimension == "share" and not in_percent:
        return measure.value / 100
    return measure.value


_RATE = re.compile(r"(?:per|an?|each|every|of|squared|cubed)\b|[/^²³]")


class Quantity(NamedTuple):
    """An amount of something."""

    value: Fraction
    """In the base unit of the dimension if the unit is known, else as stated."""
    unit: str
    """A dimension with convertible units, a noun, or empty."""
    factor: Fraction
    """Factor of the original unit."""


def check_quantity(item: EvalItem, answer: str) -> Checked:
    """Whether the answer is the expected amount, in its unit or one that converts exactly.

    Example:
        expected "1.5 km": "1500 m" and "1.5" -> right; "1.5 miles" -> wrong
    """
    given = parse_quantity(answer)
    wanted = [parse_quantity(text) for text in (item.expected_answer, *item.accepted_answers)]
    expected = wanted[0]
    if expected is None:
        return undecidable("quantity", item.expected_answer, "quantity")
    if given is None:
        explanation = f"{quoted(answer)!r} does not state exactly one quantity"
        return Checked(False, "quantity", explanation, canonical_text(answer))
    if any(quantity is not None and _in_unit_of(given, quantity)[:2] == quantity[:2] for quantity in wanted):
        return Checked(
            True, "quantity", f"{quoted(answer)} equals {item.expected_answer}", _canonical(expected)
        )
    explanation = f"{quoted(answer)} is not {item.expected_answer}"
    return Checked(False, "quantity", explanation, _canonical(_in_unit_of(given, expected)))


def parse_quantity(text: str) -> Quantity | None:
    """The one quantity of a text; parts in units of the same kind are added.

    Example:
        "1 hour 30 minutes" -> 5400 seconds of time; "18 eggs" -> 18 of "egg"
    """
    parts = [_quantity(measure) for measure in parse_measures(plain(text))]
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    first = known[0]
    if len(known) == 1:
        return first
    is_sum = all(part.unit == first.unit and part.unit and part.value >= 0 for part in known)
    descends = all(a.factor > b.factor for a, b in pairwise(known))
    total = sum((part.value for part in known), Fraction(0))
    return first._replace(value=total) if is_sum and descends else None


def _quantity(measure: Measure) -> Quantity | None:
    unit, _ = find_unit(measure.before)
    if unit is None:
        unit, rest = find_unit(measure.after.removesuffix(" and"))
        if unit is None:
            return Quantity(measure.value, _noun(measure.after), Fraction(1))
        # `18 dollars a day` is still money; `18 m per step` is no longer a length.
        if unit.dimension not in MONEY and _RATE.match(rest):
            return None
    return Quantity(measure.value * unit.factor, unit.dimension, unit.factor)


def _noun(words: str) -> str:
    """The last word, in the singular: `duck eggs` -> `egg`."""
    word = "".join(words.casefold().split()[-1:]).strip("().,;:'\"")
    return word.removesuffix("es" if word.endswith(("ches", "shes", "xes", "sses")) else "s")


def _in_unit_of(given: Quantity, wanted: Quantity) -> Quantity:
    if given.unit:
        return given
    return Quantity(given.value * wanted.factor, wanted.unit, wanted.factor)


def _canonical(quantity: Quantity) -> str:
    return f"{quantity.value} {quantity.unit}".strip()
