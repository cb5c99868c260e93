"""Everyday stories in two to four steps."""

from tunix_rt.problems.family import BAKED, FOODS, NAMES, THINGS, Dice, Worked, counted, families, noun


def gains_and_losses(dice: Dice) -> Worked:
    """A collection that grows, shrinks and grows again."""
    name, thing = dice.pick(NAMES), dice.pick(THINGS)
    start, gift, days, daily = (
        dice.between(40, 90),
        dice.between(11, 35),
        dice.between(3, 7),
        dice.between(2, 6),
    )
    more, given = start + gift, days * daily
    prompt = dice.pick(
        (
            f"{name} has {start} {thing.many} and gets {gift} more. Then {name} gives away {daily} "
            f"{thing.many} a day for "
            f"{days} days. How many {thing.many} are left?",
            f"There are {start} {thing.many} in {name}'s box. {gift} are added, and on each of the next "
            f"{days} days {daily} "
            "are taken out. How many remain?",
        )
    )
    steps = (
        ("calculation", f"With the new ones: {start} + {gift} = {more}."),
        ("calculation", f"Given away: {days} × {daily} = {given}."),
        ("answer", f"Left: {more} - {given} = {more - given}."),
    )
    return Worked(prompt, steps, str(more - given), "medium")


def times_as_many(dice: Dice) -> Worked:
    """Three people compared by multiples and differences."""
    first, second, third = dice.sample(NAMES, 3)
    thing, start, times, more = (
        dice.pick(THINGS),
        dice.between(6, 30),
        dice.between(2, 5),
        dice.between(3, 20),
    )
    b, c = start * times, start * times + more
    prompt = dice.pick(
        (
            f"{first} owns {start} {thing.many}. {second} owns {times} times as many, and {third} owns "
            f"{more} more than "
            f"{second}. How many {thing.many} do the three own together?",
            f"{second} has {times} times as many {thing.many} as {first}, who has {start}. {third} has "
            f"{more} more than "
            f"{second}. What is the total number of {thing.many}?",
        )
    )
    steps = (
        ("calculation", f"{second}: {times} × {start} = {b}."),
        ("calculation", f"{third}: {b} + {more} = {c}."),
        ("answer", f"Together: {start} + {b} + {c} = {start + b + c}."),
    )
    return Worked(prompt, steps, str(start + b + c), "medium")


