"""The demo's digit-by-digit sums and their held-out questions.

A pair of operands is held out exactly when a checksum of its four digits is 0: one pair in ten. So no
held-out pair is in training, and yet every step of its work is, with other neighbours: the questions can be
answered by whoever learned the method, and by nobody who learned the pairs by heart.
"""

from collections import Counter
from collections.abc import Iterator
from operator import itemgetter

from tunix_rt.datasets.types import EvalItem
from tunix_rt.problems.family import Dice, Worked, worked_trace
from tunix_rt.traces.types import Trace

DEMO_DATASET = "demo-arithmetic-v2"
DEMO_EVALSET = "demo_arithmetic_heldout"
DEMO_SEED = 20240601
OPERANDS = range(10, 100)
NUM_TRAIN_TRACES = 3_000
NUM_HELD_OUT_ITEMS = 200

Question = tuple[int, str, int]


def demo_traces() -> Iterator[Trace]:
    """The training traces, each question once."""
    for question in _chosen(NUM_TRAIN_TRACES, held_out=False):
        yield worked_trace(worked_question(question), {"source": DEMO_DATASET, "category": "arithmetic"})


def demo_held_out_items() -> Iterator[EvalItem]:
    """The held-out questions, none of whose operand pairs is in the training traces."""
    for number, question in enumerate(_chosen(NUM_HELD_OUT_ITEMS, held_out=True), start=1):
        worked = worked_question(question)
        yield EvalItem(
            id=f"demo-heldout-{number:03d}",
            prompt=worked.prompt,
            expected_answer=worked.answer,
            section="core",
            category="arithmetic",
            difficulty=worked.difficulty,
        )


def is_held_out(question: Question) -> bool:
    """Whether the checksum of the operands' digits is 0."""
    left, _, right = question
    # No factor shares a divisor with 10: each digit decides.
    return (left // 10 + 3 * (left % 10) + 7 * (right // 10) + 9 * (right % 10)) % 10 == 0


def worked_question(question: Question) -> Worked:
    """Ones first, then tens with the carry or the borrow, then the whole.

    Example:
        47 + 38 -> "7 + 8 = 15, write 5, carry 1." "4 + 3 + 1 = 8." "47 + 38 = 85."
    """
    left, sign, right = question
    ones, tens = _sum_steps(left, right) if sign == "+" else _difference_steps(left, right)
    result = left + right if sign == "+" else left - right
    return Worked(
        prompt=f"What is {left} {sign} {right}?",
        steps=(("ones", ones), ("tens", tens), ("answer", f"{left} {sign} {right} = {result}.")),
        answer=str(result),
        difficulty="medium" if "carry" in ones or "borrow" in ones else "easy",
    )


def _sum_steps(left: int, right: int) -> tuple[str, str]:
    ones = left % 10 + right % 10
    ones_sum = f"{left % 10} + {right % 10} = {ones}"
    tens_sum = f"{left // 10} + {right // 10}"
    if ones < 10:
        return f"{ones_sum}.", f"{tens_sum} = {left // 10 + right // 10}."
    return f"{ones_sum}, write {ones - 10}, carry 1.", f"{tens_sum} + 1 = {left // 10 + right // 10 + 1}."


def _difference_steps(left: int, right: int) -> tuple[str, str]:
    ones = left % 10 - right % 10
    tens_difference = f"{left // 10} - {right // 10}"
    if ones >= 0:
        return f"{left % 10} - {right % 10} = {ones}.", f"{tens_difference} = {left // 10 - right // 10}."
    borrowed = f"{left % 10 + 10} - {right % 10} = {ones + 10}, borrow 1."
    return borrowed, f"{tens_difference} - 1 = {left // 10 - right // 10 - 1}."


def _chosen(count: int, *, held_out: bool) -> list[Question]:
    """Half sums, half differences that are not negative, in random order."""
    pairs = [(left, right) for left in OPERANDS for right in OPERANDS]
    sums: list[Question] = [(left, "+", right) for left, right in pairs]
    differences: list[Question] = [(left, "-", right) for left, right in pairs if left >= right]
    dice = Dice(DEMO_SEED)
    halves = [
        _spread([question for question in pool if is_held_out(question) == held_out], dice)[: count // 2]
        for pool in (sums, differences)
    ]
    return dice.shuffled(halves[0] + halves[1])


def _spread(pool: list[Question], dice: Dice) -> list[Question]:
    """In random order, but each step with tens for the first time before any for the second time."""
    times: Counter[str] = Counter()
    ordered = []
    for question in dice.shuffled(pool):
        [_, (_, tens), _] = worked_question(question).steps
        times[tens] += 1
        ordered.append((times[tens], question))
    return [question for _, question in sorted(ordered, key=itemgetter(0))]
