"""Number sequences and sums."""

from tunix_rt.core.generation.dice import Dice
from tunix_rt.core.generation.english import ordinal
from tunix_rt.core.generation.family import Worked, families


def _shown(terms: list[int]) -> str:
    return ", ".join(str(term) for term in terms)


def arithmetic_term(dice: Dice) -> Worked:
    """A far term of a sequence with a constant difference."""
    first, gap, position = dice.between(2, 30), dice.between(2, 15), dice.between(9, 40)
    terms = [first + gap * step for step in range(4)]
    moved = gap * (position - 1)
    prompt = dice.pick(
        (
            f"The sequence {_shown(terms)}, … goes on in the same way. What is its {ordinal(position)} term?",
            f"Find term number {position} of the arithmetic sequence {_shown(terms)}, …",
        )
    )
    steps = (
        ("calculation", f"The difference is {terms[1]} - {terms[0]} = {gap}."),
        ("calculation", f"Term {position} is {position} - 1 = {position - 1} steps after the first."),
        ("calculation", f"{position - 1} × {gap} = {moved}."),
        ("answer", f"{first} + {moved} = {first + moved}."),
    )
    return Worked(prompt, steps, str(first + moved), "medium")


def geometric_next(dice: Dice) -> Worked:
    """The term after the next of a sequence with a constant factor."""
    first, factor = dice.between(2, 9), dice.between(2, 4)
    terms = [first * factor**step for step in range(6)]
    prompt = dice.pick(
        (
            f"Each term of {_shown(terms[:4])}, … is the same multiple of the one before. What is the "
            "6th term?",
            f"In the geometric sequence {_shown(terms[:4])}, …, which number is the 6th term?",
        )
    )
    steps = (
        ("calculation", f"The factor is {terms[1]} ÷ {terms[0]} = {factor}."),
        ("calculation", f"The 5th term is {terms[3]} × {factor} = {terms[4]}."),
        ("answer", f"The 6th term is {terms[4]} × {factor} = {terms[5]}."),
    )
    return Worked(prompt, steps, str(terms[5]), "medium")


def sum_to_n(dice: Dice) -> Worked:
    """The sum of the first whole numbers by pairing."""
    last = dice.between(11, 80)
    prompt = dice.pick(
        (
            f"What is the sum of all whole numbers from 1 to {last}?",
            f"A stack has 1 log in the top row, 2 in the next, and so on down to {last} logs. How many "
            "logs are there?",
        )
    )
    product = last * (last + 1)
    steps = (
        ("setup", "The numbers from 1 to n add up to n × (n + 1) ÷ 2."),
        ("calculation", f"{last} × {last + 1} = {product}."),
        ("answer", f"{product} ÷ 2 = {product // 2}."),
    )
    return Worked(prompt, steps, str(product // 2), "medium")


def sum_of_two_before(dice: Dice) -> Worked:
    """Each term is the sum of the two before it."""
    terms = [dice.between(1, 9), dice.between(2, 12)]
    while len(terms) < 7:
        terms.append(terms[-1] + terms[-2])
    prompt = dice.pick(
        (
            f"In the sequence {_shown(terms[:5])}, … each term is the sum of the two before it. What is "
            "the 7th term?",
            f"A sequence starts {_shown(terms[:2])} and every later term is the sum of the two before it. "
            "Find the 7th term.",
        )
    )
    steps = [
        ("calculation", f"Term {i + 1}: {terms[i - 2]} + {terms[i - 1]} = {terms[i]}.") for i in range(2, 7)
    ]
    return Worked(prompt, tuple(steps), str(terms[6]), "easy")


def growing_differences(dice: Dice) -> Worked:
    """A sequence whose differences grow by a constant."""
    first, gap, growth = dice.between(1, 20), dice.between(2, 6), dice.between(1, 4)
    gaps = [gap + growth * step for step in range(5)]
    terms = [first]
    for step in gaps:
        terms.append(terms[-1] + step)
    prompt = dice.pick(
        (
            f"What comes next: {_shown(terms[:5])}, …?",
            f"Continue the pattern {_shown(terms[:5])}, … by one number.",
        )
    )
    pairs = [f"{terms[i + 1]} - {terms[i]} = {gaps[i]}" for i in range(4)]
    steps = (
        ("calculation", f"The differences are {', '.join(pairs)}."),
        (
            "calculation",
            f"They grow by {growth}, so the next difference is {gaps[3]} + {growth} = {gaps[4]}.",
        ),
        ("answer", f"{terms[4]} + {gaps[4]} = {terms[5]}."),
    )
    return Worked(prompt, steps, str(terms[5]), "medium")


SEQUENCES = families(
    "sequences", "reasoning",
    arithmetic_term, geometric_next, sum_to_n, sum_of_two_before, growing_differences,
)  # fmt: skip