def rows_and_buses(dice: Dice) -> Worked:
    """How many vehicles are needed, rounding up."""
    seats, classes, pupils, adults = (
        dice.between(18, 52),
        dice.between(3, 8),
        dice.between(19, 29),
        dice.between(4, 12),
    )
    people = classes * pupils + adults
    full, rest = divmod(people, seats)
    needed = full + (1 if rest else 0)
    prompt = dice.pick(
        (
            f"{classes} classes of {pupils} pupils and {adults} adults go on a trip. A bus has {seats} "
            "seats. How many "
            "buses are needed?",
            f"A school sends {classes} groups of {pupils} children with {adults} adults. How many "
            f"coaches with {seats} "
            "seats must be booked?",
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
    return Worked(prompt, tuple(steps), str(needed), "hard")


def working_backwards(dice: Dice) -> Worked:
    """The start found by undoing what happened."""
    name, food = dice.pick(NAMES), dice.pick(BAKED)
    left, bought, eaten = dice.between(5, 25), dice.between(2, 15), dice.between(2, 9)
    before_bought = left + eaten - bought
    while before_bought < 2:
        left += 10
        before_bought = left + eaten - bought
    start = before_bought * 2
    prompt = dice.pick(
        (
            f"{name} sold half of the {food.many}, then baked {bought} more and ate {eaten}. Now there "
            f"are {left}. How many "
            f"{food.many} were there at first?",
            f"Half of a number of {food.many} is given away. Then {bought} are added and {eaten} are "
            "eaten, which leaves "
            f"{left}. How many {food.many} were there at the start?",
        )
    )
    steps = (
        ("setup", "Undo the steps from the end."),
        ("calculation", f"Before eating: {left} + {eaten} = {left + eaten}."),
        ("calculation", f"Before adding: {left + eaten} - {bought} = {before_bought}."),
        ("answer", f"Before halving: 2 × {before_bought} = {start}."),
    )
    return Worked(prompt, steps, str(start), "hard")


def sharing_equally(dice: Dice) -> Worked:
    """Bags that are emptied and shared, with some kept back."""
    food, bags, per_bag, people = (
        dice.pick(FOODS),
        dice.between(3, 9),
        dice.between(6, 15),
        dice.between(3, 8),
    )
    total = bags * per_bag
    kept = total % people
    each = (total - kept) // people
    prompt = dice.pick(
        (
            f"{bags} bags hold {per_bag} {food.many} each. "
            f"{counted(people, noun('child', 'children')).capitalize()} share "
            f"them equally, as many as possible. How many {food.many} does each child get?",
            f"All the {food.many} from {bags} bags with {per_bag} in each are shared equally among "
            f"{people} guests. How many "
            "does every guest get at most?",
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
    return Worked(prompt, tuple(steps), str(each), "medium")


def posts_and_gaps(dice: Dice) -> Worked:
    """Posts along a line: one more post than gaps."""
    gap, gaps = dice.between(3, 15), dice.between(6, 40)
    what = dice.pick(("lamp posts", "trees", "flags", "fence posts"))
    length = gap * gaps
    prompt = dice.pick(
        (
            f"Along a straight road of {length} m stand {what} every {gap} m, one at each end. How many "
            f"{what} are there?",
            f"A straight path is {length} m long. {what.capitalize()} are set {gap} m apart, with one "
            "at the start and one "
            "at the end. How many are needed?",
        )
    )
    steps = (
        ("calculation", f"Gaps: {length} ÷ {gap} = {gaps}."),
        ("answer", f"There is one more than the gaps: {gaps} + 1 = {gaps + 1}."),
    )
    return Worked(prompt, steps, str(gaps + 1), "medium")


def overtime_pay(dice: Dice) -> Worked:
    """Pay with a higher rate for extra hours."""
    name, wage, normal, extra = (
        dice.pick(NAMES),
        dice.between(6, 15) * 2,
        dice.between(30, 40),
        dice.between(2, 10),
    )
    higher = wage * 3 // 2
    base, bonus = wage * normal, higher * extra
    prompt = dice.pick(
        (
            f"{name} earns ${wage} an hour for the first {normal} hours of a week and ${higher} for "
            "every hour after that. "
            f"How many dollars does {name} earn in a week of {normal + extra} hours?",
            f"The wage is ${wage} an hour up to {normal} hours and ${higher} an hour beyond. What does "
            "a week of "
            f"{normal + extra} hours pay, in dollars?",
        )
    )
    steps = (
        ("calculation", f"Normal hours: {normal} × ${wage} = ${base}."),
        ("calculation", f"Extra hours: {normal + extra} - {normal} = {extra}."),
        ("calculation", f"Extra pay: {extra} × ${higher} = ${bonus}."),
        ("answer", f"${base} + ${bonus} = ${base + bonus}."),
    )
    return Worked(prompt, steps, f"${base + bonus}", "medium")


def overlapping_groups(dice: Dice) -> Worked:
    """Two overlapping groups: how many are in neither."""
    both, only_a, only_b, neither = (dice.between(3, 15) for _ in range(4))
    a, b, total = both + only_a, both + only_b, both + only_a + only_b + neither
    first, second = dice.sample(("chess", "football", "painting", "robotics", "singing", "rowing"), 2)
    prompt = dice.pick(
        (
            f"Of {total} pupils, {a} are in the {first} club, {b} in the {second} club and {both} in "
            "both. How many "
            "are in neither?",
            f"In a group of {total} people, {a} signed up for {first}, {b} for {second}, and {both} for "
            "both. How many chose "
            "neither of them?",
        )
    )
    either = a + b - both
    steps = (
        ("setup", "Those who are in both groups are counted twice, so take them off once."),
        ("calculation", f"At least one: {a} + {b} - {both} = {either}."),
        ("answer", f"Neither: {total} - {either} = {neither}."),
    )
    return Worked(prompt, steps, str(neither), "hard")


WORD_PROBLEMS = families(
    "word_problem", "reasoning",
    gains_and_losses, times_as_many, rows_and_buses, working_backwards, sharing_equally, posts_and_gaps,
    overtime_pay, overlapping_groups,
)  # fmt: skip
