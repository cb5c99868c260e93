"""Expression spans, their exact values, equations in unknowns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from tunix_rt.traces.linter.rationals import Ratio, agrees, apply, reduced
from tunix_rt.traces.linter.vocabulary import BREAK, Token

PercentMeaning = Literal["share", "plain", "relative"]
"""What `20%` means: 0.2, or 20 (percentages of percentages), or a share of the value before it."""

OPERATORS = "+-*/^"
_OPERANDS = frozenset({"number", "unknown"})
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "negate": 3, "^": 4}
MAX_TOKENS = 400


def evaluate(
    tokens: Sequence[Token], unknowns: Mapping[str, Ratio] | None = None, percent: PercentMeaning = "share"
) -> Ratio | None:
    """The value of a whole expression, or None when it is not one.

    Example:
        tokenise("2 * (3 + 4)") -> (14, 1)
    """
    if len(tokens) == 1 and tokens[0].kind == "number" and not tokens[0].is_percent:
        return tokens[0].value
    if len(tokens) > MAX_TOKENS:
        return None
    return _Evaluation(unknowns or {}, percent).run(tokens)


class _Evaluation:
    """Dijkstra's two-stack algorithm: without recursion, deep nesting cannot crash the process."""

    def __init__(self, unknowns: Mapping[str, Ratio], percent: PercentMeaning) -> None:
        self.unknowns = unknowns
        self.percent = percent
        self.values: list[Ratio | None] = []
        self.operators: list[str] = []

    def run(self, tokens: Sequence[Token]) -> Ratio | None:
        expects_operand = True
        for token in tokens:
            kind = token.kind
            if kind in _OPERANDS or kind == "(":
                if not expects_operand:
                    self._push_operator("*")
                if kind == "(":
                    self.operators.append("(")
                else:
                    self.values.append(self._operand(token))
                expects_operand = kind == "("
            elif kind == ")":
                if expects_operand or not self._reduce_to_bracket():
                    return None
                self.operators.pop()
            elif expects_operand:
                if kind not in "+-":
                    return None
                if kind == "-":
                    self.operators.append("negate")
            else:
                self._push_operator(kind)
                expects_operand = True
        return None if expects_operand or self._reduce_to_bracket() else self.values[-1]

    def _operand(self, token: Token) -> Ratio | None:
        if token.kind == "unknown":
            return self.unknowns.get(token.name)
        if not token.is_percent or self.percent == "plain":
            return token.value
        share = (token.value[0], token.value[1] * 100)
        if self.percent == "relative" and self.operators and self.operators[-1] in "+-" and self.values[-1]:
            return apply("*", self.values[-1], share)
        return share

    def _push_operator(self, operator: str) -> None:
        while self.operators and self.operators[-1] != "(":
            top = self.operators[-1]
            if _PRECEDENCE[top] < _PRECEDENCE[operator] or (top == operator == "^"):
                break
            self._reduce()
        self.operators.append(operator)

    def _reduce(self) -> None:
        operator = self.operators.pop()
        right = self.values.pop()
        if operator == "negate":
            self.values.append(None if right is None else (-right[0], right[1]))
            return
        left = self.values.pop()
        self.values.append(None if left is None or right is None else apply(operator, left, right))

    def _reduce_to_bracket(self) -> bool:
        """Apply all operators since the last open bracket; False when no bracket is open."""
        while self.operators and self.operators[-1] != "(":
            self._reduce()
        return bool(self.operators)


MAX_UNIT_WORDS = 8
"""`12 large plastic skulls + 4`: words allowed between a number and its operator."""
MAX_LEAD_WORDS = 3
"""`+ another 5`: words allowed between an operator and its number."""
MAX_RESULT_WORDS = 8
_EQUALITIES = frozenset({"=", "~", "implied"})
_OPERAND_ENDS = frozenset({"number", "unknown", ")"})
_OPERAND_STARTS = frozenset({"number", "("})


