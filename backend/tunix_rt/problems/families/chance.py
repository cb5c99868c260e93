"""Fractions, averages, probabilities."""

from fractions import Fraction
from math import gcd, lcm

from tunix_rt.problems.family import (
    FOODS,
    NAMES,
    THINGS,
    Problem,
    SeededRandom,
    decimal,
    families,
    listed,
    worked_problem,
)

_DENOMINATORS = (2, 3, 4, 5, 6, 8, 9, 10, 12)


def _proper(rng: SeededRandom) -> Fraction:
    denominator = rng.choice(_DENOMINATORS)
    return Fraction(rng.randint(1, denominator - 1), denominator)


def lowest_terms(numerator: int, denominator: int) -> str:
    """The step that brings a fraction to lowest terms, as text."""
    common = gcd(numerator, denominator)
    if common == 1:
        return f"{numerator}/{denominator} is already in lowest terms."
    return f"Divide both by {common}: {numerator}/{denominator} = {Fraction(numerator, denominator)}."


def fraction_sum(rng: SeededRandom) -> Problem:
    left, right = _proper(rng), _proper(rng)
    common = lcm(left.denominator, right.denominator)
    left_part, right_part = int(left * common), int(right * common)
    text = f"""
        prompt: What is {left} + {right} in lowest terms?
        prompt: One jug is {left} full and another of the same size is {right} full. How many jugs of water is
            that together, as a fraction in lowest terms?
        prompt: Add {left} and {right}. Give a fraction in lowest terms.
        setup: A common denominator of {left.denominator} and {right.denominator} is {common}.
        calculation: {left} = {left_part}/{common}. {right} = {right_part}/{common}.
        calculation: {left_part} + {right_part} = {left_part + right_part}, so the sum is
            {left_part + right_part}/{common}.
        answer: {lowest_terms(left_part + right_part, common)}
    """
    return worked_problem(rng, text, left + right, "medium")


def fraction_of_quantity(rng: SeededRandom) -> Problem:
    part, thing = _proper(rng), rng.choice(THINGS)
    each = rng.randint(3, 20)
    total = each * part.denominator
    taken = each * part.numerator
    text = f"""
        prompt: A box holds {total} {thing.many}. {part} of them are red. How many {thing.many} are not red?
        prompt: Of {total} {thing.many}, {part} were sold. How many {thing.many} are left?
        calculation: One share is {total} ÷ {part.denominator} = {each}.
        calculation: {part} of {total} is {part.numerator} × {each} = {taken}.
        answer: {total} - {taken} = {total - taken}.
    """
    return worked_problem(rng, text, total - taken)


def fraction_comparison(rng: SeededRandom) -> Problem:
    left, right = _proper(rng), _proper(rng)
    while left == right:
        right = _proper(rng)
    common = left.denominator * right.denominator
    left_part, right_part = int(left * common), int(right * common)
    larger = max(left, right)
    sign = ">" if left > right else "<"
    text = f"""
        prompt: Which is larger, {left} or {right}?
        prompt: Compare {left} and {right}: which fraction is greater?
        calculation: {left.numerator} × {right.denominator} = {left_part}, so {left} = {left_part}/{common}.
        calculation: {right.numerator} × {left.denominator} = {right_part}, so {right} =
            {right_part}/{common}.
        answer: {left_part} {sign} {right_part}, so {larger} is larger.
    """
    return worked_problem(rng, text, larger)


def fraction_product(rng: SeededRandom) -> Problem:
    left, right = _proper(rng), _proper(rng)
    top, bottom = left.numerator * right.numerator, left.denominator * right.denominator
    text = f"""
        prompt: What is {left} × {right} in lowest terms?
        prompt: {left} of a garden is planted, and {right} of the planted part is herbs. Which fraction of the
            garden is herbs, in lowest terms?
        calculation: Multiply the numerators: {left.numerator} × {right.numerator} = {top}.
        calculation: Multiply the denominators: {left.denominator} × {right.denominator} = {bottom}.
        answer: {lowest_terms(top, bottom)}
    """
    return worked_problem(rng, text, left * right, "medium")


