"""Whether a stated result is right for an expression: rounding, units, percentages, approximations of pi."""

import re
from collections.abc import Iterator, Sequence

from tunix_rt.traces.linter.expressions import PercentMeaning, evaluate
from tunix_rt.traces.linter.notation import IRRATIONAL
from tunix_rt.traces.linter.rationals import Ratio, agrees, apply
from tunix_rt.traces.linter.vocabulary import APPROXIMATION_WORDS, LETTER, Token, read_number

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
_UNIT_AFTER = re.compile(rf"\s*({LETTER}+|¢)")


def unit_of(token: Token, text: str) -> str:
    """The currency sign before a number, or the word after it."""
    before = text[max(token.start - 1, 0) : token.start]
    if before in ("$", "¢"):
        return before
    return word_after(text, token.end)


def word_after(text: str, position: int) -> str:
    """The word that starts at a position, or after the spaces there; empty when there is none."""
    match = _UNIT_AFTER.match(text, position)
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


def is_unit(name: str) -> bool:
    """Whether the name is a unit that can be converted."""
    return _unit(name) is not None


def _unit(name: str) -> tuple[str, int] | None:
    return _UNITS.get(name) or _UNITS.get(name.removesuffix("s"))


def agrees_in_other_units(
    lhs: Sequence[Token], rhs: Sequence[Token], stated: Ratio, decimals: int | None, text: str
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


def is_right(
    lhs: list[Token],
    rhs: list[Token],
    exact: Ratio,
    text: str,
    equality: Token | None,
    *,
    is_running: bool = False,
) -> bool:
    """Whether the stated result `rhs` is right for the expression `lhs`, whose value is `exact`.

    `is_running` says that another equality follows: `3 * 8 = 24/2 = 12` is a running calculation.
    """
    value = rhs[0].value
    if len(rhs) == 1 and exact[0] * value[1] == value[0] * exact[1] and not rhs[0].is_percent:
        return True
    is_approximate = equality is not None and equality.kind == "~"
    is_marked_rough = is_approximate or _ROUGH.search(
        text, max(rhs[0].start - _NEARBY, 0), rhs[-1].end + _NEARBY
    )
    for result in _result_interpretations(lhs, rhs, text, is_running=is_running):
        stated = evaluate(result)
        if stated is None:
            continue
        written = stated_decimals(result)
        is_rough = is_approximate if written is None else bool(is_marked_rough)
        is_exact = written == 0 and not is_rough and _is_exact_arithmetic(lhs, exact)
        decimals = None if is_exact else written
        if (
            agrees(exact, stated, decimals, is_rough=is_rough)
            or _agrees_as_percentage(lhs, result, written, is_rough)
            or agrees_in_other_units(lhs, result, stated, written, text)
            or any(
                agrees(other, stated, decimals, is_rough=is_rough) for other in _other_interpretations(lhs)
            )
        ):
            return True
    return _agrees_within_rounding(lhs, rhs, exact)


_EXACT_SPELLINGS = frozenset({"fraction", "scientific", "root", IRRATIONAL, "pi"})


def stated_decimals(tokens: Sequence[Token]) -> int | None:
    r"""The decimals to which a result is stated; None for fractions, roots and other exact results.

    Example:
        "-3.33" -> 2; "8/12" -> None; "3.3 \times 10^4" -> -3
    """
    signs = "+-("
    first = next((index for index, token in enumerate(tokens) if token.kind not in signs), 0)
    body = [token for token in tokens[first:] if token.kind != ")"]
    mantissa = body[0]
    if mantissa.kind != "number" or mantissa.name in _EXACT_SPELLINGS:
        return None
    if len(body) == 1:
        return mantissa.decimals
    is_scientific = [token.kind for token in body[1:4]] == ["*", "number", "^"] and body[2].value == (10, 1)
    exponent = evaluate([token for token in body[4:] if token.kind != "("]) if is_scientific else None
    if exponent is None or not mantissa.decimals or exponent[1] != 1:
        return None
    return mantissa.decimals - exponent[0]


def _is_exact_arithmetic(lhs: Sequence[Token], exact: Ratio) -> bool:
    """Whether a whole number cannot be a rounding of the expression: it adds fractions, or is below one."""
    if abs(exact[0]) < exact[1]:
        return True
    num_fractions = 0
    for index, token in enumerate(lhs):
        num_fractions += token.name == "fraction" or (token.kind == "/" and index > 0)
    return num_fractions > 1 or any(token.name == "fraction" for token in lhs)


_RELATIVE_ERROR = 10**12


def _agrees_within_rounding(lhs: Sequence[Token], rhs: Sequence[Token], exact: Ratio) -> bool:
    """Whether both sides are equal up to the digits of the rounded numbers in the result.

    `10/3 + 1 = 3.33 + 1` and `3.33 = 10/3` are right, and so is `√8 = 2√2`.
    """
    stated = evaluate(rhs)
    if stated is None:
        return False
    if any(token.name in (IRRATIONAL, "pi") for token in (*lhs, *rhs)):
        error = abs(exact[0] * stated[1] - stated[0] * exact[1])
        return error * _RELATIVE_ERROR <= abs(exact[0] * stated[1])
    if len(rhs) == 1:
        return False
    if len(lhs) == 1 and lhs[0].decimals > 0:
        return agrees(stated, exact, lhs[0].decimals, is_rough=False)
    if len(lhs) == 1 and lhs[0].is_percent:
        return agrees(stated, exact, lhs[0].decimals + 2, is_rough=False)
    if exact[0] * 100 % exact[1] == 0:
        return False
    tolerance = _rounding_error(rhs, stated)
    difference = apply("-", exact, stated)
    if tolerance is None or difference is None:
        return False
    return abs(difference[0]) * tolerance[1] <= tolerance[0] * difference[1]


def _rounding_error(tokens: Sequence[Token], value: Ratio) -> Ratio | None:
    """How far an expression can be off because its decimals are rounded: the sum over one unit of each."""
    total: Ratio | None = (0, 1)
    for index, token in enumerate(tokens):
        if token.kind != "number" or token.decimals <= 0 or total is None:
            continue
        next_value = apply("+", token.value, (1, int(10**token.decimals)))
        if next_value is None:
            return None
        shifted = evaluate([*tokens[:index], token._replace(value=next_value), *tokens[index + 1 :]])
        change = None if shifted is None else apply("-", shifted, value)
        total = None if change is None else apply("+", total, (abs(change[0]), change[1]))
    return total


_PI_APPROXIMATIONS: tuple[Ratio, ...] = ((157, 50), (22, 7), (3927, 1250), (1571, 500))


def _other_interpretations(lhs: list[Token]) -> Iterator[Ratio]:
    """`60 / 3/4` divides by three quarters; `10% of the $4 + $5 = $9` adds first; pi may be 3.14."""
    grouped = _with_tight_fractions(lhs)
    shares = [i for i, token in enumerate(lhs) if token.name == "of"]
    variants = [grouped if len(grouped) < len(lhs) else [], lhs[shares[0] + 1 :] if shares else []]
    if any(token.name == "pi" for token in lhs):
        variants += [
            [token._replace(value=pi) if token.name == "pi" else token for token in lhs]
            for pi in _PI_APPROXIMATIONS
        ]
    for tokens in variants:
        value = evaluate(tokens) if tokens else None
        if value is not None:
            yield value


def with_divided_fractions(tokens: list[Token]) -> list[Token]:
    """The tokens with fractions as numbers where one fraction is divided by another: `3/4 ÷ 1/2` is 3/2."""
    for index in range(3, len(tokens) - 3):
        is_division = tokens[index].kind == "/" and tokens[index - 1].end < tokens[index].start
        if is_division and len(_with_tight_fractions(tokens[index - 3 : index + 4])) == 3:
            return _with_tight_fractions(tokens)
    return tokens


def _with_tight_fractions(tokens: list[Token]) -> list[Token]:
    grouped: list[Token] = []
    for token in tokens:
        if [item.kind for item in (*grouped[-2:], token)] == ["number", "/", "number"]:
            top = grouped[-2]
            if token.start == top.end + 1 and token.value[0]:
                value = apply("/", top.value, token.value) or top.value
                grouped[-2:] = [top._replace(end=token.end, value=value, name="fraction")]
                continue
        grouped.append(token)
    return grouped


def _result_interpretations(
    lhs: list[Token], rhs: list[Token], text: str, *, is_running: bool
) -> Iterator[list[Token]]:
    """`= 8 - 2` may state 6, or 8 and then continue; `2 * 10 = $20 million` counts in millions."""
    yield rhs
    if len(rhs) > 1:
        length = 2 if rhs[0].kind == "-" else 1
        if length < len(rhs) and not _belongs_to_number(lhs, rhs[length - 1 :], is_running=is_running):
            yield rhs[:length]
        if len(rhs) > 3 and rhs[1].kind == "/":
            yield rhs[:3]
    elif rhs[0].name == "scaled":
        value, decimals = read_number(text[rhs[0].start : rhs[0].end].split()[0])
        yield [rhs[0]._replace(value=value, decimals=decimals)]


def _belongs_to_number(lhs: Sequence[Token], rhs: Sequence[Token], *, is_running: bool) -> bool:
    """Whether the operator after the first number is part of its notation: `8/12`, `36π`, `6 * 10^3`."""
    number, operator, after = (*rhs, *rhs[-1:])[:3]
    if operator.kind == "^" or operator.start == operator.end or operator.kind in "(":
        return True
    if operator.kind == "*":
        return after.name in ("pi", IRRATIONAL) or (
            len(rhs) > 3 and rhs[3].kind == "^" and after.value == (10, 1)
        )
    if operator.kind != "/":
        return False
    adds_fractions = any(token.kind == "/" or token.name == "fraction" for token in lhs)
    is_tight = operator.start == number.end
    return (is_tight and not is_running) or adds_fractions


def _agrees_as_percentage(lhs: list[Token], rhs: list[Token], decimals: int | None, is_rough: bool) -> bool:
    if not any(token.is_percent for token in lhs) and not any(token.is_percent for token in rhs):
        return False
    meanings: list[tuple[PercentMeaning, PercentMeaning]] = [
        ("share", "share"), ("plain", "plain"), ("relative", "share"), ("share", "plain"),
    ]  # fmt: skip
    for left_meaning, right_meaning in meanings:
        exact, stated = evaluate(lhs, None, left_meaning), evaluate(rhs, None, right_meaning)
        is_share = decimals is not None and right_meaning == "share" and rhs[0].is_percent
        precision = decimals + 2 if is_share and decimals is not None else decimals
        if exact and stated and agrees(exact, stated, precision, is_rough=is_rough):
            return True
    return False