@dataclass(slots=True)
class ExpressionSpan:
    """An expression and the equality before it (None when nothing links it to the left)."""

    tokens: list[Token]
    equality: Token | None = None
    words_before_equality: int = 0
    follows_word: bool = False
    is_garbled: bool = False
    """Another expression precedes it with nothing between them: `100 -6 60 = 40`."""


def find_expressions(tokens: list[Token]) -> list[ExpressionSpan]:
    """The expressions of a text; an expression with an `equality` continues the one before it.

    Example:
        "3 + 4 = 7 cats, 2 dogs" -> [3 + 4], [= 7], [2]
    """
    expressions: list[ExpressionSpan] = []
    current = ExpressionSpan([])
    for index, token in enumerate(tokens):
        kind = token.kind
        if kind in _EQUALITIES:
            current = _close_at_equality(expressions, current, token)
            continue
        if token.name == "word" and _is_passing_word(current, tokens, index):
            continue
        members = current.tokens
        if not members:
            if current.equality is not None and token.gap > MAX_LEAD_WORDS and kind not in OPERATORS:
                current = ExpressionSpan([])  # the equality is too far away
            _start(current, token)
        elif _continues(members[-1], token):
            if kind in "+-*/^)" and members[-1].kind in "+-*/^(" and token.gap % BREAK:
                members.append(_unknown(token))  # "5 + apples + 3"
            members.append(token)
        else:
            expressions.append(current)
            current = ExpressionSpan([], is_garbled=token.gap == 0 and members[-1].name != "word")
            _start(current, token)
    if current.tokens:
        expressions.append(current)
    return expressions


def _is_passing_word(expression: ExpressionSpan, tokens: list[Token], index: int) -> bool:
    """`55 members in the two groups = …`: a number word in running text is not an operand."""
    if not expression.tokens or expression.tokens[-1].kind != "number" or not 0 < tokens[index].gap < BREAK:
        return False
    return index + 1 < len(tokens) and tokens[index + 1].kind not in OPERATORS


def _close_at_equality(
    expressions: list[ExpressionSpan], current: ExpressionSpan, equality: Token
) -> ExpressionSpan:
    if not current.tokens and current.equality is not None and equality.gap <= 1:
        current.equality = equality  # "is equal to", "= ≈"
        return current
    if current.tokens and current.tokens[-1].kind in OPERATORS and equality.gap < BREAK:
        current.tokens.append(_unknown(equality))  # "5 + apples = 12"
    if not current.tokens:
        return ExpressionSpan([])
    expressions.append(current)
    gap = equality.gap
    return ExpressionSpan([]) if gap > MAX_RESULT_WORDS else ExpressionSpan([], equality, gap)


def _unknown(token: Token) -> Token:
    return Token("unknown", token.start, token.start, 0, name=f"word-{token.start}")


def _start(expression: ExpressionSpan, token: Token) -> None:
    expression.follows_word = token.gap % BREAK > 0
    if expression.follows_word and token.kind in "+-*/^)":
        expression.tokens.append(_unknown(token))  # "cost of apples + 5"
    expression.tokens.append(token)


def _continues(last: Token, token: Token) -> bool:
    kind, gap = token.kind, token.gap
    if last.kind in _OPERAND_ENDS:
        if kind in "+-*/^)":
            return gap <= MAX_UNIT_WORDS
        return kind in ("unknown", "(") and gap == 0 and (token.start == last.end or last.name == "pi")
    if kind in _OPERAND_STARTS:
        return gap <= (1 if last.name == "of" else MAX_LEAD_WORDS)
    return gap == 0 or (gap < BREAK and (kind == "unknown" or kind in "+-*/^)"))


_PROBES: tuple[Ratio, Ratio, Ratio] = ((0, 1), (1, 1), (10007, 1))
_SMALL: Ratio = (13, 1)
_CONVERSIONS = frozenset({3, 7, 12, 16, 24, 36, 60, 100, 1000, 3600})
"""Ratios of units: days in a week, inches in a foot, cents in a dollar."""


