"""Arithmetic claims of a step: right, wrong or unreadable under every sensible interpretation."""

import re
from itertools import pairwise
from typing import Literal, NamedTuple

from tunix_rt.traces.linter.expressions import (
    OPERATORS,
    Equation,
    ExpressionSpan,
    evaluate,
    find_expressions,
    judge_unknowns,
    read_equations,
)
from tunix_rt.traces.linter.notation import COMPUTED, IRRATIONAL
from tunix_rt.traces.linter.rationals import Ratio, apply
from tunix_rt.traces.linter.results import is_right, is_unit, unit_factor, unit_of, with_divided_fractions
from tunix_rt.traces.linter.scanner import plain_text, tokenise
from tunix_rt.traces.linter.vocabulary import LETTER, Token, read_number

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
    numbers = tuple([token for token in tokens if token.kind == "number" and token.name not in COMPUTED])
    has_unknowns = "unknown" in [token.kind for token in tokens]
    return StepArithmetic(tuple(claims), numbers, tuple(read_equations(expressions)) if has_unknowns else ())


def is_plain_number(token: Token) -> bool:
    """Whether a token is a number as written, not pi or a computed root."""
    return token.kind == "number" and token.name not in COMPUTED


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
        for claim in _claims_between(find_expressions(tokenise(inner)), inner, is_annotation=True):
            span = claim.span[0] + offset, claim.span[1] + offset
            claims.append(claim._replace(span=span, operands=()))
    return claims, "".join(parts) + text[position:]


def _claims_between(
    expressions: list[ExpressionSpan], text: str, *, is_annotation: bool = False
) -> list[Claim]:
    claims = []
    for index, (left, right) in enumerate(pairwise(expressions)):
        if right.equality is None:
            continue
        is_running = index + 2 < len(expressions) and expressions[index + 2].equality is not None
        is_deduced = not is_annotation and _is_deduced(left, right, text)
        claim = None if is_deduced else _judge(left, right, text, is_running=is_running)
        if claim is not None:
            claims.append(claim)
    return claims


def _judge(left: ExpressionSpan, right: ExpressionSpan, text: str, *, is_running: bool) -> Claim | None:
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
        return _judge_unknowns(lhs, rhs, text)
    is_bare = _is_bare(left, text)
    if is_bare and not _is_comparable(left, right, text):
        return None
    exact, lhs = _value_of_suffix(with_divided_fractions(lhs))
    # "- 2 hours" follows text that is not an operand; a sign touches its number: "-2".
    if exact is None or (lhs[0].kind in OPERATORS and (lhs[0].kind in "*/^" or lhs[1].start > lhs[0].end)):
        return _claim("unreadable", lhs, rhs)
    if is_right(lhs, rhs, exact, text, right.equality, is_running=is_running):
        return None if is_bare else _claim("confirmed", lhs, rhs, exact)
    # "90 minutes = 1 hour 30 minutes": the result continues in a smaller unit.
    is_compound = is_unit(unit_of(rhs[0], text)) and _COMPOUND.match(text, rhs[0].end) is not None
    is_unclear = left.is_garbled or is_compound or _has_letters_after(lhs[-1], rhs[-1], text)
    return _claim("unreadable" if is_unclear else "wrong", lhs, rhs, exact)


_LETTERS_AFTER = re.compile(rf"({LETTER}{{2,3}})(?!{LETTER})")
_LETTERS_AFTER_PI = re.compile(rf" {{0,3}}({LETTER}{{2,3}})(?!{LETTER})")  # `\pi rh` keeps the width of `\pi`
_ABBREVIATIONS = frozenset(
    "ft in lb lbs oz hr hrs min mins sec cm mm km kg mg ml yd yds sq am pm mi pcs".split()
)


def _has_letters_after(token: Token, result: Token, text: str) -> bool:
    """`2xy` and `2πrh` are products of unknowns, unlike `2km`, or `5MB` where the result is in MB too."""
    pattern = _LETTERS_AFTER_PI if token.name == "pi" else _LETTERS_AFTER
    match = pattern.match(text, token.end)
    name = match[1].lower() if match else ""
    return bool(name) and name not in _ABBREVIATIONS and not is_unit(name) and name != unit_of(result, text)


_NO_SOLUTION = re.compile(
    r"\b(?:no (?:real )?(?:solutions?|values?|number|x|such)|impossible|contradict|inconsistent|parallel|"
    r"never|false|not (?:true|equal|possible)|cannot|can't|solve)\b",
    re.IGNORECASE,
)


def _judge_unknowns(lhs: list[Token], rhs: list[Token], text: str) -> Claim | None:
    held = judge_unknowns(lhs, rhs)
    if held == "always":
        return _claim("confirmed", lhs, rhs)
    # "Solve 2(x + 1) = 2x + 3" states an equation, which happens to have no solution.
    is_claimed = held == "never" and _NO_SOLUTION.search(text) is None
    return _claim("wrong", lhs, rhs) if is_claimed else None


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
        is_fraction = [token.kind for token in right.tokens] == ["number", "/", "number"]
        states_number = (len(right.tokens) == 1 or is_fraction) and right.tokens[0].gap <= 1
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
        return tokens[0].kind == "number" and tokens[0].name not in ("root", IRRATIONAL)
    if len(tokens) != 3 or tokens[1].kind != "/" or tokens[2].start - tokens[0].end != 1:
        return False
    is_proper = tokens[0].value < tokens[2].value
    return is_proper and _UNIT_AFTER_CLAIM.match(text, tokens[-1].end) is not None


def _is_deduced(left: ExpressionSpan, right: ExpressionSpan, text: str) -> bool:
    """Whether two whole numbers are set equal without a calculation: `8 = 11, so there is no solution`."""
    if left.equality is not None or not len(left.tokens) == len(right.tokens) == 1:
        return False
    sides = left.tokens[0], right.tokens[0]
    return all(
        side.kind == "number"
        and side.value[1] == 1
        and not (side.is_percent or side.name or unit_of(side, text))
        for side in sides
    )


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
