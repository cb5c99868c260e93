"""Reads the arithmetic claims of a text and says of each whether it is right, wrong or not readable."""

import re
from itertools import pairwise
from typing import Literal, NamedTuple

from tunix_rt.core.linting.equations import Equation, read_equations
from tunix_rt.core.linting.expressions import OPERATORS, evaluate
from tunix_rt.core.linting.islands import Island, find_islands
from tunix_rt.core.linting.latex import plain_text
from tunix_rt.core.linting.ratios import Ratio, apply
from tunix_rt.core.linting.readings import is_right
from tunix_rt.core.linting.scanning import tokenise
from tunix_rt.core.linting.tokens import Token, read_number
from tunix_rt.core.linting.units import is_unit, unit_factor, unit_of
from tunix_rt.core.linting.unknowns import judge_unknowns

Verdict = Literal["confirmed", "wrong", "unreadable"]


class Claim(NamedTuple):
    """`expression = result` as a text states it."""

    verdict: Verdict
    span: tuple[int, int]
    """Where the stated result stands."""
    operands: tuple[Token, ...]
    result: Ratio | None
    expected: Ratio | None


_NUMBER = r"(\d{1,15}|\d{0,9}\.\d{1,9})"
_ANNOTATION = re.compile(
    rf"<<(?:{_NUMBER}([-+*/]){_NUMBER}={_NUMBER}>>|([^<>=]{{1,200}}(?:=[^<>=]{{1,200}})+)>>)"
)
"""`<<48/2=24>>` in four groups, or any other annotation in the fifth."""
_UNIT_AFTER = re.compile(r"\s*[^\W\d_]")
_COMPOUND = re.compile(r"\s?[^\W\d_]+,? (?:and )?\d")


class StepReading(NamedTuple):
    """What a text says in numbers."""

    claims: tuple[Claim, ...]
    numbers: tuple[Token, ...]
    """Every number outside annotations, in order."""
    equations: tuple[Equation, ...] = ()


def read_step(text: str) -> StepReading:
    """The arithmetic claims and the numbers of a text; claims in annotations come first.

    Example:
        "Half of 48 is 24, and 48 + 24 = 73" -> confirmed (24), wrong (73, expected 72)
    """
    annotated: list[Claim] = []
    if "<<" in text:
        annotated, text = _read_annotations(text)
    text = plain_text(text)
    tokens = tokenise(text)
    islands = find_islands(tokens)
    claims = _claims_between(islands, text)
    if annotated:
        said = {(claim.result, claim.verdict) for claim in claims}  # `48/2 = <<48/2=24>>24` makes one claim
        claims = [claim for claim in annotated if (claim.result, claim.verdict) not in said] + claims
    numbers = tuple([token for token in tokens if token.kind == "n" and token.name != "pi"])
    has_unknowns = "v" in [token.kind for token in tokens]
    return StepReading(tuple(claims), numbers, tuple(read_equations(islands)) if has_unknowns else ())


def _read_annotations(text: str) -> tuple[list[Claim], str]:
    """The claims in `<<48/2=24>>` annotations, and the text with spaces in their place."""
    claims: list[Claim] = []
    parts: list[str] = []
    position = 0
    for match in _ANNOTATION.finditer(text):
        start, end = match.span()
        parts += text[position:start], " " * (end - start)
        position = end
        simple = _simple_annotation(match, end - 2)
        if simple is not None:
            claims.append(simple)
            continue
        inner, offset = text[start + 2 : end - 2], start + 2
        for claim in _claims_between(find_islands(tokenise(inner)), inner):
            span = claim.span[0] + offset, claim.span[1] + offset
            claims.append(claim._replace(span=span, operands=()))
    return claims, "".join(parts) + text[position:]


def _simple_annotation(match: re.Match[str], end: int) -> Claim | None:
    """The claim of a right `<<a+b=c>>`, which most annotations are; None when it needs a closer look."""
    left, operator, right, stated, _ = match.groups()
    if stated is None:
        return None
    result = read_number(stated)[0]
    exact = apply(operator, read_number(left)[0], read_number(right)[0])
    if exact is None or exact[0] * result[1] != result[0] * exact[1]:
        return None
    return Claim("confirmed", (end - len(stated), end), (), result, exact)


def _claims_between(islands: list[Island], text: str) -> list[Claim]:
    claims = []
    for left, right in pairwise(islands):
        if right.equality is not None:
            claim = _judge(left, right, text)
            if claim is not None:
                claims.append(claim)
    return claims