def decimal_as_fraction(rng: SeededRandom) -> Problem:
    hundredths = rng.choice([n for n in range(4, 100) if gcd(n, 100) > 1 and n % 10])
    value = Fraction(hundredths, 100)
    text = f"""
        prompt: Write {decimal(value)} as a fraction in lowest terms.
        prompt: Which fraction in lowest terms equals {decimal(value)}?
        setup: {decimal(value)} means {hundredths} hundredths, that is {hundredths}/100.
        calculation: The greatest common divisor of {hundredths} and 100 is {gcd(hundredths, 100)}.
        answer: {lowest_terms(hundredths, 100)}
    """
    return worked_problem(rng, text, value)


def shared_leftovers(rng: SeededRandom) -> Problem:
    food = rng.choice(FOODS)
    twelfths = sorted(rng.sample(range(1, 6), 2))
    first, second = Fraction(twelfths[0], 12), Fraction(twelfths[1], 12)
    taken = first + second
    rest_parts = 12 - sum(twelfths)
    text = f"""
        prompt: Of a tray of {food.many}, one table takes {first} and another takes {second}. Which fraction
            of the tray is left, in lowest terms?
        prompt: A family eats {first} of a batch of {food.many} on Monday and {second} on Tuesday. What
            fraction remains, in lowest terms?
        setup: In twelfths, {first} = {twelfths[0]}/12. The other share is {second} = {twelfths[1]}/12.
        calculation: {twelfths[0]} + {twelfths[1]} = {sum(twelfths)}, so {sum(twelfths)}/12 is gone.
        calculation: 12 - {sum(twelfths)} = {rest_parts}, so {rest_parts}/12 is left.
        answer: {lowest_terms(rest_parts, 12)}
    """
    return worked_problem(rng, text, 1 - taken, "medium")


FRACTIONS = families(
    "fractions", "reasoning",
    fraction_sum, fraction_of_quantity, fraction_comparison, fraction_product, decimal_as_fraction,
    shared_leftovers,
)  # fmt: skip

_COLOURS = ("red", "blue", "green", "yellow", "white", "black")


def _shown(values: list[int]) -> str:
    return listed([str(value) for value in values])


def _values_with_mean(rng: SeededRandom, how_many: int) -> list[int]:
    values = [rng.randint(12, 60) for _ in range(how_many - 1)]
    rest = sum(values) % how_many
    return [*values, rng.randint(3, 9) * how_many - rest]


