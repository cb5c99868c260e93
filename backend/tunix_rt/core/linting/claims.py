"""Reads the arithmetic claims of a text and says of each whether it is right, wrong or not readable."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from tunix_rt.core.linting.equality import agrees, unit_factor
from tunix_rt.core.linting.expressions import PercentReading, evaluate
from tunix_rt.core.linting.islands import Island, find_islands
from tunix_rt.core.linting.latex import plain_text
from tunix_rt.core.linting.ratios import Ratio, apply, reduced
from tunix_rt.core.linting.tokens import Token, tokenise
from tunix_rt.core.linting.vocabulary import APPROXIMATION_WORDS

Verdict = Literal["confirmed", "wrong", "unreadable"]


@dataclass(frozen=True, slots=True)
class Claim:
    """`expression = result` as a text states it."""

    verdict: Verdict
    span: tuple[int, int]
    """Where the stated result stands."""
    operands: tuple[Token, ...]
    result: Ratio | None
    expected: Ratio | None


_ANNOTATION = re.compile(r"<<([^<>=]{1,200}(?:=[^<>=]{1,200})+)>>")
_UNIT_AFTER = re.compile(r"\s*([^\W\d_]+|¢)")
_ROUGH = re.compile("|".join(APPROXIMATION_WORDS))
# Two points at which no equation of a school problem happens to hold: an identity holds at both.
_PROBES: tuple[Ratio, Ratio] = ((10007, 13), (99991, 17))


def read_claims(text: str) -> list[Claim]:
    """Every arithmetic claim of a text, annotations first.

    Example:
        "Half of 48 is 24, and 48 + 24 = 73" -> confirmed (24), wrong (73, expected 72)
    """
    claims: list[Claim] = []
    if "<<" in text:
        claims, text = _read_annotations(text)
    claims.extend(claims_of_tokens(plain_text(text)))
    return claims


def _read_annotations(text: str) -> tuple[list[Claim], str]:
    """The claims in `<<48/2=24>>` annotations, and the text with spaces in their place."""
    claims: list[Claim] = []
    for match in _ANNOTATION.finditer(text):
        offset = match.start(1)
        for claim in _claims_between(find_islands(tokenise(match[1])), match[1]):
            start, end = claim.span
            claims.append(
                Claim(claim.verdict, (start + offset, end + offset), (), claim.result, claim.expected)
            )
    return claims, _ANNOTATION.sub(lambda match: " " * len(match[0]), text)


def claims_of_tokens(text: str) -> Iterator[Claim]:
    """The claims of a text without annotations and LaTeX."""
    return _claims_between(find_islands(tokenise(text)), text)


def _claims_between(islands: list[Island], text: str) -> Iterator[Claim]:
    for left, right in pairwise(islands):
        if right.equality is not None:
            claim = _judge(left, right, text)
            if claim is not None:
                yield claim


def _judge(left: Island, right: Island, text: str) -> Claim | None:
    assert right.equality is not None
    lhs, rhs = left.tokens, _balanced_prefix(right.tokens)
    if not rhs:
        return None
    if any(token.kind == "v" for token in lhs) or any(token.kind == "v" for token in rhs):
        return _judge_identity(lhs, rhs)
    if right.equality.kind == "i" and not _is_tight(left, right):
        return None
    is_bare = _is_bare(left, text)
    if is_bare and not _is_comparable(left, right, text):
        return None
    exact, lhs = _value_of_suffix(lhs)
    if exact is None:
        return _claim("unreadable", lhs, rhs)
    if _is_right(
        lhs, rhs, exact, text, is_rough=right.equality.kind == "~" or _ROUGH.search(text) is not None
    ):
        return None if is_bare else _claim("confirmed", lhs, rhs, exact)
    return _claim("wrong", lhs, rhs, exact)


def _claim(verdict: Verdict, lhs: list[Token], rhs: list[Token], expected: Ratio | None = None) -> Claim:
    result = evaluate(rhs)
    return Claim(
        verdict, (rhs[0].start, rhs[-1].end), tuple(t for t in lhs if t.kind == "n"), result, expected
    )


def _balanced_prefix(tokens: list[Token]) -> list[Token]:
    """The tokens up to the first closing bracket that closes nothing, without a dangling operator."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.kind == "(") - (token.kind == ")")
        if depth < 0:
            tokens = tokens[:index]
            break
    while tokens and tokens[-1].kind in "+-*/^(":
        tokens = tokens[:-1]
    return tokens


