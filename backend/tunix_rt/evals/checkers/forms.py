"""Which checker fits an expected answer that does not name one."""

import re

from tunix_rt.datasets.types import CheckerName
from tunix_rt.evals.checkers.date import read_date
from tunix_rt.evals.checkers.measures import read_measure
from tunix_rt.evals.checkers.number import PLAIN_NUMBER, number_of
from tunix_rt.evals.checkers.plain import plain
from tunix_rt.evals.checkers.units import find_unit

_SYMBOLIC = re.compile(
    r"\\(?:frac|sqrt|pi|cdot|times|infty|cup|begin|left|sin|cos|tan|log|ln)|[\^√π]|\bsqrt\("
)
_BARE = re.compile(r"[-+\d.,/%\s'$€£¥¢eE×^*]+")


def form_of(expected: str) -> CheckerName:
    r"""The checker for an answer of this form.

    Example:
        "18" -> number; "$31.50" -> quantity; "2\sqrt{2}" -> math; "[1, 2]" -> list; "Lisbon" -> text
    """
    if PLAIN_NUMBER.fullmatch(expected):
        return "number"
    text = plain(expected)
    if read_date(expected) is not None:
        return "date"
    if number_of(text) is not None and _BARE.fullmatch(text):
        return "quantity" if _has_unit(text) else "number"
    if _has_unit(text) and text[:1] in "-+$€£¥.0123456789":
        return "quantity"
    if _SYMBOLIC.search(expected):
        return "math"
    if text[:1] + text[-1:] in ("[]", "{}"):
        return "list" if text[:1] == "[" else "set"
    return "text"


def _has_unit(text: str) -> bool:
    """Whether it is a number with a known unit and nothing else; a per cent sign is part of a number."""
    measure = read_measure(text)
    if measure is None:
        return False
    before, (after, rest) = find_unit(measure.before)[0], find_unit(measure.after)
    unit = before or after
    return unit is not None and unit.dimension != "share" and not (rest if after else measure.after)