class Equation(NamedTuple):
    """`8x = 32` implies that x is 4."""

    unknown: str
    root: Ratio | None
    """None when the equation is not linear (`x^2 = 9`), so that it may have several solutions."""
    decimals: int | None
    """Decimals of the root where the text writes it out (`x = 3.33`); None when the root is exact."""
    span: tuple[int, int]
    is_assignment: bool
    """Whether it gives the value itself: `x = 4`, `x = 32/8`."""


def read_equations(expressions: Sequence[ExpressionSpan]) -> Iterator[Equation]:
    """The equations in one unknown letter, with the solutions of the linear ones.

    Example:
        "2x + 3 = 11, so x = 4" -> x is 4 (to be solved), x is 4 (an assignment)
    """
    for left, right in pairwise(expressions):
        if right.equality is None or not _is_stated(left, right):
            continue
        names = _names(left.tokens) | _names(right.tokens)
        letters = [name for name in names if len(name) == 1 and name.isalpha()]
        span = left.tokens[0].start, right.tokens[-1].end
        if len(names) > 1:
            # A root, a sign ± or a function of the letter may give it several values.
            if len(letters) == 1 and any(len(name) > 1 or name in "±√∛" for name in names):
                yield Equation(letters[0], None, 0, span, False)
            continue
        if not letters:
            continue
        root = _root(left.tokens, right.tokens, names)
        is_assignment = [token.kind for token in left.tokens] == ["unknown"]
        if root is None:
            if not is_assignment and not _is_identity(left.tokens, right.tokens):
                yield Equation(letters[0], None, 0, span, False)
        # "C is equal to 2C + C" has the root 0, but it is a definition and not an equation to solve.
        elif root[0] != 0:
            is_assignment = is_assignment and not _names(right.tokens)
            yield Equation(
                letters[0], reduced(root), _decimals_of(left, right, is_assignment), span, is_assignment
            )


def _decimals_of(left: ExpressionSpan, right: ExpressionSpan, is_assignment: bool) -> int | None:
    if is_assignment:
        return right.tokens[0].decimals if len(right.tokens) == 1 else 0
    # "0.33x = 10" may have a rounded coefficient.
    return 0 if any(token.decimals > 0 for token in (*left.tokens, *right.tokens)) else None


def _is_identity(lhs: Sequence[Token], rhs: Sequence[Token]) -> bool:
    return judge_unknowns(lhs, rhs) != "sometimes"


def _is_stated(left: ExpressionSpan, right: ExpressionSpan) -> bool:
    """Whether an equals sign links both sides; `300 miles = x` and `section 2 = x + 200` are names."""
    if right.equality is None or right.equality.kind != "=" or left.is_garbled:
        return False
    is_bare = len(left.tokens) == 1 and left.tokens[0].kind == "number"
    names_thing = right.words_before_equality > 0 or (left.follows_word and left.tokens[0].value < _SMALL)
    return not (is_bare and names_thing)


def _root(lhs: Sequence[Token], rhs: Sequence[Token], names: frozenset[str]) -> Ratio | None:
    """Where two linear sides are equal; None when they are not linear or never equal."""
    sides = [_values_at(probe, lhs, rhs, names) for probe in _PROBES]
    at_zero, at_one, far = (values and apply("-", *values) for values in sides)
    if at_zero is None or at_one is None or far is None:
        return None
    slope = apply("-", at_one, at_zero)
    predicted = slope and apply("+", at_zero, (slope[0] * _PROBES[2][0], slope[1]))
    if not slope or slope[0] == 0 or not predicted or reduced(predicted) != reduced(far):
        return None
    return apply("/", (-at_zero[0], at_zero[1]), slope)


