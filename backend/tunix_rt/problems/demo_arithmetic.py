"""The demo's digit-by-digit sums and their held-out questions.

A pair of operands is held out when a checksum of its four digits is 0, which is one pair in ten. No held-out
pair is in the training traces, but each of its steps is, next to other steps: a model that learned the method
can answer the held-out questions, and a model that memorized pairs cannot.
"""

from collections import Counter
from collections.abc import Iterator
from operator import itemgetter

from tunix_rt.datasets.types import EvalItem
from tunix_rt.problems.family import Problem, SeededRandom, problem_trace
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
    for question in _select(NUM_TRAIN_TRACES, held_out=False):
        yield problem_trace(worked_question(question), {"source": DEMO_DATASET, "category": "arithmetic"})


def demo_held_out_items() -> Iterator[EvalItem]:
    """The held-out questions, none of whose operand pairs is in the training traces."""
    for number, question in enumerate(_select(NUM_HELD_OUT_ITEMS, held_out=True), start=1):
        problem = worked_question(question)
        yield EvalItem(
            id=f"demo-heldout-{number:03d}",
            prompt=problem.prompt,
            expected_answer=problem.answer,
            section="core",
            category="arithmetic",
            difficulty=problem.difficulty,
        )


def is_held_out(question: Question) -> bool:
    """Whether the checksum of the operands' digits is 0."""
    left, _, right = question
    # Every factor is coprime to 10, so each digit affects the checksum.
    return (left // 10 + 3 * (left % 10) + 7 * (right // 10) + 9 * (right % 10)) % 10 == 0


def worked_question(question: Question) -> Problem:
    """Solve the ones, then the tens with the carry or borrow, then state the result.

    Example:
        47 + 38 -> "7 + 8 = 15, write 5, carry 1." "4 + 3 + 1 = 8." "47 + 38 = 85."
    """
    left, sign, right = question
    result = left + right if sign == "+" else left - right
    ones, tens = _column_steps(left, sign, right, result)
    return Problem(
        prompt=f"What is {left} {sign} {right}?",
        steps=(("ones", ones), ("tens", tens), ("answer", f"{left} {sign} {right} = {result}.")),
        answer=str(result),
        difficulty="medium" if "carry" in ones or "borrow" in ones else "easy",
    )


def _column_steps(left: int, sign: str, right: int, result: int) -> tuple[str, str]:
    upper, lower = left % 10, right % 10
    ones = upper + lower if sign == "+" else upper - lower
    tens = f"{left // 10} {sign} {right // 10}"
    if 0 <= ones < 10:
        return f"{upper} {sign} {lower} = {ones}.", f"{tens} = {result // 10}."
    carried = f"{tens} {sign} 1 = {result // 10}."
    if sign == "+":
        return f"{upper} + {lower} = {ones}, write {ones - 10}, carry 1.", carried
    return f"{upper + 10} - {lower} = {ones + 10}, borrow 1.", carried


def _select(count: int, *, held_out: bool) -> list[Question]:
    """Half sums, half non-negative differences, in random order."""
    pairs = [(left, right) for left in OPERANDS for right in OPERANDS]
    sums: list[Question] = [(left, "+", right) for left, right in pairs]
    differences: list[Question] = [(left, "-", right) for left, right in pairs if left >= right]
    rng = SeededRandom(DEMO_SEED)
    halves = [
        _spread([question for question in pool if is_held_out(question) == held_out], rng)[: count // 2]
        for pool in (sums, differences)
    ]
    return rng.shuffled(halves[0] + halves[1])


def _spread(pool: list[Question], rng: SeededRandom) -> list[Question]:
    """Random order in which every tens step occurs once before any of them occurs twice."""
    times: Counter[str] = Counter()
    ordered = []
    for question in rng.shuffled(pool):
        [_, (_, tens), _] = worked_question(question).steps
        times[tens] += 1
        ordered.append((times[tens], question))
    return [question for _, question in sorted(ordered, key=itemgetter(0))]
