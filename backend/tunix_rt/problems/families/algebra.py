"""Equations, percentages, ratios."""

from fractions import Fraction

from tunix_rt.problems.family import (
    NAMES,
    THINGS,
    Problem,
    SeededRandom,
    decimal,
    families,
    noun,
    worked_problem,
)


def linear_equation(rng: SeededRandom) -> Problem:
    a, x, b = rng.randint(2, 12), rng.randint(2, 25), rng.randint(3, 40)
    total = a * x + b
    text = f"""
        prompt: Solve {a}x + {b} = {total} for x.
        prompt: A number is multiplied by {a}, then {b} is added. The result is {total}. What is the number?
        prompt: For which x is {a}x + {b} equal to {total}?
        calculation: Take {b} from both sides: {total} - {b} = {a * x}.
        calculation: Divide by {a}: {a * x} ÷ {a} = {x}.
        check: Check: {a} × {x} + {b} = {total}.
    """
    return worked_problem(rng, text, x)


def unknown_on_both_sides(rng: SeededRandom) -> Problem:
    c, extra, x, b = rng.randint(2, 7), rng.randint(2, 7), rng.randint(2, 15), rng.randint(1, 30)
    a, d = c + extra, b + extra * x
    left = a * x + b
    text = f"""
        prompt: Solve {a}x + {b} = {c}x + {d}.
        prompt: Find x if {a}x + {b} = {c}x + {d}.
        calculation: Bring the x terms together: {a} - {c} = {extra}, so the left side keeps {extra} times x.
        calculation: Bring the numbers together: {d} - {b} = {d - b}.
        calculation: {d - b} ÷ {extra} = {x}.
        check: Check: {a} × {x} + {b} = {left} and {c} × {x} + {d} = {left}.
    """
    return worked_problem(rng, text, x, "medium")


def sum_and_difference(rng: SeededRandom) -> Problem:
    small, gap = rng.randint(5, 60), rng.randint(2, 40)
    large, total = small + gap, 2 * small + gap
    text = f"""
        prompt: Two numbers add up to {total} and differ by {gap}. What is the larger number?
        prompt: Two boxes hold {total} pens together. One holds {gap} more than the other. How many pens are
            in the fuller box?
        setup: Adding the difference to the sum gives twice the larger number.
        calculation: {total} + {gap} = {total + gap}.
        calculation: {total + gap} ÷ 2 = {large}.
        check: Check: {large} + {small} = {total} and {large} - {small} = {gap}.
    """
    return worked_problem(rng, text, large, "medium")


def ages(rng: SeededRandom) -> Problem:
    child, parent = rng.sample(NAMES, 2)
    years, later_child, times = rng.randint(2, 8), rng.randint(10, 20), rng.randint(2, 3)
    now_child, later_parent = later_child - years, later_child * times
    now_parent = later_parent - years
    text = f"""
        prompt: {child} is {now_child} years old. In {years} years, {parent} will be {times} times as old as
            {child} is then. How old is {parent} now?
        prompt: In {years} years {parent}'s age will be {times} times {child}'s age. {child} is {now_child}
            now. What is {parent}'s age now?
        calculation: In {years} years {child} is {now_child} + {years} = {later_child}.
        calculation: Then {parent} is {times} × {later_child} = {later_parent}.
        answer: Now {parent} is {later_parent} - {years} = {now_parent}.
    """
    return worked_problem(rng, text, now_parent, "hard")


def consecutive_numbers(rng: SeededRandom) -> Problem:
    how_many, middle = rng.choice((3, 5)), rng.randint(8, 90)
    half = how_many // 2
    total, largest = middle * how_many, middle + half
    row = [middle + step for step in range(-half, half + 1)]
    text = f"""
        prompt: The sum of {how_many} consecutive whole numbers is {total}. What is the largest of them?
        prompt: {how_many} numbers in a row, each one more than the one before, add up to {total}. Which is
            the largest?
        setup: The middle number is the average.
        calculation: {total} ÷ {how_many} = {middle}.
        calculation: The largest is {middle} + {half} = {largest}.
        check: Check: {" + ".join(map(str, row))} = {total}.
    """
    return worked_problem(rng, text, largest, "medium")


def substitution(rng: SeededRandom) -> Problem:
    a, b, x, y = rng.randint(2, 9), rng.randint(2, 9), rng.randint(2, 12), rng.randint(2, 12)
    value = a * x + b * y
    text = f"""
        prompt: What is {a}x + {b}y when x is {x} and y is {y}?
        prompt: Let x be {x} and y be {y}. Evaluate {a}x + {b}y.
        calculation: The first term: {a} × {x} = {a * x}.
        calculation: The second term: {b} × {y} = {b * y}.
        answer: {a * x} + {b * y} = {value}.
    """
    return worked_problem(rng, text, value)


def heads_and_legs(rng: SeededRandom) -> Problem:
    birds, beasts = rng.sample(range(4, 30), 2)
    bird, beast = rng.choice(
        (("chickens", "goats"), ("ducks", "cows"), ("geese", "sheep"), ("turkeys", "horses"))
    )
    heads, legs = birds + beasts, 2 * birds + 4 * beasts
    text = f"""
        prompt: A farm has {bird} and {beast}: {heads} heads and {legs} legs in all. How many {beast} are
            there?
        prompt: Among {bird} and {beast} one counts {heads} heads and {legs} legs. How many are {beast}?
        setup: If all {heads} animals had 2 legs, there would be 2 × {heads} = {2 * heads} legs.
        calculation: The extra legs: {legs} - {2 * heads} = {legs - 2 * heads}.
        calculation: Each of the {beast} adds 2 legs more: {legs - 2 * heads} ÷ 2 = {beasts}.
        check: Check: 2 × {birds} + 4 × {beasts} = {legs}.
    """
    return worked_problem(rng, text, beasts, "hard")


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


