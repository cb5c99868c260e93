"""Everyday stories in two to four steps."""

from tunix_rt.problems.family import (
    BAKED,
    FOODS,
    NAMES,
    THINGS,
    Problem,
    SeededRandom,
    counted,
    families,
    noun,
)


def gains_and_losses(rng: SeededRandom) -> Problem:
    """A collection that grows, shrinks and grows again."""
    name, thing = rng.choice(NAMES), rng.choice(THINGS)
    start, gift = rng.randint(40, 90), rng.randint(11, 35)
    days, daily = rng.randint(3, 7), rng.randint(2, 6)
    more, given = start + gift, days * daily
    prompt = rng.choice(
        (
            f"{name} has {start} {thing.many} and gets {gift} more. "
            f"Then {name} gives away {daily} {thing.many} a day for {days} days. "
            f"How many {thing.many} are left?",
            f"There are {start} {thing.many} in {name}'s box. "
            f"{gift} are added, and on each of the next {days} days {daily} are taken out. How many remain?",
        )
    )
    steps = (
        ("calculation", f"With the new ones: {start} + {gift} = {more}."),
        ("calculation", f"Given away: {days} × {daily} = {given}."),
        ("answer", f"Left: {more} - {given} = {more - given}."),
    )
    return Problem(prompt, steps, str(more - given), "medium")


def times_as_many(rng: SeededRandom) -> Problem:
    """Three people compared by multiples and differences."""
    first, second, third = rng.sample(NAMES, 3)
    thing, start = rng.choice(THINGS), rng.randint(6, 30)
    times, more = rng.randint(2, 5), rng.randint(3, 20)
    b, c = start * times, start * times + more
    prompt = rng.choice(
        (
            f"{first} owns {start} {thing.many}. "
            f"{second} owns {times} times as many, and {third} owns {more} more than {second}. "
            f"How many {thing.many} do the three own together?",
            f"{second} has {times} times as many {thing.many} as {first}, who has {start}. "
            f"{third} has {more} more than {second}. What is the total number of {thing.many}?",
        )
    )
    steps = (
        ("calculation", f"{second}: {times} × {start} = {b}."),
        ("calculation", f"{third}: {b} + {more} = {c}."),
        ("answer", f"Together: {start} + {b} + {c} = {start + b + c}."),
    )
    return Problem(prompt, steps, str(start + b + c), "medium")


def rows_and_buses(rng: SeededRandom) -> Problem:
    """How many vehicles are needed, rounding up."""
    seats, classes = rng.randint(18, 52), rng.randint(3, 8)
    pupils, adults = rng.randint(19, 29), rng.randint(4, 12)
    people = classes * pupils + adults
    full, rest = divmod(people, seats)
    needed = full + (1 if rest else 0)
    prompt = rng.choice(
        (
            f"{classes} classes of {pupils} pupils and {adults} adults go on a trip. "
            f"A bus has {seats} seats. How many buses are needed?",
            f"A school sends {classes} groups of {pupils} children with {adults} adults. "
            f"How many coaches with {seats} seats must be booked?",
        )
    )
    steps = [
        ("calculation", f"Children: {classes} × {pupils} = {classes * pupils}."),
        ("calculation", f"People: {classes * pupils} + {adults} = {people}."),
        ("calculation", f"{full} × {seats} = {full * seats}, and {people} - {full * seats} = {rest}."),
    ]
    if rest:
        steps.append(("answer", f"One more is needed for the rest: {full} + 1 = {needed}."))
    else:
        steps.append(("answer", f"Nobody is left over, so {needed} are enough."))
    return Problem(prompt, tuple(steps), str(needed), "hard")


def working_backwards(rng: SeededRandom) -> Problem:
    """The start found by undoing what happened."""
    name, food = rng.choice(NAMES), rng.choice(BAKED)
    left, bought, eaten = rng.randint(5, 25), rng.randint(2, 15), rng.randint(2, 9)
    before_bought = left + eaten - bought
    while before_bought < 2:
        left += 10
        before_bought = left + eaten - bought
    start = before_bought * 2
    prompt = rng.choice(
        (
            f"{name} sold half of the {food.many}, then baked {bought} more and ate {eaten}. "
            f"Now there are {left}. How many {food.many} were there at first?",
            f"Half of a number of {food.many} is given away. "
            f"Then {bought} are added and {eaten} are eaten, which leaves {left}. "
            f"How many {food.many} were there at the start?",
        )
    )
    steps = (
        ("setup", "Undo the steps from the end."),
        ("calculation", f"Before eating: {left} + {eaten} = {left + eaten}."),
        ("calculation", f"Before adding: {left + eaten} - {bought} = {before_bought}."),
        ("answer", f"Before halving: 2 × {before_bought} = {start}."),
    )
    return Problem(prompt, steps, str(start), "hard")


