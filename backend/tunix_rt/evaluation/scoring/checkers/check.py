"""Choose the checker of an item and run it."""

import re
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.datasets.types import CheckerName, EvalItem
from tunix_rt.evaluation.scoring.checkers import numeric, structured, text, verifiers
from tunix_rt.evaluation.scoring.checkers.expressions import is_expression
from tunix_rt.evaluation.scoring.checkers.numeric import PLAIN_NUMBER, number_of
from tunix_rt.evaluation.scoring.checkers.quantities import find_unit, parse_measure
from tunix_rt.evaluation.scoring.checkers.structured import parse_date
from tunix_rt.evaluation.scoring.checkers.text import Checked, plain

_SYMBOLIC = re.compile(
    r"\\(?:[dt]?frac|sqrt|[dt]?binom|pi|cdot|times|div|pm|mp|infty|cup|cap|in|le|leq|ge|geq|lt|gt|ne|neq|equiv"
    r"|begin|left|vec|overline|lfloor|lceil|langle|lvert|mathbb|emptyset|varnothing|arc(?:sin|cos|tan)|sin|cos|tan"
    r"|sec|csc|cot|log|ln|exp|alpha|beta|gamma|theta|lambda|mu|phi|omega|Delta)(?![A-Za-z])|[\^√π]|\bsqrt\("
)
_OPTION = re.compile(r"\([A-Z]\)")
_BARE = re.compile(r"[-+\d.,/%\s'$€£¥¢eE×^*]+")


def form_of(expected: str) -> CheckerName:
    r"""The checker for an answer of this form.

    Example:
        "18" -> number; "$31.50" -> quantity; "2\sqrt{2}", "p - q" and "1,2,3" -> math; "[1, 2]" -> list;
        "(C)" -> choice; "Lisbon" -> text
    """
    if PLAIN_NUMBER.fullmatch(expected):
        return "number"
    answer = plain(expected)
    if parse_date(expected) is not None:
        return "date"
    if number_of(answer) is not None and _BARE.fullmatch(answer):
        return "quantity" if _has_unit(answer) else "number"
    if _has_unit(answer) and answer[:1] in "-+$€£¥.0123456789":
        return "quantity"
    if _SYMBOLIC.search(expected):
        return "math"
    if answer[:1] + answer[-1:] in ("[]", "{}"):
        return "list" if answer[:1] == "[" else "set"
    if _OPTION.fullmatch(answer):
        return "choice"
    return "math" if is_expression(expected) else "text"


def _has_unit(answer: str) -> bool:
    """Whether it is a number with a known unit and nothing else; a percent sign is part of a number."""
    measure = parse_measure(answer)
    if measure is None:
        return False
    before, (after, rest) = find_unit(measure.before)[0], find_unit(measure.after)
    unit = before or after
    return unit is not None and unit.dimension != "share" and not (rest if after else measure.after)


_CHECKERS: Mapping[CheckerName, tuple[Callable[[EvalItem, str], Checked], str]] = {
    "number": (numeric.check_number, numeric.VERSION),
    "quantity": (numeric.check_quantity, numeric.VERSION),
    "math": (verifiers.check_math, verifiers.VERSION),
    "choice": (structured.check_choice, structured.VERSION),
    "text": (text.check_text, text.VERSION),
    "list": (structured.check_list, structured.VERSION),
    "set": (structured.check_set, structured.SET_VERSION),
    "date": (structured.check_date, structured.VERSION),
    "task": (verifiers.check_task, verifiers.VERSION),
}
CHECKER_VERSIONS = {name: version for name, (_, version) in _CHECKERS.items()}
"""A version changes whenever the same answer could get another verdict."""


def check(item: EvalItem, answer: str) -> Checked:
    """Judge an extracted answer. Never raises, whatever the answer contains.

    Example:
        an item that expects "18", answer "18 eggs" -> right: "18 eggs equals 18"
    """
    return _CHECKERS[checker_of(item)][0](item, answer)


def checker_of(item: EvalItem) -> CheckerName:
    """The checker of an item: the one it names, else the one for its choices or the form of its answer."""
    if item.answer_type is not None:
        return item.answer_type
    return "choice" if item.choices else form_of(item.expected_answer)


def unreadable_answer(item: EvalItem) -> str | None:
    """Why the item's checker cannot read its own expected or accepted answers; None when it can.

    Example:
        expected "some day", answer_type "date" -> "the expected answer 'some day' is no date"
    """
    name = checker_of(item)
    if name == "task":
        return None
    for answer in (item.expected_answer, *item.accepted_answers):
        own = item.model_copy(update={"expected_answer": answer, "accepted_answers": ()})
        checked = verifiers.check_readable(answer) if name == "math" else _CHECKERS[name][0](own, answer)
        if not checked.is_right:
            return checked.explanation
    return None


def require_checkers(items: Iterable[EvalItem]) -> None:
    """Raises MissingExtraError when an item needs a checker whose library is not installed."""
    names = {checker_of(item) for item in items}
    if "math" in names and find_spec("math_verify") is None:
        raise MissingExtraError("Checking symbolic answers", extra="math")
    if "task" in names and find_spec("reasoning_gym") is None:
        raise MissingExtraError("Verifying reasoning-gym answers", extra="gym")
