"""Equalities with unknowns: which hold always, which never, and which are equations to be solved."""

from collections.abc import Sequence
from typing import Literal

from tunix_rt.core.linting.expressions import evaluate
from tunix_rt.core.linting.ratios import Ratio, apply, reduced
from tunix_rt.core.linting.tokens import Token

# Two points at which no equation of a school problem happens to hold: an identity holds at both.
_PROBES: tuple[Ratio, Ratio] = ((10007, 13), (99991, 17))


def judge_unknowns(lhs: Sequence[Token], rhs: Sequence[Token]) -> Literal["always", "never", "sometimes"]:
    """Whether an equality holds for every value of its unknowns, for none, or for some.

    Example:
        P + 6 + 3 = P + 9 -> always; P + 6 + 3 = P + 8 -> never; P + 6 = 10 -> sometimes
    """
    left_names, right_names = _names(lhs), _names(rhs)
    values = [_values_at(probe, lhs, rhs, left_names | right_names) for probe in _PROBES]
    if values[0] is None or values[1] is None:
        return "sometimes"
    first, second = (apply("-", *sides) for sides in (values[0], values[1]))
    if first is None or second is None:
        return "sometimes"
    if reduced(first) == reduced(second):
        return _of_constant_difference(first, left_names, right_names)
    is_about_one = len(left_names) == 1 and left_names == right_names
    # "3 * 40A = 210A": both sides are so many times the same unknown, or the same unit.
    return "never" if is_about_one and _are_multiples(values[0], values[1]) else "sometimes"


def _names(tokens: Sequence[Token]) -> frozenset[str]:
    return frozenset(token.name for token in tokens if token.kind == "v")


def _values_at(
    probe: Ratio, lhs: Sequence[Token], rhs: Sequence[Token], names: frozenset[str]
) -> tuple[Ratio, Ratio] | None:
    unknowns = {name: (probe[0] + 7 * index, probe[1]) for index, name in enumerate(sorted(names))}
    left, right = evaluate(lhs, unknowns), evaluate(rhs, unknowns)
    return None if left is None or right is None else (left, right)


def _of_constant_difference(
    difference: Ratio, left_names: frozenset[str], right_names: frozenset[str]
) -> Literal["always", "never", "sometimes"]:
    if difference[0] == 0:
        return "always"
    return "never" if left_names and right_names else "sometimes"


def _are_multiples(first: tuple[Ratio, Ratio], second: tuple[Ratio, Ratio]) -> bool:
    """Whether both sides grow in proportion to the unknown."""
    growth = apply("/", _PROBES[1], _PROBES[0])
    for before, after in zip(first, second, strict=True):
        ratio = apply("/", after, before)
        if growth is None or ratio is None or reduced(ratio) != reduced(growth):
            return False
    return True
