"""Roots, function applications and mixed numbers in LaTeX: several tokens that stand for one value."""

from collections.abc import Sequence
from math import isqrt

from tunix_rt.traces.linter.expressions import evaluate
from tunix_rt.traces.linter.rationals import MAX_BITS, Ratio, reduced, square_root
from tunix_rt.traces.linter.vocabulary import Token

ROOT = "√"
OPAQUE = "∛"
"""A function that is not computed: a cube root, a logarithm, an unknown LaTeX command."""
IRRATIONAL = "irrational"
COMPUTED = frozenset({"pi", "root", IRRATIONAL})
"""Names of numbers that are not written with digits."""
_ROOT_DIGITS = 30
_MAX_RADICAND_TOKENS = 20
_ALWAYS_FUNCTIONS = frozenset("fgh")
_OPERAND_ENDS = frozenset({"number", "unknown", ")"})
_LATEX_FRACTION = ["(", "(", "number", ")", "/", "(", "number", ")", ")"]


def collapsed(tokens: Sequence[Token], text: str) -> list[Token]:
    r"""The tokens with each root, function application and LaTeX mixed number as one token.

    Example:
        "√9" -> number 3; "f(10)" -> unknown f(10); "2\frac{1}{3}" -> number 7/3
    """
    closers = _matching_brackets(tokens)
    functions = _function_letters(tokens, closers)
    result: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        last = index
        if token.kind == "unknown" and index + 1 < len(tokens):
            last = _end_of_argument(tokens, index, closers, functions)
        elif token.kind == "(" and result and _is_mixed_number(result[-1], tokens[index : index + 9]):
            top, bottom = tokens[index + 2].value[0], tokens[index + 6].value[0]
            whole, last = result.pop(), index + 8
            value = reduced((whole.value[0] * bottom + top, bottom))
            token = whole._replace(end=tokens[last].end, value=value, name="fraction")
        if last > index and token.kind == "unknown":
            token = _application(token, tokens[index + 1 : last + 1], text)
            if token.kind == "number" and result and _touches(result[-1], token):
                result.append(Token("*", token.start, token.start))
        result.append(token)
        index = last + 1
    return result


def _matching_brackets(tokens: Sequence[Token]) -> dict[int, int]:
    closers: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind == "(":
            opened.append(index)
        elif token.kind == ")" and opened:
            closers[opened.pop()] = index
    return closers


def _function_letters(tokens: Sequence[Token], closers: dict[int, int]) -> set[str]:
    """The letters that a text applies to an argument, as in `P(3)` or `T(n)`; `x(x + 1)` is a product."""
    letters = set(_ALWAYS_FUNCTIONS)
    for index, token in enumerate(tokens[:-1]):
        if len(token.name) != 1 or token.kind != "unknown" or tokens[index + 1].start != token.end:
            continue
        argument = tokens[index + 2 : closers.get(index + 1, index + 2)]
        is_multiplied = index > 0 and _touches(tokens[index - 1], token)
        is_single = len(argument) == 1 and argument[0].name != token.name
        if not is_multiplied and (is_single or any(part.gap for part in argument[1:])):
            letters.add(token.name)
    return letters


def _end_of_argument(
    tokens: Sequence[Token], index: int, closers: dict[int, int], functions: set[str]
) -> int:
    """The last token of the argument of a function or root; `index` itself when it has none."""
    token, after = tokens[index], tokens[index + 1]
    is_root = token.name in (ROOT, OPAQUE)
    if after.kind == "(" and after.gap == 0:
        is_applied = is_root or token.name.startswith("function-")
        if is_applied or (token.name in functions and after.start == token.end):
            return closers.get(index + 1, index)
    return index + 1 if is_root and after.kind in ("number", "unknown") and after.gap == 0 else index


def _application(function: Token, argument: Sequence[Token], text: str) -> Token:
    """One token for a root or an application: a number where it can be computed, else an unknown."""
    end = argument[-1].end
    is_root = function.name == ROOT or (
        function.name.startswith("function-") and text.endswith("sqrt", 0, function.start)
    )
    radicand = evaluate(argument) if is_root and len(argument) <= _MAX_RADICAND_TOKENS else None
    root = None if radicand is None else _root_of(radicand)
    if root is None:
        return function._replace(end=end, name="".join(text[function.start : end].split()) + function.name)
    name = "root" if square_root(radicand or (0, 1)) else IRRATIONAL
    return function._replace(kind="number", end=end, value=root, name=name)


def _root_of(value: Ratio) -> Ratio | None:
    """The square root, exact or correct to 30 digits."""
    exact = square_root(value) if max(value[0].bit_length(), value[1].bit_length()) < MAX_BITS else None
    if exact is not None or value[0] < 0:
        return exact
    scale = 10**_ROOT_DIGITS
    # sqrt(n/d) = sqrt(n*d) / d
    return reduced((isqrt(value[0] * value[1] * scale * scale), value[1] * scale))


def _is_mixed_number(whole: Token, fraction: Sequence[Token]) -> bool:
    if whole.kind != "number" or whole.value[1] != 1 or whole.is_percent or whole.name:
        return False
    if fraction[0].gap or [token.kind for token in fraction] != _LATEX_FRACTION:
        return False
    top, bottom = fraction[2].value, fraction[6].value
    return top[1] == bottom[1] == 1 and 0 < top[0] < bottom[0]


def _touches(left: Token, right: Token) -> bool:
    return left.kind in _OPERAND_ENDS and left.end == right.start and right.gap == 0
