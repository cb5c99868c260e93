"""Units of measure that a claim may convert between: `1 hour + 30 minutes = 90 minutes`, `$2 = 200 cents`."""

import re
from collections.abc import Sequence

from tunix_rt.core.linting.equality import agrees
from tunix_rt.core.linting.expressions import evaluate
from tunix_rt.core.linting.ratios import Ratio, apply
from tunix_rt.core.linting.tokens import Token

_SCALES: dict[str, dict[str, int]] = {
    "time": {"second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3600, "hr": 3600,
             "day": 86400, "week": 604800},
    "calendar": {"month": 1, "year": 12},
    "length": {"inch": 1, "inche": 1, "foot": 12, "feet": 12, "yard": 36, "mile": 63360},
    "metric": {"mm": 1, "millimeter": 1, "cm": 10, "centimeter": 10, "meter": 1000, "m": 1000, "km": 10**6,
               "kilometer": 10**6},
    "mass": {"g": 1, "gram": 1, "kg": 1000, "kilogram": 1000},
    "weight": {"oz": 1, "ounce": 1, "lb": 16, "pound": 16, "ton": 32000},
    "volume": {"ml": 1, "milliliter": 1, "l": 1000, "liter": 1000},
    "kitchen": {"cup": 1, "pint": 2, "quart": 4, "gallon": 16},
    "money": {"cent": 1, "¢": 1, "dollar": 100, "$": 100},
}  # fmt: skip
_UNITS = {unit: (scale, size) for scale, units in _SCALES.items() for unit, size in units.items()}
_UNIT_AFTER = re.compile(r"\s*([^\W\d_]+|¢)")


def unit_of(token: Token, text: str) -> str:
    """The currency sign before a number, or the word after it."""
    before = text[max(token.start - 1, 0) : token.start]
    if before in ("$", "¢"):
        return before
    match = _UNIT_AFTER.match(text, token.end)
    return match[1].lower() if match else ""


def unit_factor(unit: str, other: str) -> Ratio | None:
    """How many of `other` one `unit` is, when both measure the same thing.

    Example:
        unit_factor("hours", "minutes") -> (60, 1)
    """
    known, wanted = _unit(unit), _unit(other)
    if known is None or wanted is None or known[0] != wanted[0] or known == wanted:
        return None
    return known[1], wanted[1]


def _unit(name: str) -> tuple[str, int] | None:
    return _UNITS.get(name) or _UNITS.get(name.removesuffix("s"))


def is_unit(name: str) -> bool:
    """Whether a word is a unit that can be converted."""
    return _unit(name) is not None


def agrees_in_other_units(
    lhs: Sequence[Token], rhs: Sequence[Token], stated: Ratio, decimals: int, text: str
) -> bool:
    """Whether the result is right once the numbers with a known unit are converted to the result's unit."""
    wanted = unit_of(rhs[0], text)
    if _unit(wanted) is None:
        return False
    factors = [unit_factor(unit_of(token, text), wanted) if token.kind == "n" else None for token in lhs]
    exact = evaluate(lhs)
    for factor in {factor for factor in factors if factor is not None}:
        converted = apply("*", exact, factor) if exact else None
        if converted and agrees(converted, stated, decimals, is_rough=False):
            return True
    converted_terms = [
        token if factor is None else token._replace(value=apply("*", token.value, factor) or token.value)
        for token, factor in zip(lhs, factors, strict=True)
    ]
    total = evaluate(converted_terms)
    return total is not None and agrees(total, stated, decimals, is_rough=False)
