"""Equations, percentages, ratios."""

from fractions import Fraction

from tunix_rt.problems.family import NAMES, THINGS, Dice, Worked, decimal, families, noun


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

_INGREDIENTS = (
    ("flour", "grams"),
    ("sugar", "grams"),
    ("milk", "millilitres"),
    ("rice", "grams"),
    ("broth", "millilitres"),
)
_GROUPS = (noun("member"), noun("pupil"), noun("visitor"), noun("employee"), noun("player"))


def percent_of(dice: Dice) -> Worked:
    """A percentage of a group, through one percent or ten percent."""
    group, percent, total = dice.pick(_GROUPS), dice.between(3, 19) * 5, dice.between(2, 40) * 20
    part = total * percent // 100
    one_percent = Fraction(total, 100)
    prompt = dice.pick(
        (
            f"What is {percent}% of {total}?",
            f"A club has {total} {group.many}, and {percent}% of them vote. How many {group.many} vote?",
            f"Of {total} {group.many}, {percent}% come by bike. How many is that?",
        )
    )
    steps = (
        ("calculation", f"One percent of {total} is {total} ÷ 100 = {decimal(one_percent)}."),
        ("calculation", f"{percent} × {decimal(one_percent)} = {part}."),
        ("answer", f"{percent}% of {total} is {part}."),
    )
    return Worked(prompt, steps, str(part), "easy")


def percent_change(dice: Dice) -> Worked:
    """A rise or fall in percent of the old value."""
    old, percent = dice.between(2, 30) * 20, dice.between(1, 15) * 5
    change = old * percent // 100
    rises = dice.chance(50)
    new = old + change if rises else old - change
    word = "rise" if rises else "fall"
    prompt = dice.pick(
        (
            f"The price of a ticket changes from ${old} to ${new}. By how many percent does it {word}?",
            f"Last year {old} people came to the fair, this year {new}. What is the {word} in percent?",
        )
    )
    gap = f"{new} - {old} = {change}" if rises else f"{old} - {new} = {change}"
    steps = (
        ("calculation", f"The change is {gap}."),
        ("calculation", f"As a part of the old value: {change} ÷ {old} = {decimal(Fraction(change, old))}."),
        ("answer", f"{decimal(Fraction(change, old))} × 100 = {percent}, so the {word} is {percent}%."),
    )
    return Worked(prompt, steps, f"{percent}%", "medium")


def whole_from_percent(dice: Dice) -> Worked:
    """The whole when a part and its percentage are known."""
    percent, share, thing = dice.pick((5, 10, 20, 25, 40, 50, 75)), dice.between(3, 45), dice.pick(THINGS)
    part = share * percent // 5
    whole = share * 20
    prompt = dice.pick(
        (
            f"{part} {thing.many} are {percent}% of a collection. How many {thing.many} are in the "
            "whole collection?",
            f"A box is {percent}% full when it holds {part} {thing.many}. How many {thing.many} fit in it?",
        )
    )
    one = Fraction(part, percent)
    steps = (
        ("calculation", f"One percent is {part} ÷ {percent} = {decimal(one)}."),
        ("calculation", f"The whole is 100 × {decimal(one)} = {whole}."),
        ("check", f"Check: {whole} × {percent}/100 = {part}."),
    )
    return Worked(prompt, steps, str(whole), "medium")


def ratio_share(dice: Dice) -> Worked:
    """A sum divided in a given ratio."""
    first, second = dice.sample(NAMES, 2)
    a, b = dice.sample(range(1, 9), 2)
    each, thing = dice.between(3, 25), dice.pick(THINGS)
    total = (a + b) * each
    prompt = dice.pick(
        (
            f"{first} and {second} share {total} {thing.many} in the ratio {a}:{b}. How many does "
            f"{second} get?",
            f"{total} {thing.many} are divided between {first} and {second} in the ratio {a} to {b}. "
            f"What is {second}'s share?",
        )
    )
    steps = (
        ("calculation", f"There are {a} + {b} = {a + b} parts."),
        ("calculation", f"One part is {total} ÷ {a + b} = {each}."),
        ("answer", f"{second} gets {b} × {each} = {b * each}."),
    )
    return Worked(prompt, steps, str(b * each), "medium")


def recipe_scaling(dice: Dice) -> Worked:
    """An amount for another number of servings."""
    ingredient, unit = dice.pick(_INGREDIENTS)
    servings, wanted = dice.sample(range(2, 13), 2)
    each = dice.between(3, 16) * 5
    amount = servings * each
    prompt = dice.pick(
        (
            f"A recipe for {servings} people needs {amount} {unit} of {ingredient}. How many {unit} are "
            "needed for "
            f"{wanted} people?",
            f"{amount} {unit} of {ingredient} make {servings} servings. How many {unit} make {wanted} "
            "servings?",
        )
    )
    steps = (
        ("calculation", f"For one person: {amount} ÷ {servings} = {each}."),
        ("calculation", f"For {wanted} people: {wanted} × {each} = {wanted * each}."),
        ("answer", f"{wanted * each} {unit} of {ingredient} are needed."),
    )
    return Worked(prompt, steps, str(wanted * each), "easy")


def map_scale(dice: Dice) -> Worked:
    """A distance on a map turned into kilometres."""
    halves, km_per_cm = dice.between(5, 39), dice.between(2, 12) * 2
    centimetres = Fraction(halves, 2)
    km = halves * km_per_cm // 2
    prompt = dice.pick(
        (
            f"On a map, 1 cm stands for {km_per_cm} km. Two towns are {decimal(centimetres)} cm apart "
            "on the map. "
            "How many kilometres apart are they?",
            f"A map has the scale 1 cm to {km_per_cm} km. How many kilometres long is a road that measures "
            f"{decimal(centimetres)} cm?",
        )
    )
    steps = (
        ("setup", f"Every centimetre on the map is {km_per_cm} km in reality."),
        ("calculation", f"{decimal(centimetres)} × {km_per_cm} = {km}."),
        ("answer", f"The distance is {km} km."),
    )
    return Worked(prompt, steps, str(km), "easy")


PROPORTIONS = families(
    "proportions", "reasoning",
    percent_of, percent_change, whole_from_percent, ratio_share, recipe_scaling, map_scale,
)  # fmt: skip
