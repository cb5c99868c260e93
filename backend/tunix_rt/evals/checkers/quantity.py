"""Quantities: a number with a unit or a currency. A missing unit is taken to be the one asked for."""

import re
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evals.checkers.base import Checked, quoted, undecidable
from tunix_rt.evals.checkers.measures import Measure, read_measures
from tunix_rt.evals.checkers.plain import plain
from tunix_rt.evals.checkers.text import canonical_text
from tunix_rt.evals.checkers.units import MONEY, Unit, find_unit

VERSION = "1"
_RATE = re.compile(r"(?:per|an?|each|every|of|squared|cubed)\b|[/^²³]")


class Quantity(NamedTuple):
    """An amount of something."""

    value: Fraction
    """In the base unit of a known unit, else as written."""
    unit: str
    """A dimension with units that convert, a noun, or nothing."""
    factor: Fraction
    """Of the unit it was written in."""


def check_quantity(item: EvalItem, answer: str) -> Checked:
    """Whether the answer is the expected amount, in its unit or in one that converts to it exactly.

    Example:
        expected "1.5 km": "1500 m" and "1.5" -> right; "1.5 miles" -> wrong
    """
    given = read_quantity(answer)
    wanted = [read_quantity(text) for text in (item.expected_answer, *item.accepted_answers)]
    expected = wanted[0]
    if expected is None:
        return undecidable("quantity", item.expected_answer, "quantity")
    if given is None:
        explanation = f"{quoted(answer)!r} does not state exactly one quantity"
        return Checked(False, "quantity", explanation, canonical_text(answer))
    if any(quantity is not None and _equal(given, quantity) for quantity in wanted):
        return Checked(
            True, "quantity", f"{quoted(answer)} equals {item.expected_answer}", _canonical(expected)
        )
    explanation = f"{quoted(answer)} is not {item.expected_answer}"
    return Checked(False, "quantity", explanation, _canonical(_in_unit_of(given, expected)))


def read_quantity(text: str) -> Quantity | None:
    """The one quantity of a text; parts in units of the same kind are added.

    Example:
        "1 hour 30 minutes" -> 5400 seconds of time; "18 eggs" -> 18 of "egg"
    """
    parts = [_quantity(measure) for measure in read_measures(plain(text))]
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    first = known[0]
    if len(known) == 1:
        return first
    is_sum = all(part.unit == first.unit and part.unit and part.value >= 0 for part in known)
    descends = all(a.factor > b.factor for a, b in pairwise(known))
    return (
        first._replace(value=sum((part.value for part in known), Fraction(0)))
        if is_sum and descends
        else None
    )


def _quantity(measure: Measure) -> Quantity | None:
    currency, _ = find_unit(measure.before)
    if currency is not None:
        return _of(measure, currency)
    unit, rest = find_unit(measure.after.removesuffix(" and"))
    if unit is None:
        return Quantity(measure.value, _noun(measure.after), Fraction(1))
    # `18 dollars a day` is still money; `18 m per step` is no longer a length.
    return _of(measure, unit) if unit.dimension in MONEY or not _RATE.match(rest) else None


def _of(measure: Measure, unit: Unit) -> Quantity:
    return Quantity(measure.value * unit.factor, unit.dimension, unit.factor)


def _noun(words: str) -> str:
    """The last word, in the singular: `duck eggs` -> `egg`."""
    last = words.casefold().split()[-1:] or [""]
    word = last[0].strip("().,;:'\"")
    return (
        word.removesuffix("es") if word.endswith(("ches", "shes", "xes", "sses")) else word.removesuffix("s")
    )


def _equal(given: Quantity, wanted: Quantity) -> bool:
    return _in_unit_of(given, wanted)[:2] == wanted[:2]


def _in_unit_of(given: Quantity, wanted: Quantity) -> Quantity:
    if given.unit:
        return given
    return Quantity(given.value * wanted.factor, wanted.unit, wanted.factor)


def _canonical(quantity: Quantity) -> str:
    return f"{quantity.value} {quantity.unit}".strip()
