"""Evaluates a run of tokens exactly: precedence, brackets, signs, percentages, unknowns."""

from collections.abc import Mapping, Sequence
from typing import Literal

from tunix_rt.core.linting.ratios import Ratio, apply
from tunix_rt.core.linting.tokens import Token

PercentReading = Literal["share", "plain", "relative"]
"""How `20%` is read: 0.2, or 20 (percentages calculated with percentages), or of what stands before it."""

OPERATORS = "+-*/^"
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "negate": 3, "^": 4}
MAX_TOKENS = 400


def evaluate(
    tokens: Sequence[Token], unknowns: Mapping[str, Ratio] | None = None, percent: PercentReading = "share"
) -> Ratio | None:
    """The value of a whole expression, or None when it is not one.

    Example:
        tokenise("2 * (3 + 4)") -> (14, 1)
    """
    if len(tokens) == 1 and tokens[0].kind == "n" and not tokens[0].is_percent:
        return tokens[0].value
    if len(tokens) > MAX_TOKENS:
        return None
    return _Evaluation(unknowns or {}, percent).run(tokens)


class _Evaluation:
    """Dijkstra's two stacks: no recursion, so that nesting costs memory and never the process."""

    def __init__(self, unknowns: Mapping[str, Ratio], percent: PercentReading) -> None:
        self.unknowns = unknowns
        self.percent = percent
        self.values: list[Ratio | None] = []
        self.operators: list[str] = []

    def run(self, tokens: Sequence[Token]) -> Ratio | None:
        expects_operand = True
        for token in tokens:
            kind = token.kind
            if kind == "n" or kind == "v":
                if not expects_operand:
                    self._push_operator("*")
                self.values.append(self._operand(token))
                expects_operand = False
            elif kind == "(":
                if not expects_operand:
                    self._push_operator("*")
                self.operators.append("(")
                expects_operand = True
            elif kind == ")":
                if expects_operand or not self._close_bracket():
                    return None
            elif expects_operand:
                if kind not in "+-":
                    return None
                if kind == "-":
                    self.operators.append("negate")
            else:
                self._push_operator(kind)
                expects_operand = True
        return None if expects_operand else self._result()

    def _operand(self, token: Token) -> Ratio | None:
        if token.kind == "v":
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

    def _close_bracket(self) -> bool:
        while self.operators and self.operators[-1] != "(":
            self._reduce()
        if not self.operators:
            return False
        self.operators.pop()
        return True

    def _result(self) -> Ratio | None:
        while self.operators:
            if self.operators[-1] == "(":
                return None
            self._reduce()
        return self.values[-1]
