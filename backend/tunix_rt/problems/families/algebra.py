"""Equations, percentages, ratios."""

from fractions import Fraction

from tunix_rt.problems.family import NAMES, THINGS, Problem, SeededRandom, decimal, families, noun


def linear_equation(rng: SeededRandom) -> Problem:
    """a·x + b = c, solved by undoing."""
    a, x, b = rng.randint(2, 12), rng.randint(2, 25), rng.randint(3, 40)
    total = a * x + b
    prompt = rng.choice(
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
    return Problem(prompt, steps, str(x), "easy")


def unknown_on_both_sides(rng: SeededRandom) -> Problem:
    """a·x + b = c·x + d with a > c."""
    c, extra, x, b = rng.randint(2, 7), rng.randint(2, 7), rng.randint(2, 15), rng.randint(1, 30)
    a, d = c + extra, b + extra * x
    prompt = rng.choice((f"Solve {a}x + {b} = {c}x + {d}.", f"Find x if {a}x + {b} = {c}x + {d}."))
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
    return Problem(prompt, steps, str(x), "medium")


def sum_and_difference(rng: SeededRandom) -> Problem:
    """Two numbers from their sum and difference."""
    small, gap = rng.randint(5, 60), rng.randint(2, 40)
    large, total = small + gap, 2 * small + gap
    prompt = rng.choice(
        (
            f"Two numbers add up to {total} and differ by {gap}. What is the larger number?",
            f"Two boxes hold {total} pens together. One holds {gap} more than the other. "
            "How many pens are in the fuller box?",
        )
    )
    steps = (
        ("setup", "Adding the difference to the sum gives twice the larger number."),
        ("calculation", f"{total} + {gap} = {total + gap}."),
        ("calculation", f"{total + gap} ÷ 2 = {large}."),
        ("check", f"Check: {large} + {small} = {total} and {large} - {small} = {gap}."),
    )
    return Problem(prompt, steps, str(large), "medium")


def ages(rng: SeededRandom) -> Problem:
    """Ages linked by a multiple, some years from now."""
    child, parent = rng.sample(NAMES, 2)
    years, later_child, times = rng.randint(2, 8), rng.randint(10, 20), rng.randint(2, 3)
    now_child, later_parent = later_child - years, later_child * times
    now_parent = later_parent - years
    prompt = rng.choice(
        (
            f"{child} is {now_child} years old. "
            f"In {years} years, {parent} will be {times} times as old as {child} is then. "
            f"How old is {parent} now?",
            f"In {years} years {parent}'s age will be {times} times {child}'s age. "
            f"{child} is {now_child} now. What is {parent}'s age now?",
        )
    )
    steps = (
        ("calculation", f"In {years} years {child} is {now_child} + {years} = {later_child}."),
        ("calculation", f"Then {parent} is {times} × {later_child} = {later_parent}."),
        ("answer", f"Now {parent} is {later_parent} - {years} = {now_parent}."),
    )
    return Problem(prompt, steps, str(now_parent), "hard")


def consecutive_numbers(rng: SeededRandom) -> Problem:
    """Three or five consecutive numbers from their sum."""
    how_many, middle = rng.choice((3, 5)), rng.randint(8, 90)
    half = how_many // 2
    total, largest = middle * how_many, middle + half
    prompt = rng.choice(
        (
            f"The sum of {how_many} consecutive whole numbers is {total}. What is the largest of them?",
            f"{how_many} numbers in a row, each one more than the one before, add up to {total}. "
            "Which is the largest?",
        )
    )
    row = [middle + step for step in range(-half, half + 1)]
    steps = (
        ("setup", "The middle number is the average."),
        ("calculation", f"{total} ÷ {how_many} = {middle}."),
        ("calculation", f"The largest is {middle} + {half} = {largest}."),
        ("check", f"Check: {' + '.join(map(str, row))} = {total}."),
    )
    return Problem(prompt, steps, str(largest), "medium")


def substitution(rng: SeededRandom) -> Problem:
    """The value of an expression at given values."""
    a, b, x, y = rng.randint(2, 9), rng.randint(2, 9), rng.randint(2, 12), rng.randint(2, 12)
    value = a * x + b * y
    prompt = rng.choice(
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
    return Problem(prompt, steps, str(value), "easy")


def heads_and_legs(rng: SeededRandom) -> Problem:
    """Two kinds of animals from heads and legs."""
    birds, beasts = rng.sample(range(4, 30), 2)
    bird, beast = rng.choice(
        (("chickens", "goats"), ("ducks", "cows"), ("geese", "sheep"), ("turkeys", "horses"))
    )
    heads, legs = birds + beasts, 2 * birds + 4 * beasts
    prompt = rng.choice(
        (
            f"A farm has {bird} and {beast}: {heads} heads and {legs} legs in all. "
            f"How many {beast} are there?",
            f"Among {bird} and {beast} one counts {heads} heads and {legs} legs. How many are {beast}?",
        )
    )
    steps = (
        ("setup", f"If all {heads} animals had 2 legs, there would be 2 × {heads} = {2 * heads} legs."),
        ("calculation", f"The extra legs: {legs} - {2 * heads} = {legs - 2 * heads}."),
        ("calculation", f"Each of the {beast} adds 2 legs more: {legs - 2 * heads} ÷ 2 = {beasts}."),
        ("check", f"Check: 2 × {birds} + 4 × {beasts} = {legs}."),
    )
    return Problem(prompt, steps, str(beasts), "hard")


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
    """A percentage of a group, through one percent or ten percent."""
    group, percent, total = rng.choice(_GROUPS), rng.randint(3, 19) * 5, rng.randint(2, 40) * 20
    part = total * percent // 100
    one_percent = Fraction(total, 100)
    prompt = rng.choice(
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
    return Problem(prompt, steps, str(part), "easy")


def percent_change(rng: SeededRandom) -> Problem:
    """A rise or fall in percent of the old value."""
    old, percent = rng.randint(2, 30) * 20, rng.randint(1, 15) * 5
    change = old * percent // 100
    rises = rng.chance(50)
    new = old + change if rises else old - change
    word = "rise" if rises else "fall"
    prompt = rng.choice(
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
    return Problem(prompt, steps, f"{percent}%", "medium")


def whole_from_percent(rng: SeededRandom) -> Problem:
    """The whole when a part and its percentage are known."""
    percent, share, thing = rng.choice((5, 10, 20, 25, 40, 50, 75)), rng.randint(3, 45), rng.choice(THINGS)
    part = share * percent // 5
    whole = share * 20
    prompt = rng.choice(
        (
            f"{part} {thing.many} are {percent}% of a collection. "
            f"How many {thing.many} are in the whole collection?",
            f"A box is {percent}% full when it holds {part} {thing.many}. How many {thing.many} fit in it?",
        )
    )
    one = Fraction(part, percent)
    steps = (
        ("calculation", f"One percent is {part} ÷ {percent} = {decimal(one)}."),
        ("calculation", f"The whole is 100 × {decimal(one)} = {whole}."),
        ("check", f"Check: {whole} × {percent}/100 = {part}."),
    )
    return Problem(prompt, steps, str(whole), "medium")


def ratio_share(rng: SeededRandom) -> Problem:
    """A sum divided in a given ratio."""
    first, second = rng.sample(NAMES, 2)
    a, b = rng.sample(range(1, 9), 2)
    each, thing = rng.randint(3, 25), rng.choice(THINGS)
    total = (a + b) * each
    prompt = rng.choice(
        (
            f"{first} and {second} share {total} {thing.many} in the ratio {a}:{b}. "
            f"How many does {second} get?",
            f"{total} {thing.many} are divided between {first} and {second} in the ratio {a} to {b}. "
            f"What is {second}'s share?",
        )
    )
    steps = (
        ("calculation", f"There are {a} + {b} = {a + b} parts."),
        ("calculation", f"One part is {total} ÷ {a + b} = {each}."),
        ("answer", f"{second} gets {b} × {each} = {b * each}."),
    )
    return Problem(prompt, steps, str(b * each), "medium")


def recipe_scaling(rng: SeededRandom) -> Problem:
    """An amount for another number of servings."""
    ingredient, unit = rng.choice(_INGREDIENTS)
    servings, wanted = rng.sample(range(2, 13), 2)
    each = rng.randint(3, 16) * 5
    amount = servings * each
    prompt = rng.choice(
        (
            f"A recipe for {servings} people needs {amount} {unit} of {ingredient}. "
            f"How many {unit} are needed for {wanted} people?",
            f"{amount} {unit} of {ingredient} make {servings} servings. "
            f"How many {unit} make {wanted} servings?",
        )
    )
    steps = (
        ("calculation", f"For one person: {amount} ÷ {servings} = {each}."),
        ("calculation", f"For {wanted} people: {wanted} × {each} = {wanted * each}."),
        ("answer", f"{wanted * each} {unit} of {ingredient} are needed."),
    )
    return Problem(prompt, steps, str(wanted * each), "easy")


def map_scale(rng: SeededRandom) -> Problem:
    """A distance on a map turned into kilometres."""
    halves, km_per_cm = rng.randint(5, 39), rng.randint(2, 12) * 2
    centimetres = Fraction(halves, 2)
    km = halves * km_per_cm // 2
    prompt = rng.choice(
        (
            f"On a map, 1 cm stands for {km_per_cm} km. "
            f"Two towns are {decimal(centimetres)} cm apart on the map. How many kilometres apart are they?",
            f"A map has the scale 1 cm to {km_per_cm} km. "
            f"How many kilometres long is a road that measures {decimal(centimetres)} cm?",
        )
    )
    steps = (
        ("setup", f"Every centimetre on the map is {km_per_cm} km in reality."),
        ("calculation", f"{decimal(centimetres)} × {km_per_cm} = {km}."),
        ("answer", f"The distance is {km} km."),
    )
    return Problem(prompt, steps, str(km), "easy")


PROPORTIONS = families(
    "proportions", "reasoning",
    percent_of, percent_change, whole_from_percent, ratio_share, recipe_scaling, map_scale,
)  # fmt: skip