def percent_of(rng: SeededRandom) -> Problem:
    group, percent, total = rng.choice(_GROUPS), rng.randint(3, 19) * 5, rng.randint(2, 40) * 20
    part = total * percent // 100
    one_percent = Fraction(total, 100)
    text = f"""
        prompt: What is {percent}% of {total}?
        prompt: A club has {total} {group.many}, and {percent}% of them vote. How many {group.many} vote?
        prompt: Of {total} {group.many}, {percent}% come by bike. How many is that?
        calculation: One percent of {total} is {total} ÷ 100 = {decimal(one_percent)}.
        calculation: {percent} × {decimal(one_percent)} = {part}.
        answer: {percent}% of {total} is {part}.
    """
    return worked_problem(rng, text, part)


def percent_change(rng: SeededRandom) -> Problem:
    old, percent = rng.randint(2, 30) * 20, rng.randint(1, 15) * 5
    change = old * percent // 100
    rises = rng.chance(50)
    new = old + change if rises else old - change
    word = "rise" if rises else "fall"
    gap = f"{new} - {old} = {change}" if rises else f"{old} - {new} = {change}"
    text = f"""
        prompt: The price of a ticket changes from ${old} to ${new}. By how many percent does it {word}?
        prompt: Last year {old} people came to the fair, this year {new}. What is the {word} in percent?
        calculation: The change is {gap}.
        calculation: As a part of the old value: {change} ÷ {old} = {decimal(Fraction(change, old))}.
        answer: {decimal(Fraction(change, old))} × 100 = {percent}, so the {word} is {percent}%.
    """
    return worked_problem(rng, text, f"{percent}%", "medium")


def whole_from_percent(rng: SeededRandom) -> Problem:
    percent, share, thing = rng.choice((5, 10, 20, 25, 40, 50, 75)), rng.randint(3, 45), rng.choice(THINGS)
    part = share * percent // 5
    whole = share * 20
    one = Fraction(part, percent)
    text = f"""
        prompt: {part} {thing.many} are {percent}% of a collection. How many {thing.many} are in the whole
            collection?
        prompt: A box is {percent}% full when it holds {part} {thing.many}. How many {thing.many} fit in it?
        calculation: One percent is {part} ÷ {percent} = {decimal(one)}.
        calculation: The whole is 100 × {decimal(one)} = {whole}.
        check: Check: {whole} × {percent}/100 = {part}.
    """
    return worked_problem(rng, text, whole, "medium")


def ratio_share(rng: SeededRandom) -> Problem:
    first, second = rng.sample(NAMES, 2)
    a, b = rng.sample(range(1, 9), 2)
    each, thing = rng.randint(3, 25), rng.choice(THINGS)
    total = (a + b) * each
    text = f"""
        prompt: {first} and {second} share {total} {thing.many} in the ratio {a}:{b}. How many does {second}
            get?
        prompt: {total} {thing.many} are divided between {first} and {second} in the ratio {a} to {b}. What is
            {second}'s share?
        calculation: There are {a} + {b} = {a + b} parts.
        calculation: One part is {total} ÷ {a + b} = {each}.
        answer: {second} gets {b} × {each} = {b * each}.
    """
    return worked_problem(rng, text, b * each, "medium")


def recipe_scaling(rng: SeededRandom) -> Problem:
    ingredient, unit = rng.choice(_INGREDIENTS)
    servings, wanted = rng.sample(range(2, 13), 2)
    each = rng.randint(3, 16) * 5
    amount = servings * each
    text = f"""
        prompt: A recipe for {servings} people needs {amount} {unit} of {ingredient}. How many {unit} are
            needed for {wanted} people?
        prompt: {amount} {unit} of {ingredient} make {servings} servings. How many {unit} make {wanted}
            servings?
        calculation: For one person: {amount} ÷ {servings} = {each}.
        calculation: For {wanted} people: {wanted} × {each} = {wanted * each}.
        answer: {wanted * each} {unit} of {ingredient} are needed.
    """
    return worked_problem(rng, text, wanted * each)


def map_scale(rng: SeededRandom) -> Problem:
    halves, km_per_cm = rng.randint(5, 39), rng.randint(2, 12) * 2
    centimetres = Fraction(halves, 2)
    km = halves * km_per_cm // 2
    text = f"""
        prompt: On a map, 1 cm stands for {km_per_cm} km. Two towns are {decimal(centimetres)} cm apart on the
            map. How many kilometres apart are they?
        prompt: A map has the scale 1 cm to {km_per_cm} km. How many kilometres long is a road that measures
            {decimal(centimetres)} cm?
        setup: Every centimetre on the map is {km_per_cm} km in reality.
        calculation: {decimal(centimetres)} × {km_per_cm} = {km}.
        answer: The distance is {km} km.
    """
    return worked_problem(rng, text, km)


PROPORTIONS = families(
    "proportions", "reasoning",
    percent_of, percent_change, whole_from_percent, ratio_share, recipe_scaling, map_scale,
)  # fmt: skip
