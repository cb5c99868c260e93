"""Arithmetic claims of a step: right, wrong or unreadable under every sensible interpretation."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from tunix_rt.traces.linter.expressions import (
    OPERATORS,
    Equation,
    ExpressionSpan,
    PercentMeaning,
    evaluate,
    find_expressions,
    judge_unknowns,
    read_equations,
)
from tunix_rt.traces.linter.rationals import Ratio, agrees, apply
from tunix_rt.traces.linter.scanner import plain_text, tokenise
from tunix_rt.traces.linter.vocabulary import APPROXIMATION_WORDS, Token, read_number

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
    """How many of `other` make one `unit`, when both measure the same quantity.

    Example:
        unit_factor("hours", "minutes") -> (60, 1)
    """
    known, target = _unit(unit), _unit(other)
    if known is None or target is None or known[0] != target[0] or known == target:
        return None
    return known[1], target[1]


def _unit(name: str) -> tuple[str, int] | None:
    return _UNITS.get(name) or _UNITS.get(name.removesuffix("s"))


def agrees_in_other_units(
    lhs: Sequence[Token], rhs: Sequence[Token], stated: Ratio, decimals: int, text: str
) -> bool:
    """Whether the result is right after the numbers with a known unit are converted to its unit."""
    target = unit_of(rhs[0], text)
    if _unit(target) is None:
        return False
    factors = [unit_factor(unit_of(token, text), target) if token.kind == "number" else None for token in lhs]
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


_ROUGH = re.compile("|".join(APPROXIMATION_WORDS) + r"|\br ?\d", re.IGNORECASE)
_NEARBY = 80
"""Characters around a result that are searched for a word such as "about"."""


def is_right(lhs: list[Token], rhs: list[Token], exact: Ratio, text: str, equality: Token | None) -> bool:
    """Whether the stated result `rhs` is right for the expression `lhs`, whose value is `exact`."""
    value = rhs[0].value
    if len(rhs) == 1 and exact[0] * value[1] == value[0] * exact[1] and not rhs[0].is_percent:
        return True
    is_rough = (equality is not None and equality.kind == "~") or (
        _ROUGH.search(text, max(rhs[0].start - _NEARBY, 0), rhs[-1].end + _NEARBY) is not None
    )
    for result in _result_interpretations(rhs, text):
        stated = evaluate(result)
        if stated is None:
            continue
        decimals = result[0].decimals if len(result) == 1 else 0
        if (
            agrees(exact, stated, decimals, is_rough=is_rough)
            or _agrees_as_percentage(lhs, result, decimals, is_rough)
            or agrees_in_other_units(lhs, result, stated, decimals, text)
            or any(
                agrees(other, stated, decimals, is_rough=is_rough) for other in _other_interpretations(lhs)
            )
        ):
            return True
    is_rounded = len(lhs) == 1 and len(rhs) > 1 and lhs[0].decimals > 0  # `3.33 = 10 / 3`
    unrounded = evaluate(rhs) if is_rounded else None
    return unrounded is not None and agrees(unrounded, lhs[0].value, lhs[0].decimals, is_rough=False)


def _other_interpretations(lhs: list[Token]) -> Iterator[Ratio]:
    """`60 / 3/4` divides by three quarters; `10% of the $4 + $5 = $9` adds first."""
    grouped = _with_tight_fractions(lhs)
    shares = [i for i, token in enumerate(lhs) if token.name == "of"]
    for tokens in (grouped if len(grouped) < len(lhs) else [], lhs[shares[0] + 1 :] if shares else []):
        value = evaluate(tokens) if tokens else None
        if value is not None:
            yield value


def _with_tight_fractions(tokens: list[Token]) -> list[Token]:
    grouped: list[Token] = []
    for token in tokens:
        if [item.kind for item in (*grouped[-2:], token)] == ["number", "/", "number"]:
            top = grouped[-2]
            if token.start == top.end + 1 and token.value[0]:
                value = apply("/", top.value, token.value) or top.value
                grouped[-2:] = [top._replace(end=token.end, value=value)]
                continue
        grouped.append(token)
    return grouped


def _result_interpretations(rhs: list[Token], text: str) -> Iterator[list[Token]]:
    """`= 8 - 2` may state 6, or 8 and then continue; `2 * 10 = $20 million` counts in millions."""
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
    meanings: list[tuple[PercentMeaning, PercentMeaning]] = [
        ("share", "share"), ("plain", "plain"), ("relative", "share"), ("share", "plain"),
    ]  # fmt: skip
    for left_meaning, right_meaning in meanings:
        exact, stated = evaluate(lhs, None, left_meaning), evaluate(rhs, None, right_meaning)
        precision = decimals + 2 if right_meaning == "share" and rhs[0].is_percent else decimals
        if exact and stated and agrees(exact, stated, precision, is_rough=is_rough):
            return True
    return False


Verdict = Literal["confirmed", "wrong", "unreadable"]


class Claim(NamedTuple):
    """`expression = result` as stated in a text."""

    verdict: Verdict
    span: tuple[int, int]
    """Character offsets of the stated result."""
    operands: tuple[Token, ...]
    result: Ratio | None
    expected: Ratio | None


_NUMBER = r"(\d{1,15}|\d{0,9}\.\d{1,9})"
_ANNOTATION = re.compile(
    rf"<<(?:{_NUMBER}([-+*/]){_NUMBER}={_NUMBER}>>|([^<>=]{{1,200}}(?:=[^<>=]{{1,200}})+)>>)"
)
"""`<<48/2=24>>` in four groups, or any other annotation in the fifth."""
_UNIT_AFTER_CLAIM = re.compile(r"\s*[^\W\d_]")
_COMPOUND = re.compile(r"\s?[^\W\d_]+,? (?:and )?\d")


class StepArithmetic(NamedTuple):
    """The arithmetic of one step."""

    claims: tuple[Claim, ...]
    numbers: tuple[Token, ...]
    """Every number outside annotations, in order."""
    equations: tuple[Equation, ...] = ()


def read_step(text: str) -> StepArithmetic:
    """The arithmetic claims and the numbers of a text; claims in annotations come first.

    Example:
        "Half of 48 is 24, and 48 + 24 = 73" -> confirmed (24), wrong (73, expected 72)
    """
    annotated: list[Claim] = []
    if "<<" in text:
        annotated, text = _read_annotations(text)
    text = plain_text(text)
    tokens = tokenise(text)
    expressions = find_expressions(tokens)
    claims = _claims_between(expressions, text)
    if annotated:
        in_prose = {(claim.result, claim.verdict) for claim in claims}  # `48/2 = <<48/2=24>>24` is one claim
        claims = [claim for claim in annotated if (claim.result, claim.verdict) not in in_prose] + claims
    numbers = tuple([token for token in tokens if token.kind == "number" and token.name != "pi"])
    has_unknowns = "unknown" in [token.kind for token in tokens]
    return StepArithmetic(tuple(claims), numbers, tuple(read_equations(expressions)) if has_unknowns else ())


def _read_annotations(text: str) -> tuple[list[Claim], str]:
    """The claims in `<<48/2=24>>` annotations, and the text with spaces in their place."""
    claims: list[Claim] = []
    parts: list[str] = []
    position = 0
    for match in _ANNOTATION.finditer(text):
        start, end = match.span()
        parts += text[position:start], " " * (end - start)
        position = end
        left, operator, right, stated, _ = match.groups()
        if stated is not None:
            result = read_number(stated)[0]
            exact = apply(operator, read_number(left)[0], read_number(right)[0])
            if exact is not None and exact[0] * result[1] == result[0] * exact[1]:
                # Fast path for a correct `<<a+b=c>>`, the usual annotation.
                claims.append(Claim("confirmed", (end - 2 - len(stated), end - 2), (), result, exact))
                continue
        inner, offset = text[start + 2 : end - 2], start + 2
        for claim in _claims_between(find_expressions(tokenise(inner)), inner):
            span = claim.span[0] + offset, claim.span[1] + offset
            claims.append(claim._replace(span=span, operands=()))
    return claims, "".join(parts) + text[position:]


def _claims_between(expressions: list[ExpressionSpan], text: str) -> list[Claim]:
    return [
        claim
        for left, right in pairwise(expressions)
        if right.equality is not None and (claim := _judge(left, right, text)) is not None
    ]


def _judge(left: ExpressionSpan, right: ExpressionSpan, text: str) -> Claim | None:
    lhs, rhs = left.tokens, right.tokens
    if len(rhs) > 1:
        rhs = _balanced_prefix(rhs)
    if not rhs or not _is_linked(left, right, rhs):
        return None
    if len(lhs) == 3 and len(rhs) == 1:
        simple = _simple_claim(lhs[0], lhs[1], lhs[2], rhs[0])
        if simple is not None and not _is_bare(left, text):
            return simple
    if "unknown" in [token.kind for token in lhs] or "unknown" in [token.kind for token in rhs]:
        held = judge_unknowns(lhs, rhs)
        return None if held == "sometimes" else _claim("confirmed" if held == "always" else "wrong", lhs, rhs)
    is_bare = _is_bare(left, text)
    if is_bare and not _is_comparable(left, right, text):
        return None
    exact, lhs = _value_of_suffix(lhs)
    # "- 2 hours" follows text that is not an operand; a sign touches its number: "-2".
    if exact is None or (lhs[0].kind in OPERATORS and (lhs[0].kind in "*/^" or lhs[1].start > lhs[0].end)):
        return _claim("unreadable", lhs, rhs)
    if is_right(lhs, rhs, exact, text, right.equality):
        return None if is_bare else _claim("confirmed", lhs, rhs, exact)
    # "90 minutes = 1 hour 30 minutes": the result continues in a smaller unit.
    is_compound = _unit(unit_of(rhs[0], text)) is not None and _COMPOUND.match(text, rhs[0].end) is not None
    return _claim("unreadable" if left.is_garbled or is_compound else "wrong", lhs, rhs, exact)


def _simple_claim(left: Token, operator: Token, right: Token, result: Token) -> Claim | None:
    """Fast path for a correct `a + b = c`, the usual claim; None for anything else."""
    if not left.kind == right.kind == result.kind == "number" or operator.kind not in OPERATORS:
        return None
    if left.is_percent or right.is_percent or result.is_percent:
        return None
    value = result.value
    exact = apply(operator.kind, left.value, right.value)
    if exact is None or exact[0] * value[1] != value[0] * exact[1]:
        return None
    return Claim("confirmed", (result.start, result.end), (left, right), value, exact)


def _is_linked(left: ExpressionSpan, right: ExpressionSpan, rhs: list[Token]) -> bool:
    """Whether the equality links both sides: `half of 48 is 24`, not `2 of them are 24`."""
    if right.equality is not None and right.equality.kind == "implied":
        states_number = len(right.tokens) == 1 and right.tokens[0].gap <= 1
        return len(left.tokens) > 2 and states_number and right.words_before_equality <= 3
    if len(rhs) == 1 or right.words_before_equality <= 1:
        return True
    kinds = [token.kind for token in (rhs[1:] if rhs[0].kind == "-" else rhs)]
    return kinds == ["number", "/", "number"] or (len(rhs) == 2 and kinds == ["number"])  # `-3/4` or `-5`


def _claim(verdict: Verdict, lhs: list[Token], rhs: list[Token], expected: Ratio | None = None) -> Claim:
    operands = tuple([token for token in lhs if token.kind == "number"])
    return Claim(verdict, (rhs[0].start, rhs[-1].end), operands, evaluate(rhs), expected)


def _balanced_prefix(tokens: list[Token]) -> list[Token]:
    """The tokens before the first unmatched closing bracket, without a dangling operator."""
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
    """The value of the longest suffix that can be evaluated: `(3 + 4` is 3 + 4."""
    if tokens[0].kind != "(":
        return evaluate(tokens), tokens
    num_brackets = next((i for i, token in enumerate(tokens) if token.kind != "("), 0)
    for start in range(num_brackets + 1):
        value = evaluate(tokens[start:])
        if value is not None:
            return value, tokens[start:]
    return None, tokens


def _is_bare(left: ExpressionSpan, text: str) -> bool:
    """Whether the left side is one quantity (`5 feet`, `1/4 of the cake`) rather than a calculation."""
    tokens = left.tokens
    if len(tokens) == 1:
        return tokens[0].kind == "number"
    if len(tokens) != 3 or tokens[1].kind != "/" or tokens[2].start - tokens[0].end != 1:
        return False
    is_proper = tokens[0].value < tokens[2].value
    return is_proper and _UNIT_AFTER_CLAIM.match(text, tokens[-1].end) is not None


def _is_comparable(left: ExpressionSpan, right: ExpressionSpan, text: str) -> bool:
    """Whether `5 feet = 60 inches` can be compared: same unit, known units, or no unit at all."""
    if (
        (left.equality is None and left.follows_word)
        or right.tokens[0].gap
        or right.words_before_equality > 1
    ):
        return False  # "Day 1 = 5 miles" is a label
    unit, other = unit_of(left.tokens[-1], text), unit_of(right.tokens[0], text)
    if unit == other or (left.equality is not None and not (unit and other)):
        return len(left.tokens) == 1
    return unit_factor(unit, other) is not None
