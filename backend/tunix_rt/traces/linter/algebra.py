"""Solved equations: the value of an unknown must follow from the equation that is being solved for it."""

import re
from collections.abc import Iterator, Sequence

from tunix_rt.traces.linter.expressions import Equation, contradicts, differ_by_unit
from tunix_rt.traces.linter.results import is_unit, word_after

_NEW_VALUE = re.compile(
    r"[±∓]|\\pm\b|\b(?:or|either|cases?|if|when|whenever|let|suppose|assum\w+|try|trying|tries|guess\w*|tests?|"
    r"(?:for|at|with|set|take) \$?[a-z] ?=|second|third|another|other|also|again|instead|otherwise|similarly|"
    r"likewise|roots?|solutions|different|reset|redefin\w+|respectively|while|whereas|consider|plug\w*|option|"
    r"each|alternatively|becomes?|loop|iteration|unless|not|but|however|meanwhile|problem|question|part|example|"
    r"tomorrow|today|later|initially)\b",
    re.IGNORECASE,
)
"""Words after an equation that may introduce another value of its unknown: a case, a trial, a new meaning."""
_LISTS = re.compile(r"\s*[,;.]?\s*(?:and\b|&|;)\s*\$?\s*", re.IGNORECASE)
"""`x - 2 = 0 and x - 3 = 0` lists equations; nothing is derived."""


class SolvedUnknowns:
    """The equations of a trace that are being solved, by unknown.

    An equation such as `3x + 5 = 20` stays open until a value is concluded from it (`x = 5`). While it is
    open, a transformed equation or a value that disagrees is wrong. An assignment alone (`x = 5`, later
    `x = 6`) contradicts nothing: variables are reassigned, cases and table rows give each their own value.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._open: dict[str, tuple[Equation, int]] = {}
        """The equation and the index of its text."""
        self._assigned: dict[str, Equation] = {}
        """The last assignment: an equation that it solves, as in a table of values, needs no solution."""
        self._ambiguous: set[str] = set()
        """Unknowns of nonlinear equations, which may have several values."""

    def contradictions(self, text: str, equations: Sequence[Equation]) -> Iterator[tuple[Equation, Equation]]:
        """The equations of the next step that contradict an open one, each with that one."""
        if equations or self._open:
            self._texts.append(text)
        for equation in equations:
            unknown = equation.unknown
            if equation.root is None:
                self._ambiguous.add(unknown)
            if unknown in self._ambiguous:
                self._open.pop(unknown, None)
                continue
            if is_unit(unknown) and is_unit(word_after(text, equation.span[1])):
                continue  # "1 m = 100 cm"
            earlier = self._open.get(unknown)
            assigned = self._assigned.get(unknown)
            if equation.is_assignment:
                self._assigned[unknown] = equation
            elif earlier is None and assigned is not None and not contradicts(equation, assigned):
                continue
            if earlier is not None and self._may_differ(equation, *earlier):
                if not equation.is_assignment:
                    self._open[unknown] = equation, len(self._texts) - 1
                continue
            if earlier is not None and contradicts(equation, earlier[0]):
                yield equation, earlier[0]
            if equation.is_assignment and (earlier is None or _is_value(text, equation)):
                self._open.pop(unknown, None)
            else:
                self._open[unknown] = equation, len(self._texts) - 1

    def _may_differ(self, equation: Equation, earlier: Equation, index: int) -> bool:
        """Whether the text between two equations says that they need not agree."""
        first, *rest = self._texts[index:]
        if rest:
            between = "\n".join([first[earlier.span[1] :], *rest[:-1], rest[-1][: equation.span[0]]])
        else:
            between = first[earlier.span[1] : equation.span[0]]
        if _NEW_VALUE.search(between):
            return True
        if not equation.is_assignment and _LISTS.fullmatch(between):
            return True
        stated = (first, earlier), (self._texts[-1], equation)
        if differ_by_unit(equation, earlier) and any(_names_unit(text, one) for text, one in stated):
            return True
        # `A` and `a` are two unknowns.
        spelled = "".join(text[one.span[0] : one.span[1]] for text, one in stated)
        return equation.unknown in spelled and equation.unknown.upper() in spelled


_VALUE = re.compile(r"[^-+*/×÷^(]*")


def _is_value(text: str, equation: Equation) -> bool:
    """Whether an assignment ends in a value: `x = 5` or `x = 15/3 = 5`, unlike `x = 15/3`."""
    value = text[equation.span[0] : equation.span[1]].partition("=")[2].strip().removeprefix("-")
    return _VALUE.fullmatch(value) is not None or text[equation.span[1] :].lstrip(" $").startswith("=")


_WORD = re.compile(r"[a-z]{2,}")
_MAX_UNIT_CHARS = 16


def _names_unit(text: str, equation: Equation) -> bool:
    """Whether an equation names a unit that can be converted, in it or right after it."""
    words = _WORD.findall(text[equation.span[0] : equation.span[1] + _MAX_UNIT_CHARS].lower())
    return any(is_unit(word) for word in words)
