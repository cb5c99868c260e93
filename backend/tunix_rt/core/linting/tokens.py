"""The pieces that calculations are made of, and how a number is read."""

from functools import lru_cache
from typing import NamedTuple

from tunix_rt.core.linting.ratios import Ratio, reduced

BREAK = 99
"""The gap of a token that punctuation separates from the one before it."""


class Token(NamedTuple):
    """A piece of a calculation, with its place in the text.

    Kinds: `n` number, `v` unknown, `(`, `)`, the operators `+ - * / ^`, and the equalities `=` (stated),
    `~` (approximate) and `i` (implied: "is", "for a total of").
    """

    kind: str
    start: int
    end: int
    gap: int = 0
    value: Ratio = (0, 1)
    """In lowest terms, so that equal numbers are equal tuples."""
    decimals: int = 0
    is_percent: bool = False
    name: str = ""


@lru_cache(maxsize=4096)  # a text says the same small numbers again and again
def read_number(digits: str) -> tuple[Ratio, int]:
    """The value of a number as written, and how many decimals it was written with.

    Example:
        "1,250.50" -> (2501, 2), 2
    """
    if digits.isdigit():
        return (int(digits), 1), 0
    mantissa, _, exponent = digits.replace(",", "").partition("e")
    whole, _, decimals = mantissa.partition(".")
    value: Ratio = (int(whole + decimals), 10 ** len(decimals))
    if exponent:
        shift = int(exponent)
        value = (value[0] * 10**shift, value[1]) if shift >= 0 else (value[0], value[1] * 10**-shift)
    return reduced(value), len(decimals)
