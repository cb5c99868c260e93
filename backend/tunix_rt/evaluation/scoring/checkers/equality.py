"""Decide whether two mathematical statements are equal, by evaluating them to hundreds of digits.

Runs in the child process of the verifiers: an answer may take long to evaluate.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from mpmath import mp

from tunix_rt.evaluation.scoring.checkers.expressions import Node, parse
from tunix_rt.evaluation.scoring.checkers.quantities import find_unit

_DIGITS = 260
_TOLERANCE_DIGITS = 220
"""Longer than any decimal in an answer: none passes for the irrational number that it approximates."""
_MAX_MAGNITUDE = 3000
"""Decimal digits before the point; anything larger is undefined."""
_MAX_FACTORIAL = 2000
_NUM_POINTS = 12
_MIN_POINTS = 3

Point = dict[str, Any]


class _UndefinedError(Exception):
    """An expression has no value at a point, or one too large to compute."""


class _UndecidedError(Exception):
    """Too few points have values."""


def is_equal(expected: str, answer: str) -> bool | None:
    """Whether an answer states what is expected; None if one of them is not in the notation of `parse`.

    Example:
        "p - q" and "-q + p" -> True; "x = 5" and "y = 5" -> False
    """
    gold, given = parse(expected), parse(answer)
    if gold is None or given is None:
        return None
    scale = _scale(gold.unit, given.unit)
    if scale is None:
        return False
    node = given.node
    if scale != 1:
        factor = Node(
            "/", (Node("number", text=str(scale.numerator)), Node("number", text=str(scale.denominator)))
        )
        node = Node("*", (node, factor))
    with mp.workdps(_DIGITS):
        try:
            return _equal(gold.node, node)
        except _UndecidedError:
            return None


def _scale(expected: str, given: str) -> Fraction | None:
    """What to multiply an answer by to have it in the expected unit; None if the units do not convert.

    A missing unit is the one asked for.
    """
    one, other = find_unit(expected)[0], find_unit(given)[0]
    if other is not None and one is None and not expected:
        if other.dimension == "share":
            return Fraction(1, 100)
        return None if other.dimension == "angle" else Fraction(1)
    if not expected or not given:
        return None if given.startswith("base ") else Fraction(1)
    if one is not None and other is not None:
        return other.factor / one.factor if one.dimension == other.dimension else None
    return Fraction(1) if one is other and _noun(expected) == _noun(given) else None


def _noun(words: str) -> str:
    return "".join(words.casefold().split()[-1:]).removesuffix("s")


def _equal(gold: Node, given: Node) -> bool:
    gold, given = _joined(_expanded(gold)), _joined(_expanded(given))
    if "based" in (gold.kind, given.kind):
        return gold.text == given.text and {gold.kind, given.kind} <= {"based", "number"}
    (name, gold_value), (other_name, given_value) = _assigned(gold), _assigned(given)
    if name and other_name:
        # `y = 2x + 1` may also be written with another left side.
        return (name == other_name and _equal(gold_value, given_value)) or _same_relation(gold, given)
    if name and not _is_relation(given):
        return _equal(gold_value, given)
    if other_name and not _is_relation(gold):
        return _equal(gold, given_value)
    if other_name and _is_inequality(gold) and given_value.kind in ("group", "union"):
        return other_name in map(str.casefold, _symbols(gold)) and _equal(gold, given_value)
    if _is_relation(gold) and _is_relation(given):
        if (gold.text == "=" and not _symbols(_difference(gold))) or _is_solution(gold):
            return False
        return _same_relations(gold, given)
    gold, given = _as_interval(gold, given), _as_interval(given, gold)
    if gold.kind in ("list", "group", "union") or given.kind in ("list", "group", "union"):
        return _same_collection(gold, given)
    if _is_relation(gold) or _is_relation(given):
        return (
            not _is_relation(gold)
            and _ends_calculation(given) is not None
            and _equal(gold, _ends_calculation(given) or gold)
        )
    return _same_value(gold, given)


# Statements


def _is_relation(node: Node) -> bool:
    return node.kind in ("relation", "chain")


def _joined(node: Node) -> Node:
    """`x > 1 and x < 2` as `1 < x < 2`; other statements unchanged."""
    if node.kind != "list" or node.text == "or" or not node.args or not all(map(_is_inequality, node.args)):
        return node
    parts = (part.args if part.kind == "chain" else (part,) for part in node.args)
    return Node("chain", tuple(one for part in parts for one in part))


def _is_inequality(node: Node) -> bool:
    relations = node.args if node.kind == "chain" else (node,)
    return _is_relation(node) and all(one.text in "<>≤≥" for one in relations)


def _difference(relation: Node) -> Node:
    return Node("-", relation.args)


def _assigned(node: Node) -> tuple[str, Node]:
    """The name and the value of `x = 5`, `f(x) = x^2` or `x = 10/2 = 5`; an empty name for others."""
    relations = node.args if node.kind == "chain" else (node,)
    if not all(one.kind == "relation" and one.text in ("=", "∈") for one in relations):
        return "", node
    left, value = relations[0].args[0], relations[-1].args[1]
    name = _name(left)
    if not name and _name(value) and not _symbols(left) and len(relations) == 1:
        left, value, name = value, left, _name(value)
    if not name or (left.kind == "symbol" and left.text in _symbols(value)):
        return "", node
    if len(relations) > 1:
        middle = [relation.args[1] for relation in relations[:-1]]
        if not all(_same_value(one, value) for one in middle):
            return "", node
    return name, value


def _name(node: Node) -> str:
    if node.kind == "symbol":
        return node.text.casefold()
    if node.kind == "group" and all(item.kind == "symbol" for item in node.args):
        return ",".join(item.text for item in node.args)
    # `f(x)` reads as the product of f and x.
    if node.kind == "*" and node.args[0].kind == "symbol" and node.args[1].kind in ("symbol", "number"):
        head, argument = node.args
        return f"{head.text}({argument.text})" if head.text in "fghFGHPQpq" else ""
    return ""


def _is_solution(relation: Node) -> bool:
    """Whether it is `x = 5`: an equation that leaves nothing to solve."""
    name, value = _assigned(relation)
    return bool(name) and not _symbols(value)


def _ends_calculation(node: Node) -> Node | None:
    """The last value of a correct calculation such as `2 * 3 = 6`; None for other relations."""
    relations = node.args if node.kind == "chain" else (node,)
    if any(one.text != "=" for one in relations):
        return None
    sides = [relations[0].args[0], *(one.args[1] for one in relations)]
    if any(side.kind in ("group", "list", "union") for side in sides):
        return None
    return sides[-1] if all(_same_value(one, sides[-1]) for one in sides[:-1]) else None


def _expanded(node: Node) -> Node:
    """The list of both values of a statement with ±; other statements unchanged."""
    if node.kind in ("list", "group"):
        items: list[Node] = []
        for item in node.args:
            inner = _expanded(item)
            items.extend(inner.args if inner.kind == "list" and inner is not item else (inner,))
        return Node(node.kind, tuple(items), node.text)
    if not _has_signs(node):
        return node
    both = (_with_signs(node, "+", "-"), _with_signs(node, "-", "+"))
    name, _ = _assigned(both[0])
    return Node("list", both if not name else tuple(_assigned(one)[1] for one in both), ",")


def _has_signs(node: Node) -> bool:
    return node.kind in ("±", "∓") or any(_has_signs(child) for child in node.args)


def _with_signs(node: Node, plus_minus: str, minus_plus: str) -> Node:
    kind = {"±": plus_minus, "∓": minus_plus}.get(node.kind, node.kind)
    return Node(kind, tuple(_with_signs(child, plus_minus, minus_plus) for child in node.args), node.text)


# Collections


def _same_collection(gold: Node, given: Node) -> bool:
    if "union" in (gold.kind, given.kind):
        parts = [node.args if node.kind == "union" else (node,) for node in (gold, given)]
        return _matches(_equal, parts[0], parts[1])
    brackets = {node.text for node in (gold, given) if node.kind == "group"}
    if gold.kind not in ("group", "list") or given.kind not in ("group", "list"):
        # One value, or a set with one element.
        single = next(node for node in (gold, given) if node.kind in ("group", "list"))
        return len(single.args) == 1 and brackets <= {"⦃⦄"} and _equal(_unpacked(gold), _unpacked(given))
    if given.text == "or" != gold.text and not all(map(_is_relation, given.args)):
        return False  # `1 or 2` is one of them
    if brackets == {"⦃⦄"} and not any(map(_is_relation, gold.args + given.args)):
        return all(_has(given.args, one) for one in gold.args) and all(
            _has(gold.args, one) for one in given.args
        )
    if len(gold.args) != len(given.args):
        return False
    names = [[name for name, _ in map(_assigned, node.args) if name] for node in (gold, given)]
    if all(len(set(found)) == len(found) == len(gold.args) > 1 for found in names):
        return _matches(_equal, gold.args, given.args)
    if any(len(set(found)) > 1 for found in names):
        # `x = 2, y = 3` is the point (2, 3), but not the values 3 and 2.
        return all(found == sorted(found) for found in names) and all(map(_equal, gold.args, given.args))
    if len(brackets) == 2 and (len(gold.args) == 2 or not brackets <= {"()", "[]"}):
        return False
    if brackets and brackets != {"⦃⦄"}:
        return all(_equal(one, other) for one, other in zip(gold.args, given.args, strict=True))
    return _matches(_equal, _without_one_name(gold.args), _without_one_name(given.args))


def _has(items: Iterable[Node], wanted: Node) -> bool:
    return any(_equal(wanted, item) for item in items)


def _unpacked(node: Node) -> Node:
    return node.args[0] if node.kind in ("group", "list") else node


def _without_one_name(items: tuple[Node, ...]) -> tuple[Node, ...]:
    """`x = 1, 2` and `x = 1, x = 2` as 1 and 2; `x = 1, y = 2` unchanged."""
    names = {name for name, _ in map(_assigned, items) if name}
    return tuple(_assigned(item)[1] for item in items) if len(names) == 1 else items


def _matches(is_same: Callable[[Node, Node], bool], gold: Iterable[Node], given: Iterable[Node]) -> bool:
    """Whether every element has its own equal on the other side, in any order."""
    remaining = list(given)
    for one in gold:
        found = next((index for index, other in enumerate(remaining) if is_same(one, other)), None)
        if found is None:
            return False
        del remaining[found]
    return not remaining


# Relations


def _conditions(node: Node) -> list[tuple[str, Node]]:
    """Every relation as an expression compared with zero: `a < b` as b - a > 0."""
    found = []
    for one in node.args if node.kind == "chain" else (node,):
        left, right = one.args
        if one.text in "<≤":
            found.append((">" if one.text == "<" else "≥", Node("-", (right, left))))
        else:
            found.append((one.text, Node("-", (left, right))))
    return found


def _same_relations(gold: Node, given: Node) -> bool:
    wanted, found = _conditions(gold), _conditions(given)
    if any(side.kind in ("group", "list", "union") for _, node in wanted + found for side in node.args):
        return False
    remaining = list(found)
    for operator, expression in wanted:
        match = next(
            (one for one in remaining if one[0] == operator and _is_multiple(expression, one[1], operator)),
            None,
        )
        if match is None:
            return False
        remaining.remove(match)
    return not remaining


def _same_relation(gold: Node, given: Node) -> bool:
    return gold.kind == given.kind == "relation" and not _is_solution(gold) and _same_relations(gold, given)


def _is_multiple(one: Node, other: Node, operator: str) -> bool:
    """Whether the ratio of two expressions is constant, and positive for an inequality."""
    ratios = []
    for a, b in _values(one, other):
        if _is_zero(a) and _is_zero(b):
            continue
        if _is_zero(a) or _is_zero(b):
            return False
        ratios.append(a / b)
    if operator in ">≥" and any(mp.im(ratio) != 0 or mp.re(ratio) <= 0 for ratio in ratios):
        return False
    if all(_close(ratio, ratios[0]) for ratio in ratios):
        return True
    return operator == "=" and (_solves(one, other) or _solves(other, one))


def _solves(one: Node, other: Node) -> bool:
    """Whether `y - f = 0` is the other equation solved for y: `y = 1/x` and `xy = 1`."""
    if one.kind != "-" or one.args[0].kind != "symbol" or one.args[0].text in _symbols(one.args[1]):
        return False
    symbol, value = one.args[0].text, one.args[1]
    shifted = [
        _replaced(other, symbol, Node("+", (value, Node("number", text=str(step))))) for step in range(3)
    ]
    zero = Node("number", text="0")
    is_linear = _same_value(Node("*", (Node("number", text="2"), shifted[1])), shifted[2])
    return _same_value(shifted[0], zero) and is_linear and not _same_value(shifted[1], zero)


def _replaced(node: Node, symbol: str, value: Node) -> Node:
    if node.kind == "symbol" and node.text == symbol:
        return value
    return Node(node.kind, tuple(_replaced(child, symbol, value) for child in node.args), node.text)


def _as_interval(node: Node, other: Node) -> Node:
    """Inequalities of one unknown as an interval, where the other side is one or a union."""
    if other.kind not in ("group", "union", "list"):
        return node
    if node.kind == "list" and node.text == "or" and all(map(_is_inequality, node.args)):
        parts = [_as_interval(item, Node("group")) for item in node.args]
        return Node("union", tuple(parts)) if other.kind != "list" else node
    if not _is_relation(node) or len(_symbols(node)) != 1:
        return node
    low, high, low_bracket, high_bracket = _bound("-inf"), _bound("inf"), "(", ")"
    for operator, expression in _conditions(node):
        if operator not in ">≥":
            return node
        at = [_replaced(expression, min(_symbols(node)), Node("number", text=str(step))) for step in range(3)]
        start, slope = at[0], Node("-", (at[1], at[0]))
        if not _same_value(Node("-", (at[2], at[1])), slope):
            return node
        root = Node("-", (Node("number", text="0"), Node("/", (start, slope))))
        value = next((value for value, _ in _values(slope, slope)), None)
        if value is None or _is_zero(value):
            return node
        if mp.re(value) > 0:
            low, low_bracket = root, "(" if operator == ">" else "["
        else:
            high, high_bracket = root, ")" if operator == ">" else "]"
    return Node("group", (low, high), low_bracket + high_bracket)


def _bound(name: str) -> Node:
    infinity = Node("constant", text="inf")
    return infinity if name == "inf" else Node("-", (Node("number", text="0"), infinity))


# Values


def _same_value(one: Node, other: Node) -> bool:
    kinds = {"group", "list", "union", "relation", "chain", "based"}
    if one.kind in kinds or other.kind in kinds:
        return False
    return all(_close(a, b) for a, b in _values(one, other))


def _values(one: Node, other: Node) -> Iterator[tuple[Any, Any]]:
    """The values of two expressions at the same points, where both are real if there are enough of those.

    Raises:
        _UndecidedError: Too few points have values.
    """
    names = sorted(_symbols(one) | _symbols(other))
    pairs = []
    for index in range(_NUM_POINTS if names else 1):
        point = _point(names, index)
        values = (_value_or_none(one, point), _value_or_none(other, point))
        if None not in values:
            pairs.append(values)
        elif values != (None, None) and not names:
            pairs.append((mp.mpf(0), mp.mpf(1)))  # one of them is a number, the other is undefined
    real = [pair for pair in pairs if all(_is_zero(mp.im(value)) for value in pair)]
    enough = min(_MIN_POINTS, _NUM_POINTS if names else 1)
    if len(real) >= enough and not _is_complex(one) and not _is_complex(other):
        pairs = real
    if len(pairs) < enough:
        raise _UndecidedError
    yield from pairs


def _point(names: list[str], index: int) -> Point:
    """Random rational values: positive ones first, then of both signs."""
    point = {}
    for name in names:
        rng = random.Random(f"{index} {name}")
        value = Fraction(rng.randint(10**8, 3 * 10**9), 10**9)
        sign = -1 if index >= _NUM_POINTS // 2 and rng.random() < 0.6 else 1
        point[name] = sign * mp.mpf(value.numerator) / value.denominator
    return point


def _symbols(node: Node) -> frozenset[str]:
    if node.kind == "symbol":
        return frozenset({node.text})
    return frozenset().union(*(_symbols(child) for child in node.args))


def _is_complex(node: Node) -> bool:
    return (node.kind, node.text) == ("constant", "i") or any(map(_is_complex, node.args))


def _close(a: Any, b: Any) -> bool:
    if mp.isinf(a) or mp.isinf(b):
        return bool(a == b)
    return bool(abs(a - b) <= mp.mpf(10) ** -_TOLERANCE_DIGITS * max(1, abs(a), abs(b)))


def _is_zero(value: Any) -> bool:
    return _close(value, mp.mpf(0))


def _value_or_none(node: Node, point: Point) -> Any:
    try:
        return _value(node, point)
    except (_UndefinedError, ZeroDivisionError, ValueError, OverflowError, TypeError):
        return None


def _value(node: Node, point: Point) -> Any:
    if node.kind == "number":
        return mp.mpf(node.text)
    if node.kind == "symbol":
        return point[node.text]
    if node.kind == "constant":
        return {"pi": +mp.pi, "e": +mp.e, "i": mp.mpc(0, 1), "inf": mp.inf}[node.text]
    arguments = [_value(child, point) for child in node.args]
    if node.kind == "function":
        if node.text in ("exp", "sinh", "cosh") and abs(arguments[0]) > 2 * _MAX_MAGNITUDE:
            raise _UndefinedError
        result = _FUNCTIONS[node.text](arguments[0])
    elif node.kind in _OPERATIONS:
        result = _OPERATIONS[node.kind](*arguments)
    else:
        raise _UndefinedError
    if mp.isnan(result) or (not mp.isinf(result) and abs(result) > mp.mpf(10) ** _MAX_MAGNITUDE):
        raise _UndefinedError
    return result


def _divided(top: Any, bottom: Any) -> Any:
    if _is_zero(bottom):
        raise _UndefinedError
    return top / bottom


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > 10 * _MAX_MAGNITUDE or (_is_zero(base) and mp.re(exponent) <= 0):
        raise _UndefinedError
    if abs(mp.re(exponent) * mp.log(abs(base) + 1, 10)) > _MAX_MAGNITUDE:
        raise _UndefinedError
    return mp.power(base, exponent)


def _root(value: Any, degree: Any) -> Any:
    """The real root of a negative number if the degree is odd, as in school."""
    if mp.im(value) == 0 and value < 0 and mp.isint(degree) and int(degree) % 2:
        return -mp.power(-value, 1 / degree)
    return mp.sqrt(value) if degree == 2 else mp.power(value, 1 / degree)


def _factorial(value: Any) -> Any:
    if not mp.isinf(value) and abs(value) <= _MAX_FACTORIAL:
        return mp.factorial(value)
    raise _UndefinedError


def _binomial(top: Any, bottom: Any) -> Any:
    if abs(top) > _MAX_FACTORIAL or abs(bottom) > _MAX_FACTORIAL:
        raise _UndefinedError
    return mp.binomial(top, bottom)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "^": _power,
    "!": _factorial,
    "abs": lambda a: abs(a),
    "root": _root,
    "binomial": _binomial,
    "degrees": lambda a: a * mp.pi / 180,
}
_INVERSE = {
    f"{prefix}{name}": getattr(mp, f"a{name}") for name in ("sin", "cos", "tan") for prefix in ("a", "arc")
}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = (
    {name: getattr(mp, name) for name in "sin cos tan cot sec csc sinh cosh tanh exp".split()}
    | {"log": mp.log, "ln": mp.log, "lg": partial(mp.log, b=10), "sqrt": mp.sqrt}
    | _INVERSE
)
