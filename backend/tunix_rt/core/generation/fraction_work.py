"""Fractions, exact all the way."""

from fractions import Fraction
from math import gcd, lcm

from tunix_rt.core.generation.dice import Dice
from tunix_rt.core.generation.english import FOODS, THINGS, decimal
from tunix_rt.core.generation.family import Worked, families

_DENOMINATORS = (2, 3, 4, 5, 6, 8, 9, 10, 12)


def _proper(dice: Dice) -> Fraction:
    denominator = dice.pick(_DENOMINATORS)
    return Fraction(dice.between(1, denominator - 1), denominator)


def lowest_terms(numerator: int, denominator: int) -> str:
    """The step that brings a fraction to lowest terms, as text."""
    common = gcd(numerator, denominator)
    if common == 1:
        return f"{numerator}/{denominator} is already in lowest terms."
    return f"Divide both by {common}: {numerator}/{denominator} = {Fraction(numerator, denominator)}."


def fraction_sum(dice: Dice) -> Worked:
    """Two fractions brought to one denominator."""
    left, right = _proper(dice), _proper(dice)
    common = lcm(left.denominator, right.denominator)
    left_part, right_part = int(left * common), int(right * common)
    prompt = dice.pick(
        (
            f"What is {left} + {right} in lowest terms?",
            f"One jug is {left} full and another of the same size is {right} full. How many jugs of water is "
            "that together, as a fraction in lowest terms?",
            f"Add {left} and {right}. Give a fraction in lowest terms.",
        )
    )
    steps = (
        ("setup", f"A common denominator of {left.denominator} and {right.denominator} is {common}."),
        ("calculation", f"{left} = {left_part}/{common}. {right} = {right_part}/{common}."),
        (
            "calculation",
            f"{left_part} + {right_part} = {left_part + right_part}, so the sum is "
            f"{left_part + right_part}/{common}.",
        ),
        ("answer", lowest_terms(left_part + right_part, common)),
    )
    return Worked(prompt, steps, str(left + right), "medium")


def fraction_of_quantity(dice: Dice) -> Worked:
    """A fraction of a number of things, then what is left."""
    part, thing = _proper(dice), dice.pick(THINGS)
    each = dice.between(3, 20)
    total = each * part.denominator
    taken = each * part.numerator
    prompt = dice.pick(
        (
            f"A box holds {total} {thing.many}. {part} of them are red. How many {thing.many} are not red?",
            f"Of {total} {thing.many}, {part} were sold. How many {thing.many} are left?",
        )
    )
    steps = (
        ("calculation", f"One share is {total} ÷ {part.denominator} = {each}."),
        ("calculation", f"{part} of {total} is {part.numerator} × {each} = {taken}."),
        ("answer", f"{total} - {taken} = {total - taken}."),
    )
    return Worked(prompt, steps, str(total - taken), "easy")


def fraction_comparison(dice: Dice) -> Worked:
    """Which of two fractions is larger, by equal denominators."""
    left, right = _proper(dice), _proper(dice)
    while left == right:
        right = _proper(dice)
    common = left.denominator * right.denominator
    left_part, right_part = int(left * common), int(right * common)
    larger = max(left, right)
    sign = ">" if left > right else "<"
    prompt = dice.pick(
        (f"Which is larger, {left} or {right}?", f"Compare {left} and {right}: which fraction is greater?")
    )
    steps = (
        (
            "calculation",
            f"{left.numerator} × {right.denominator} = {left_part}, so {left} = {left_part}/{common}.",
        ),
        (
            "calculation",
            f"{right.numerator} × {left.denominator} = {right_part}, so {right} = {right_part}/{common}.",
        ),
        ("answer", f"{left_part} {sign} {right_part}, so {larger} is larger."),
    )
    return Worked(prompt, steps, str(larger), "easy")


def fraction_product(dice: Dice) -> Worked:
    """A part of a part."""
    left, right = _proper(dice), _proper(dice)
    top, bottom = left.numerator * right.numerator, left.denominator * right.denominator
    prompt = dice.pick(
        (
            f"What is {left} × {right} in lowest terms?",
            f"{left} of a garden is planted, and {right} of the planted part is herbs. Which fraction of the "
            "garden is herbs, in lowest terms?",
        )
    )
    steps = (
        ("calculation", f"Multiply the numerators: {left.numerator} × {right.numerator} = {top}."),
        ("calculation", f"Multiply the denominators: {left.denominator} × {right.denominator} = {bottom}."),
        ("answer", lowest_terms(top, bottom)),
    )
    return Worked(prompt, steps, str(left * right), "medium")


def decimal_as_fraction(dice: Dice) -> Worked:
    """A decimal with two places as a fraction in lowest terms."""
    hundredths = dice.pick([n for n in range(4, 100) if gcd(n, 100) > 1 and n % 10])
    value = Fraction(hundredths, 100)
    prompt = dice.pick(
        (
            f"Write {decimal(value)} as a fraction in lowest terms.",
            f"Which fraction in lowest terms equals {decimal(value)}?",
        )
    )
    steps = (
        ("setup", f"{decimal(value)} means {hundredths} hundredths, that is {hundredths}/100."),
        ("calculation", f"The greatest common divisor of {hundredths} and 100 is {gcd(hundredths, 100)}."),
        ("answer", lowest_terms(hundredths, 100)),
    )
    return Worked(prompt, steps, str(value), "easy")


def shared_leftovers(dice: Dice) -> Worked:
    """Two people take a fraction each; how much of the whole is left."""
    food = dice.pick(FOODS)
    twelfths = sorted(dice.sample(range(1, 6), 2))
    first, second = Fraction(twelfths[0], 12), Fraction(twelfths[1], 12)
    taken = first + second
    rest_parts = 12 - sum(twelfths)
    prompt = dice.pick(
        (
            f"Of a tray of {food.many}, one table takes {first} and another takes {second}. Which "
            "fraction of "
            "the tray is left, in lowest terms?",
            f"A family eats {first} of a batch of {food.many} on Monday and {second} on Tuesday. What "
            "fraction "
            "remains, in lowest terms?",
        )
    )
    steps = (
        (
            "setup",
            f"In twelfths, {first} = {twelfths[0]}/12. The other share is {second} = {twelfths[1]}/12.",
        ),
        ("calculation", f"{twelfths[0]} + {twelfths[1]} = {sum(twelfths)}, so {sum(twelfths)}/12 is gone."),
        ("calculation", f"12 - {sum(twelfths)} = {rest_parts}, so {rest_parts}/12 is left."),
        ("answer", lowest_terms(rest_parts, 12)),
    )
    return Worked(prompt, steps, str(1 - taken), "medium")


FRACTIONS = families(
    "fractions", "reasoning",
    fraction_sum, fraction_of_quantity, fraction_comparison, fraction_product, decimal_as_fraction,
    shared_leftovers,
)  # fmt: skip