def contradicts(equation: Equation, earlier: Equation) -> bool:
    """Whether two linear equations give the same unknown two different values."""
    if equation.root is None or earlier.root is None:
        return False
    if agrees(earlier.root, equation.root, equation.decimals, is_rough=False):
        return False
    if agrees(equation.root, earlier.root, earlier.decimals, is_rough=False):
        return False
    return True


def differ_by_unit(equation: Equation, earlier: Equation) -> bool:
    """Whether the values could be the same in other units: `3x = 1 hour` and `3x = 60 minutes`."""
    if equation.root is None or earlier.root is None:
        return False
    ratio = reduced(apply("/", equation.root, earlier.root) or (0, 1))
    return 1 in ratio and max(ratio) in _CONVERSIONS


# No equation of a school problem holds at these two points by chance; an identity holds at both.
_UNKNOWN_PROBES: tuple[Ratio, Ratio] = ((10007, 13), (99991, 17))
_PROBE_POWERS = frozenset(reduced(((99991 * 13) ** power, (17 * 10007) ** power)) for power in range(1, 7))


def judge_unknowns(lhs: Sequence[Token], rhs: Sequence[Token]) -> Literal["always", "never", "sometimes"]:
    """Whether an equality holds for every value of its unknowns, for none, or for some.

    Example:
        P + 6 + 3 = P + 9 -> always; P + 6 + 3 = P + 8 -> never; P + 6 = 10 -> sometimes
    """
    left_names, right_names = _names(lhs), _names(rhs)
    if any(token.name == "irrational" for token in (*lhs, *rhs)):
        return "sometimes"  # known to 30 digits only
    values = [_values_at(probe, lhs, rhs, left_names | right_names) for probe in _UNKNOWN_PROBES]
    if values[0] is None or values[1] is None:
        return "sometimes"
    first, second = (apply("-", *sides) for sides in (values[0], values[1]))
    if first is None or second is None:
        return "sometimes"
    if reduced(first) == reduced(second):
        if first[0] == 0:
            return "always"
        return "never" if left_names and right_names and _is_reducible(lhs) else "sometimes"
    if len(left_names) != 1 or left_names != right_names:
        return "sometimes"
    # "3 * 40A = 210A", "x^2 * x = 2x^3": both sides are multiples of the same power of one unknown or unit.
    ratios = [apply("/", far, near) for near, far in zip(values[0], values[1], strict=True)]
    before, after = (None if ratio is None else reduced(ratio) for ratio in ratios)
    are_multiples = before is not None and before == after and before in _PROBE_POWERS
    return "never" if are_multiples and _is_reducible(lhs) else "sometimes"


def _is_reducible(tokens: Sequence[Token]) -> bool:
    """Whether there is something to compute, as in `3 * 40A` or `x + 2 + 3`, but not in `5x` or `x + 2`."""
    if any(token.kind in "(/" for token in tokens):
        return True
    names = [token.name for token in tokens if token.kind == "unknown"]
    numbers = [index for index, token in enumerate(tokens) if token.kind == "number"]
    followers = [tokens[index + 1].kind if index + 1 < len(tokens) else "" for index in numbers]
    factors = sum(
        kind == "*" and tokens[index + 2].kind == "number"
        for index, kind in zip(numbers, followers, strict=True)
    )
    num_constants = len(numbers) - followers.count("unknown")
    return factors > 0 or num_constants > 1 or len(names) > len(set(names))


def _names(tokens: Sequence[Token]) -> frozenset[str]:
    return frozenset(token.name for token in tokens if token.kind == "unknown")


def _values_at(
    probe: Ratio, lhs: Sequence[Token], rhs: Sequence[Token], names: frozenset[str]
) -> tuple[Ratio, Ratio] | None:
    unknowns = {name: (probe[0] + 7 * index, probe[1]) for index, name in enumerate(sorted(names))}
    left, right = evaluate(lhs, unknowns), evaluate(rhs, unknowns)
    return None if left is None or right is None else (left, right)