def mean(rng: SeededRandom) -> Problem:
    how_many = rng.randint(4, 6)
    values = rng.shuffled(_values_with_mean(rng, how_many))
    total = sum(values)
    what = rng.choice(("temperatures", "daily sales", "quiz scores", "numbers of visitors"))
    text = f"""
        prompt: What is the average of {_shown(values)}?
        prompt: The {what} were {_shown(values)}. What is their mean?
        calculation: The sum is {" + ".join(map(str, values))} = {total}.
        calculation: There are {how_many} values.
        answer: {total} ÷ {how_many} = {total // how_many}.
    """
    return worked_problem(rng, text, total // how_many)


def median(rng: SeededRandom) -> Problem:
    values = rng.sample(range(3, 99), rng.choice((5, 7)))
    ordered = sorted(values)
    half = len(values) // 2
    text = f"""
        prompt: Find the median of {_shown(values)}.
        prompt: What is the middle value (median) of {_shown(values)}?
        setup: In rising order: {", ".join(map(str, ordered))}.
        calculation: With {len(values)} values, {half} lie below the median and {half} above it.
        answer: The middle value is {ordered[half]}.
    """
    return worked_problem(rng, text, ordered[half])


def spread(rng: SeededRandom) -> Problem:
    values = rng.sample(range(-15, 80), rng.randint(5, 7))
    low, high = min(values), max(values)
    written = f"({low})" if low < 0 else str(low)
    text = f"""
        prompt: What is the range of the values {_shown(values)}?
        prompt: By how much do the largest and smallest of {_shown(values)} differ?
        setup: The largest value is {high} and the smallest is {low}.
        answer: {high} - {written} = {high - low}.
    """
    return worked_problem(rng, text, high - low)


def missing_score(rng: SeededRandom) -> Problem:
    name, how_many, goal = rng.choice(NAMES), rng.randint(3, 5), rng.randint(70, 85)
    scores = [goal + rng.randint(-9, 9) for _ in range(how_many)]
    needed_total = goal * (how_many + 1)
    needed = needed_total - sum(scores)
    text = f"""
        prompt: {name} scored {_shown(scores)} points. Which score on the next test makes the average exactly
            {goal}?
        prompt: After results of {_shown(scores)}, what must the next result be for an average of {goal}?
        calculation: {how_many + 1} tests with an average of {goal} need {how_many + 1} × {goal} =
            {needed_total} points.
        calculation: So far: {" + ".join(map(str, scores))} = {sum(scores)}.
        answer: {needed_total} - {sum(scores)} = {needed}.
    """
    return worked_problem(rng, text, needed, "hard")


def weighted_average(rng: SeededRandom) -> Problem:
    small, large, base = rng.randint(2, 8), rng.randint(9, 16), rng.randint(20, 60)
    people = small + large
    # The gap between the groups is a multiple of all people, so the joint average is whole.
    first, second = base, base + people * rng.randint(1, 3)
    total = small * first + large * second
    text = f"""
        prompt: {small} parcels weigh {first} kg on average and {large} others weigh {second} kg on average.
            What is the average weight of all the parcels in kg?
        prompt: A group of {small} runners averages {first} minutes, another of {large} runners averages
            {second} minutes. What is the average of all runners in minutes?
        calculation: First group: {small} × {first} = {small * first}.
        calculation: Second group: {large} × {second} = {large * second}.
        calculation: All: {small * first} + {large * second} = {total}, from {small} + {large} = {people}.
        answer: {total} ÷ {people} = {total // people}.
    """
    return worked_problem(rng, text, total // people, "hard")


def one_draw(rng: SeededRandom) -> Problem:
    colours = rng.sample(_COLOURS, 3)
    counts = [rng.randint(2, 12) for _ in colours]
    total = sum(counts)
    wanted = total - counts[0]
    text = f"""
        prompt: A bag holds {counts[0]} {colours[0]}, {counts[1]} {colours[1]} and {counts[2]} {colours[2]}
            balls. What is the probability that a ball drawn at random is not {colours[0]}? Give a fraction in
            lowest terms.
        prompt: In a drawer are {counts[0]} {colours[0]}, {counts[1]} {colours[1]} and {counts[2]}
            {colours[2]} socks. One is taken blindly. How likely is it that it is not {colours[0]}, as a
            fraction in lowest terms?
        calculation: In all there are {counts[0]} + {counts[1]} + {counts[2]} = {total}.
        calculation: Not {colours[0]}: {counts[1]} + {counts[2]} = {wanted}.
        answer: {lowest_terms(wanted, total)}
    """
    return worked_problem(rng, text, Fraction(wanted, total), "medium")


def two_draws(rng: SeededRandom) -> Problem:
    one, two = rng.sample(_COLOURS, 2)
    wanted, other = rng.randint(3, 9), rng.randint(2, 9)
    total = wanted + other
    chance = Fraction(wanted, total) * Fraction(wanted - 1, total - 1)
    top, bottom = wanted * (wanted - 1), total * (total - 1)
    text = f"""
        prompt: An urn has {wanted} {one} and {other} {two} marbles. Two are drawn without putting back. What
            is the probability that both are {one}, in lowest terms?
        prompt: From {wanted} {one} and {other} {two} cards, two are taken one after the other and kept. How
            likely are two {one} ones? Give a fraction in lowest terms.
        setup: There are {wanted} + {other} = {total} at first, so the first is {one} with probability
            {wanted}/{total}.
        calculation: Then {wanted} - 1 = {wanted - 1} of {total} - 1 = {total - 1} are {one}.
        calculation: {wanted} × {wanted - 1} = {top} and {total} × {total - 1} = {bottom}.
        answer: The probability is {top}/{bottom} = {chance}.
    """
    return worked_problem(rng, text, chance, "hard")


DATA_AND_CHANCE = families(
    "statistics", "reasoning", mean, median, spread, missing_score, weighted_average
) + families("probability", "reasoning", one_draw, two_draws)
