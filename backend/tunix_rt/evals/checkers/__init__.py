"""Whether an answer is right: one checker a kind of answer; `docs/answers.md` says what each accepts."""

from collections.abc import Callable, Iterable, Mapping

from tunix_rt.datasets.types import CheckerName, EvalItem
from tunix_rt.evals.checkers import choice, date, math, number, quantity, sequences, task, text
from tunix_rt.evals.checkers.base import Checked
from tunix_rt.evals.checkers.forms import form_of

__all__ = ["CHECKER_VERSIONS", "Checked", "check", "checker_of", "require_checkers", "unreadable_answer"]

CHECKER_VERSIONS: dict[CheckerName, str] = {
    "number": number.VERSION,
    "quantity": quantity.VERSION,
    "math": math.VERSION,
    "choice": choice.VERSION,
    "text": text.VERSION,
    "list": sequences.VERSION,
    "set": sequences.VERSION,
    "date": date.VERSION,
    "task": task.VERSION,
}
"""A version changes whenever the same answer could get another verdict."""

_CHECKERS: Mapping[CheckerName, Callable[[EvalItem, str], Checked]] = {
    "number": number.check_number,
    "quantity": quantity.check_quantity,
    "math": math.check_math,
    "choice": choice.check_choice,
    "text": text.check_text,
    "list": sequences.check_list,
    "set": sequences.check_set,
    "date": date.check_date,
    "task": task.check_task,
}


def check(item: EvalItem, answer: str) -> Checked:
    """Judge an extracted answer. Never raises for an answer, whatever it holds.

    Example:
        an item that expects "18", answer "18 eggs" -> right: "18 eggs equals 18"
    """
    return _CHECKERS[checker_of(item)](item, answer)


def checker_of(item: EvalItem) -> CheckerName:
    """The checker that decides for an item: the one it names, else by its choices or its answer's form."""
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
        checked = math.check_readable(answer) if name == "math" else _CHECKERS[name](own, answer)
        if not checked.is_right:
            return checked.explanation
    return None


def require_checkers(items: Iterable[EvalItem]) -> None:
    """Raises MissingExtraError when an item needs a checker whose library is not installed."""
    names = {checker_of(item) for item in items}
    if "math" in names:
        math.require_math_verify()
    if "task" in names:
        task.require_reasoning_gym()
