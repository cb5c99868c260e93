"""Whether two answers to an item are the same, right or wrong."""

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evals.checkers import check


def is_same_answer(item: EvalItem, first: str, second: str) -> bool:
    """Whether the checker of the item would take one for the other.

    Example:
        an item with numbers, "1,000" and "1000.0" -> True
    """
    if first.split() == second.split():
        return True
    # A task's own verifier knows one right answer only, so its answers are compared by their form.
    asked = {"expected_answer": first, "accepted_answers": (), "task": None}
    answer_type = None if item.answer_type == "task" else item.answer_type
    return check(item.model_copy(update={**asked, "answer_type": answer_type}), second).is_right is True
