"""Equations in one or two unknowns."""

from tunix_rt.core.generation.dice import Dice
from tunix_rt.core.generation.english import NAMES
from tunix_rt.core.generation.family import Worked, families


def linear_equation(dice: Dice) -> Worked:
    """a·x + b = c, solved by undoing."""
    a, x, b = dice.between(2, 12), dice.between(2, 25), dice.between(3, 40)
    total = a * x + b
    prompt = dice.pick(
        (
            f"Solve {a}x + {b} = {total} for x.",
            f"A number is multiplied by {a}, then {b} is added. The result is {total}. What is the number?",
            f"For which x is {a}x + {b} equal to {total}?",
        )
    )
    steps = (
        ("calculation", f"Take {b} from both sides: {total} - {b} = {a * x}."),
        ("calculation", f"Divide by {a}: {a * x} ÷ {a} = {x}."),
        ("check", f"Check: {a} × {x} + {b} = {total}."),
    )
    return Worked(prompt, steps, str(x), "easy")


def unknown_on_both_sides(dice: Dice) -> Worked:
    """a·x + b = c·x + d with a > c."""
    c, extra, x, b = dice.between(2, 7), dice.between(2, 7), dice.between(2, 15), dice.between(1, 30)
    a, d = c + extra, b + extra * x
    prompt = dice.pick((f"Solve {a}x + {b} = {c}x + {d}.", f"Find x if {a}x + {b} = {c}x + {d}."))
    left = a * x + b
    steps = (
        (
            "calculation",
            f"Bring the x terms together: {a} - {c} = {extra}, so the left side keeps {extra} times x.",
        ),
        ("calculation", f"Bring the numbers together: {d} - {b} = {d - b}."),
        ("calculation", f"{d - b} ÷ {extra} = {x}."),
        ("check", f"Check: {a} × {x} + {b} = {left} and {c} × {x} + {d} = {left}."),
    )
    return Worked(prompt, steps, str(x), "medium")


def sum_and_difference(dice: Dice) -> Worked:
    """Two numbers from their sum and difference."""
    small, gap = dice.between(5, 60), dice.between(2, 40)
    large, total = small + gap, 2 * small + gap
    prompt = dice.pick(
        (
            f"Two numbers add up to {total} and differ by {gap}. What is the larger number?",
            f"Two boxes hold {total} pens together. One holds {gap} more than the other. How many pens "
            "are in the fuller box?",
        )
    )
    steps = (
        ("setup", "Adding the difference to the sum gives twice the larger number."),
        ("calculation", f"{total} + {gap} = {total + gap}."),
        ("calculation", f"{total + gap} ÷ 2 = {large}."),
        ("check", f"Check: {large} + {small} = {total} and {large} - {small} = {gap}."),
    )
    return Worked(prompt, steps, str(large), "medium")


def ages(dice: Dice) -> Worked:
    """Ages linked by a multiple, some years from now."""
    child, parent = dice.sample(NAMES, 2)
    years, later_child, times = dice.between(2, 8), dice.between(10, 20), dice.between(2, 3)
    now_child, later_parent = later_child - years, later_child * times
    now_parent = later_parent - years
    prompt = dice.pick(
        (
            f"{child} is {now_child} years old. In {years} years, {parent} will be {times} times as old "
            f"as {child} is "
            f"then. How old is {parent} now?",
            f"In {years} years {parent}'s age will be {times} times {child}'s age. {child} is "
            f"{now_child} now. "
            f"What is {parent}'s age now?",
        )
    )
    steps = (
        ("calculation", f"In {years} years {child} is {now_child} + {years} = {later_child}."),
        ("calculation", f"Then {parent} is {times} × {later_child} = {later_parent}."),
        ("answer", f"Now {parent} is {later_parent} - {years} = {now_parent}."),
    )
    return Worked(prompt, steps, str(now_parent), "hard")


def consecutive_numbers(dice: Dice) -> Worked:
    """Three or five consecutive numbers from their sum."""
    how_many, middle = dice.pick((3, 5)), dice.between(8, 90)
    half = how_many // 2
    total, largest = middle * how_many, middle + half
    prompt = dice.pick(
        (
            f"The sum of {how_many} consecutive whole numbers is {total}. What is the largest of them?",
            f"{how_many} numbers in a row, each one more than the one before, add up to {total}. Which "
            "is the largest?",
        )
    )
    row = [middle + step for step in range(-half, half + 1)]
    steps = (
        ("setup", "The middle number is the average."),
        ("calculation", f"{total} ÷ {how_many} = {middle}."),
        ("calculation", f"The largest is {middle} + {half} = {largest}."),
        ("check", f"Check: {' + '.join(map(str, row))} = {total}."),
    )
    return Worked(prompt, steps, str(largest), "medium")


def substitution(dice: Dice) -> Worked:
    """The value of an expression at given values."""
    a, b, x, y = dice.between(2, 9), dice.between(2, 9), dice.between(2, 12), dice.between(2, 12)
    value = a * x + b * y
    prompt = dice.pick(
        (
            f"What is {a}x + {b}y when x is {x} and y is {y}?",
            f"Let x be {x} and y be {y}. Evaluate {a}x + {b}y.",
        )
    )
    steps = (
        ("calculation", f"The first term: {a} × {x} = {a * x}."),
        ("calculation", f"The second term: {b} × {y} = {b * y}."),
        ("answer", f"{a * x} + {b * y} = {value}."),
    )
    return Worked(prompt, steps, str(value), "easy")


def heads_and_legs(dice: Dice) -> Worked:
    """Two kinds of animals from heads and legs."""
    birds, beasts = dice.sample(range(4, 30), 2)
    bird, beast = dice.pick(
        (("chickens", "goats"), ("ducks", "cows"), ("geese", "sheep"), ("turkeys", "horses"))
    )
    heads, legs = birds + beasts, 2 * birds + 4 * beasts
    prompt = dice.pick(
        (
            f"A farm has {bird} and {beast}: {heads} heads and {legs} legs in all. How many {beast} are "
            "there?",
            f"Among {bird} and {beast} one counts {heads} heads and {legs} legs. How many are {beast}?",
        )
    )
    steps = (
        ("setup", f"If all {heads} animals had 2 legs, there would be 2 × {heads} = {2 * heads} legs."),
        ("calculation", f"The extra legs: {legs} - {2 * heads} = {legs - 2 * heads}."),
        ("calculation", f"Each of the {beast} adds 2 legs more: {legs - 2 * heads} ÷ 2 = {beasts}."),
        ("check", f"Check: 2 × {birds} + 4 × {beasts} = {legs}."),
    )
    return Worked(prompt, steps, str(beasts), "hard")


ALGEBRA = families(
    "algebra", "reasoning",
    linear_equation, unknown_on_both_sides, sum_and_difference, ages, consecutive_numbers, substitution,
    heads_and_legs,
)  # fmt: skip
