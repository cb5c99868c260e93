"""Equations in one unknown: what each says the unknown is, and which contradict an earlier one."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tunix_rt.core.linting.equality import agrees
from tunix_rt.core.linting.expressions import evaluate
from tunix_rt.core.linting.islands import Island
from tunix_rt.core.linting.ratios import Ratio, apply, reduced
from tunix_rt.core.linting.tokens import Token

_PROBES: tuple[Ratio, Ratio, Ratio] = ((0, 1), (1, 1), (10007, 1))
_SMALL: Ratio = (13, 1)
_CONVERSIONS = frozenset({3, 7, 12, 16, 24, 36, 60, 100, 1000, 3600})
"""How many of a unit make the next one: days of a week, inches of a foot, cents of a dollar."""


class Equation(NamedTuple):
    """`8x = 32` says that x is 4."""

    unknown: str
    root: Ratio
    decimals: int
    """How many decimals the root was written with, when it was written out (`x = 3.33`)."""
    span: tuple[int, int]


def read_equations(islands: Sequence[Island]) -> Iterator[Equation]:
    """The linear equations in one unknown letter, with their solutions.

    Example:
        "2x + 3 = 11, so x = 4" -> x is 4, x is 4
    """
    for left, right in pairwise(islands):
        name = _only_unknown(left, right) if _is_stated(left, right) else ""
        root = _root(left.tokens, right.tokens, name) if name else None
        # A root of 0 comes from "C is equal to 2C + C", which defines something and solves nothing.
        if root is not None and root[0] != 0:
            decimals = right.tokens[0].decimals if len(right.tokens) == 1 else 0
            yield Equation(name, reduced(root), decimals, (left.tokens[0].start, right.tokens[-1].end))


def _only_unknown(left: Island, right: Island) -> str:
    """The one letter that stands for a number; empty when there is none or more than one."""
    names = {token.name for token in (*left.tokens, *right.tokens) if token.kind == "v"}
    name = names.pop() if len(names) == 1 else ""
    return name if len(name) == 1 else ""


def _is_stated(left: Island, right: Island) -> bool:
    """Whether an equals sign links both sides; `300 miles = x` and `section 2 = x + 200` name things."""
    if right.equality is None or right.equality.kind != "=" or left.is_garbled:
        return False
    is_bare = len(left.tokens) == 1 and left.tokens[0].kind == "n"
    names_thing = right.words_before_equality > 0 or (left.follows_word and left.tokens[0].value < _SMALL)
    return not (is_bare and names_thing)


def _root(lhs: Sequence[Token], rhs: Sequence[Token], name: str) -> Ratio | None:
    """Where the difference of two linear sides is zero; None when they are not linear or never meet."""
    differences = [_difference_at(probe, lhs, rhs, name) for probe in _PROBES]
    at_zero, at_one, far = differences
    if at_zero is None or at_one is None or far is None:
        return None
    slope = apply("-", at_one, at_zero)
    predicted = slope and apply("+", at_zero, (slope[0] * _PROBES[2][0], slope[1]))
    if not slope or slope[0] == 0 or not predicted or reduced(predicted) != reduced(far):
        return None
    return apply("/", (-at_zero[0], at_zero[1]), slope)


def _difference_at(probe: Ratio, lhs: Sequence[Token], rhs: Sequence[Token], name: str) -> Ratio | None:
    left, right = evaluate(lhs, {name: probe}), evaluate(rhs, {name: probe})
    return None if left is None or right is None else apply("-", left, right)


def contradicts(equation: Equation, earlier: Equation) -> bool:
    """Whether two equations say that the same unknown is two different numbers."""
    if agrees(earlier.root, equation.root, equation.decimals, is_rough=False):
        return False
    if agrees(equation.root, earlier.root, earlier.decimals, is_rough=False):
        return False
    ratio = apply("/", equation.root, earlier.root)
    return ratio is None or not _is_conversion(reduced(ratio))


def _is_conversion(ratio: Ratio) -> bool:
    """`3x = 1 hour` and `3x = 60 minutes` agree."""
    return (ratio[1] == 1 and ratio[0] in _CONVERSIONS) or (ratio[0] == 1 and ratio[1] in _CONVERSIONS)