def sharing_equally(rng: SeededRandom) -> Problem:
    """Bags that are emptied and shared, with some kept back."""
    food, bags = rng.choice(FOODS), rng.randint(3, 9)
    per_bag, people = rng.randint(6, 15), rng.randint(3, 8)
    total = bags * per_bag
    kept = total % people
    each = (total - kept) // people
    prompt = rng.choice(
        (
            f"{bags} bags hold {per_bag} {food.many} each. "
            f"{counted(people, noun('child', 'children')).capitalize()} share them equally, "
            f"as many as possible. How many {food.many} does each child get?",
            f"All the {food.many} from {bags} bags with {per_bag} "
            f"in each are shared equally among {people} guests. How many does every guest get at most?",
        )
    )
    steps = [("calculation", f"In all: {bags} × {per_bag} = {total}.")]
    if kept:
        steps.append(
            (
                "calculation",
                f"{people} × {each} = {total - kept}, and {total} - {total - kept} = {kept} stay over.",
            )
        )
        steps.append(("answer", f"Since {kept} is less than {people}, each gets {each}."))
    else:
        steps.append(("answer", f"{total} ÷ {people} = {each}."))
    return Problem(prompt, tuple(steps), str(each), "medium")


def posts_and_gaps(rng: SeededRandom) -> Problem:
    """Posts along a line: one more post than gaps."""
    gap, gaps = rng.randint(3, 15), rng.randint(6, 40)
    what = rng.choice(("lamp posts", "trees", "flags", "fence posts"))
    length = gap * gaps
    prompt = rng.choice(
        (
            f"Along a straight road of {length} m stand {what} every {gap} m, one at each end. "
            f"How many {what} are there?",
            f"A straight path is {length} m long. "
            f"{what.capitalize()} are set {gap} m apart, with one at the start and one at the end. "
            "How many are needed?",
        )
    )
    steps = (
        ("calculation", f"Gaps: {length} ÷ {gap} = {gaps}."),
        ("answer", f"There is one more than the gaps: {gaps} + 1 = {gaps + 1}."),
    )
    return Problem(prompt, steps, str(gaps + 1), "medium")


def overtime_pay(rng: SeededRandom) -> Problem:
    """Pay with a higher rate for extra hours."""
    name, wage = rng.choice(NAMES), rng.randint(6, 15) * 2
    normal, extra = rng.randint(30, 40), rng.randint(2, 10)
    higher = wage * 3 // 2
    base, bonus = wage * normal, higher * extra
    prompt = rng.choice(
        (
            f"{name} earns ${wage} an hour for the first {normal} hours of a week "
            f"and ${higher} for every hour after that. "
            f"How many dollars does {name} earn in a week of {normal + extra} hours?",
            f"The wage is ${wage} an hour up to {normal} hours and ${higher} an hour beyond. "
            f"What does a week of {normal + extra} hours pay, in dollars?",
        )
    )
    steps = (
        ("calculation", f"Normal hours: {normal} × ${wage} = ${base}."),
        ("calculation", f"Extra hours: {normal + extra} - {normal} = {extra}."),
        ("calculation", f"Extra pay: {extra} × ${higher} = ${bonus}."),
        ("answer", f"${base} + ${bonus} = ${base + bonus}."),
    )
    return Problem(prompt, steps, f"${base + bonus}", "medium")


def overlapping_groups(rng: SeededRandom) -> Problem:
    """Two overlapping groups: how many are in neither."""
    both, only_a, only_b, neither = (rng.randint(3, 15) for _ in range(4))
    a, b, total = both + only_a, both + only_b, both + only_a + only_b + neither
    first, second = rng.sample(("chess", "football", "painting", "robotics", "singing", "rowing"), 2)
    prompt = rng.choice(
        (
            f"Of {total} pupils, {a} are in the {first} club, {b} in the {second} club and {both} in both. "
            "How many are in neither?",
            f"In a group of {total} people, {a} signed up for {first}, {b} for {second}, "
            f"and {both} for both. How many chose neither of them?",
        )
    )
    either = a + b - both
    steps = (
        ("setup", "Those who are in both groups are counted twice, so take them off once."),
        ("calculation", f"At least one: {a} + {b} - {both} = {either}."),
        ("answer", f"Neither: {total} - {either} = {neither}."),
    )
    return Problem(prompt, steps, str(neither), "hard")


WORD_PROBLEMS = families(
    "word_problem", "reasoning",
    gains_and_losses, times_as_many, rows_and_buses, working_backwards, sharing_equally, posts_and_gaps,
    overtime_pay, overlapping_groups,
)  # fmt: skip