def _judge(left: Island, right: Island, text: str) -> Claim | None:
    lhs, rhs = left.tokens, right.tokens
    if len(rhs) > 1:
        rhs = _balanced_prefix(rhs)
    if not rhs or not _is_linked(left, right, rhs):
        return None
    if len(lhs) == 3 and len(rhs) == 1:
        simple = _simple_claim(lhs[0], lhs[1], lhs[2], rhs[0])
        if simple is not None and not _is_bare(left, text):
            return simple
    if "v" in [token.kind for token in lhs] or "v" in [token.kind for token in rhs]:
        held = judge_unknowns(lhs, rhs)
        return None if held == "sometimes" else _claim("confirmed" if held == "always" else "wrong", lhs, rhs)
    is_bare = _is_bare(left, text)
    if is_bare and not _is_comparable(left, right, text):
        return None
    exact, lhs = _value_of_suffix(lhs)
    if exact is None or _starts_with_operator(lhs):
        return _claim("unreadable", lhs, rhs)
    if is_right(lhs, rhs, exact, text, right.equality):
        return None if is_bare else _claim("confirmed", lhs, rhs, exact)
    is_ambiguous = left.is_garbled or _is_compound(rhs, text)
    return _claim("unreadable" if is_ambiguous else "wrong", lhs, rhs, exact)


def _simple_claim(left: Token, operator: Token, right: Token, result: Token) -> Claim | None:
    """The claim of a right `a + b = c`, which most claims are; None when it needs a closer look."""
    if left.kind != "n" or right.kind != "n" or result.kind != "n" or operator.kind not in OPERATORS:
        return None
    if left.is_percent or right.is_percent or result.is_percent:
        return None
    value = result.value
    exact = apply(operator.kind, left.value, right.value)
    if exact is None or exact[0] * value[1] != value[0] * exact[1]:
        return None
    return Claim("confirmed", (result.start, result.end), (left, right), value, exact)


def _is_compound(rhs: list[Token], text: str) -> bool:
    """`90 minutes = 1 hour 30 minutes`: the result goes on in a smaller unit."""
    return is_unit(unit_of(rhs[0], text)) and _COMPOUND.match(text, rhs[0].end) is not None


def _is_linked(left: Island, right: Island, rhs: list[Token]) -> bool:
    if right.equality is not None and right.equality.kind == "i":
        return _is_tight(left, right)
    return len(rhs) == 1 or right.words_before_equality <= 1 or _kinds(rhs) in ("-n", "n/n", "-n/n")


def _kinds(tokens: list[Token]) -> str:
    return "".join(token.kind for token in tokens)


def _starts_with_operator(tokens: list[Token]) -> bool:
    """`- 2 hours` after something that was not read; a sign touches its number: `-2`."""
    return tokens[0].kind in OPERATORS and (tokens[0].kind in "*/^" or tokens[1].start > tokens[0].end)


def _claim(verdict: Verdict, lhs: list[Token], rhs: list[Token], expected: Ratio | None = None) -> Claim:
    operands = tuple([token for token in lhs if token.kind == "n"])
    return Claim(verdict, (rhs[0].start, rhs[-1].end), operands, evaluate(rhs), expected)


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
    if tokens[0].kind != "(":
        return evaluate(tokens), tokens
    num_brackets = next((i for i, token in enumerate(tokens) if token.kind != "("), 0)
    for start in range(num_brackets + 1):
        value = evaluate(tokens[start:])
        if value is not None:
            return value, tokens[start:]
    return None, tokens


def _is_tight(left: Island, right: Island) -> bool:
    """Whether "is" clearly links a calculation and its result: `half of 48 is 24`, not `2 of them are 24`."""
    has_operator = len(left.tokens) > 2
    states_number = len(right.tokens) == 1 and right.tokens[0].gap <= 1
    return has_operator and states_number and right.words_before_equality <= 3


def _is_bare(left: Island, text: str) -> bool:
    """Whether the left side is one quantity (`5 feet`, `1/4 of the cake`) rather than a calculation."""
    tokens = left.tokens
    if len(tokens) == 1:
        return tokens[0].kind == "n"
    if len(tokens) != 3 or tokens[1].kind != "/" or tokens[2].start - tokens[0].end != 1:
        return False
    is_proper = tokens[0].value < tokens[2].value
    return is_proper and _UNIT_AFTER.match(text, tokens[-1].end) is not None


def _is_comparable(left: Island, right: Island, text: str) -> bool:
    """Whether `5 feet = 60 inches` can be compared: same unit, known units, or no unit at all."""
    if (
        (left.equality is None and left.follows_word)
        or right.tokens[0].gap
        or right.words_before_equality > 1
    ):
        return False  # "Day 1 = 5 miles" names a thing, it does not compare
    unit, other = unit_of(left.tokens[-1], text), unit_of(right.tokens[0], text)
    if unit == other or (left.equality is not None and not (unit and other)):
        return len(left.tokens) == 1
    return unit_factor(unit, other) is not None
