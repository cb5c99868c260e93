"""The sensible readings of a claim: it is wrong only if it is wrong in all of them."""

import re
from collections.abc import Iterator

from tunix_rt.core.linting.equality import agrees
from tunix_rt.core.linting.expressions import PercentReading, evaluate
from tunix_rt.core.linting.ratios import Ratio, apply
from tunix_rt.core.linting.tokens import Token, read_number
from tunix_rt.core.linting.units import agrees_in_other_units
from tunix_rt.core.linting.vocabulary import APPROXIMATION_WORDS

_ROUGH = re.compile("|".join(APPROXIMATION_WORDS) + r"|\br ?\d", re.IGNORECASE)
_NEARBY = 80
"""Characters around a result in which the text may say that it is approximate."""


def is_right(lhs: list[Token], rhs: list[Token], exact: Ratio, text: str, equality: Token | None) -> bool:
    """Whether the stated result `rhs` is right for the expression `lhs`, whose value is `exact`."""
    value = rhs[0].value
    if len(rhs) == 1 and exact[0] * value[1] == value[0] * exact[1] and not rhs[0].is_percent:
        return True
    is_rough = (equality is not None and equality.kind == "~") or _is_rough(text, rhs)
    if any(_agrees_with(lhs, result, exact, text, is_rough) for result in _result_readings(rhs, text)):
        return True
    return len(lhs) == 1 and len(rhs) > 1 and lhs[0].decimals > 0 and _rounds_to(rhs, lhs[0])


def _is_rough(text: str, rhs: list[Token]) -> bool:
    """Whether the words around a result say that it is approximate."""
    return _ROUGH.search(text, max(rhs[0].start - _NEARBY, 0), rhs[-1].end + _NEARBY) is not None


def _agrees_with(lhs: list[Token], result: list[Token], exact: Ratio, text: str, is_rough: bool) -> bool:
    stated = evaluate(result)
    if stated is None:
        return False
    decimals = result[0].decimals if len(result) == 1 else 0
    return (
        agrees(exact, stated, decimals, is_rough=is_rough)
        or _agrees_as_percentage(lhs, result, decimals, is_rough)
        or agrees_in_other_units(lhs, result, stated, decimals, text)
        or any(agrees(other, stated, decimals, is_rough=is_rough) for other in _other_readings(lhs))
    )


def _other_readings(lhs: list[Token]) -> Iterator[Ratio]:
    """`60 / 3/4` divides by three quarters; `10% of the $4 + $5 = $9` adds before it takes a share."""
    grouped = _with_tight_fractions(lhs)
    shares = [i for i, token in enumerate(lhs) if token.name == "of"]
    for tokens in (grouped if len(grouped) < len(lhs) else [], lhs[shares[0] + 1 :] if shares else []):
        value = evaluate(tokens) if tokens else None
        if value is not None:
            yield value


def _with_tight_fractions(tokens: list[Token]) -> list[Token]:
    grouped: list[Token] = []
    for token in tokens:
        if len(grouped) > 1 and token.kind == "n" and grouped[-1].kind == "/" and grouped[-2].kind == "n":
            top = grouped[-2]
            if token.start == top.end + 1 and token.value[0]:
                value = apply("/", top.value, token.value) or top.value
                grouped[-2:] = [top._replace(end=token.end, value=value)]
                continue
        grouped.append(token)
    return grouped


def _rounds_to(expression: list[Token], number: Token) -> bool:
    exact = evaluate(expression)
    return exact is not None and agrees(exact, number.value, number.decimals, is_rough=False)


def _result_readings(rhs: list[Token], text: str) -> Iterator[list[Token]]:
    """`= 8 - 2` may state 6, or 8 and then go on; `2 * 10 = $20 million` counts in millions."""
    yield rhs
    if len(rhs) > 1:
        yield rhs[:2] if rhs[0].kind == "-" else rhs[:1]
        if len(rhs) > 3 and rhs[1].kind == "/":
            yield rhs[:3]
    elif rhs[0].name == "scaled":
        value, decimals = read_number(text[rhs[0].start : rhs[0].end].split()[0])
        yield [rhs[0]._replace(value=value, decimals=decimals)]


def _agrees_as_percentage(lhs: list[Token], rhs: list[Token], decimals: int, is_rough: bool) -> bool:
    if not any(token.is_percent for token in lhs) and not any(token.is_percent for token in rhs):
        return False
    readings: list[tuple[PercentReading, PercentReading]] = [
        ("share", "share"), ("plain", "plain"), ("relative", "share"), ("share", "plain"),
    ]  # fmt: skip
    for left_reading, right_reading in readings:
        exact, stated = evaluate(lhs, None, left_reading), evaluate(rhs, None, right_reading)
        printed = decimals + 2 if right_reading == "share" and rhs[0].is_percent else decimals
        if exact and stated and agrees(exact, stated, printed, is_rough=is_rough):
            return True
    return False