def _value_of_suffix(tokens: list[Token]) -> tuple[Ratio | None, list[Token]]:
    """The value of the longest readable end of an expression: `(3 + 4` is 3 + 4."""
    for start in range(min(3, len(tokens))):
        value = evaluate(tokens[start:])
        if value is not None:
            return value, tokens[start:]
    return None, tokens


def _is_tight(left: Island, right: Island) -> bool:
    """Whether "is" clearly links a calculation and its result: `half of 48 is 24`, not `2 of them are 24`."""
    has_operator = len(left.tokens) > 2
    return has_operator and right.words_before_equality <= 2 and right.tokens[0].gap <= 1


def _is_bare(left: Island, text: str) -> bool:
    """Whether the left side is one quantity (`5 feet`, `1/4 of the cake`) rather than a calculation."""
    kinds = [token.kind for token in left.tokens]
    if kinds == ["n"]:
        return True
    return kinds == ["n", "/", "n"] and _UNIT_AFTER.match(text, left.tokens[-1].end) is not None


def _is_comparable(left: Island, right: Island, text: str) -> bool:
    """Whether `5 feet = 60 inches` can be compared: same unit, known units, or no unit at all."""
    if (left.equality is None and left.follows_word) or right.tokens[0].gap:
        return False  # "Day 1 = 5 miles" names a thing, it does not compare
    unit, other = _unit_of(left.tokens[-1], text), _unit_of(right.tokens[0], text)
    if unit == other or not unit or not other:
        return len(left.tokens) == 1
    return unit_factor(unit, other) is not None


def _unit_of(token: Token, text: str) -> str:
    before = text[max(token.start - 1, 0) : token.start]
    if before in ("$", "¢"):
        return before
    match = _UNIT_AFTER.match(text, token.end)
    return match[1].lower() if match else ""


def _is_right(lhs: list[Token], rhs: list[Token], exact: Ratio, text: str, *, is_rough: bool) -> bool:
    for result in _readings(rhs):
        stated = evaluate(result)
        if stated is None:
            continue
        decimals = result[0].decimals if len(result) == 1 else 0
        if agrees(exact, stated, decimals, is_rough=is_rough):
            return True
        if _agrees_as_percentage(lhs, result, decimals, is_rough):
            return True
        if _agrees_in_other_units(lhs, result, exact, stated, decimals, text):
            return True
    return len(lhs) == 1 and len(rhs) > 1 and lhs[0].decimals > 0 and _rounds_to(rhs, lhs[0])


def _rounds_to(expression: list[Token], number: Token) -> bool:
    exact = evaluate(expression)
    return exact is not None and agrees(exact, number.value, number.decimals, is_rough=False)


def _readings(rhs: list[Token]) -> Iterator[list[Token]]:
    """`= 8 - 2` may state 6, or 8 and then go on."""
    yield rhs
    if len(rhs) > 1:
        yield rhs[:2] if rhs[0].kind == "-" else rhs[:1]
        if len(rhs) > 3 and rhs[1].kind == "/":
            yield rhs[:3]


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


def _agrees_in_other_units(
    lhs: list[Token], rhs: list[Token], exact: Ratio, stated: Ratio, decimals: int, text: str
) -> bool:
    other = _unit_of(rhs[0], text)
    for token in lhs:
        if token.kind != "n":
            continue
        factor = unit_factor(_unit_of(token, text), other)
        converted = factor and apply("*", exact, factor)
        if converted and agrees(converted, stated, decimals, is_rough=False):
            return True
    return False


def _judge_identity(lhs: list[Token], rhs: list[Token]) -> Claim | None:
    """`P + 6 + 3 = P + 9` holds for every P; `P + 6 + 3 = P + 8` for none. Anything else is an equation."""
    names = sorted({token.name for token in [*lhs, *rhs] if token.kind == "v"})
    differences = []
    for probe in _PROBES:
        unknowns = {name: (probe[0] + 7 * index, probe[1]) for index, name in enumerate(names)}
        left, right = evaluate(lhs, unknowns), evaluate(rhs, unknowns)
        difference = apply("-", left, right) if left and right else None
        if difference is None:
            return None
        differences.append(reduced(difference))
    if differences[0] != differences[1]:
        return None
    if differences[0][0] == 0:
        return _claim("confirmed", lhs, rhs)
    on_both_sides = any(t.kind == "v" for t in lhs) and any(t.kind == "v" for t in rhs)
    return _claim("wrong", lhs, rhs) if on_both_sides else None
