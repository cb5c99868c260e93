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
    worked_problem,
)


def gains_and_losses(rng: SeededRandom) -> Problem:
    name, thing = rng.choice(NAMES), rng.choice(THINGS)
    start, gift = rng.randint(40, 90), rng.randint(11, 35)
    days, daily = rng.randint(3, 7), rng.randint(2, 6)
    more, given = start + gift, days * daily
    text = f"""
        prompt: {name} has {start} {thing.many} and gets {gift} more. Then {name} gives away {daily}
            {thing.many} a day for {days} days. How many {thing.many} are left?
        prompt: There are {start} {thing.many} in {name}'s box. {gift} are added, and on each of the next
            {days} days {daily} are taken out. How many remain?
        calculation: With the new ones: {start} + {gift} = {more}.
        calculation: Given away: {days} × {daily} = {given}.
        answer: Left: {more} - {given} = {more - given}.
    """
    return worked_problem(rng, text, more - given, "medium")


def times_as_many(rng: SeededRandom) -> Problem:
    first, second, third = rng.sample(NAMES, 3)
    thing, start = rng.choice(THINGS), rng.randint(6, 30)
    times, more = rng.randint(2, 5), rng.randint(3, 20)
    b, c = start * times, start * times + more
    text = f"""
        prompt: {first} owns {start} {thing.many}. {second} owns {times} times as many, and {third} owns
            {more} more than {second}. How many {thing.many} do the three own together?
        prompt: {second} has {times} times as many {thing.many} as {first}, who has {start}. {third} has
            {more} more than {second}. What is the total number of {thing.many}?
        calculation: {second}: {times} × {start} = {b}.
        calculation: {third}: {b} + {more} = {c}.
        answer: Together: {start} + {b} + {c} = {start + b + c}.
    """
    return worked_problem(rng, text, start + b + c, "medium")


def rows_and_buses(rng: SeededRandom) -> Problem:
    seats, classes = rng.randint(18, 52), rng.randint(3, 8)
    pupils, adults = rng.randint(19, 29), rng.randint(4, 12)
    people = classes * pupils + adults
    full, rest = divmod(people, seats)
    needed = full + 1 if rest else full
    extra = f"One more is needed for the rest: {full} + 1 = {needed}."
    text = f"""
        prompt: {classes} classes of {pupils} pupils and {adults} adults go on a trip. A bus has {seats}
            seats. How many buses are needed?
        prompt: A school sends {classes} groups of {pupils} children with {adults} adults. How many coaches
            with {seats} seats must be booked?
        calculation: Children: {classes} × {pupils} = {classes * pupils}.
        calculation: People: {classes * pupils} + {adults} = {people}.
        calculation: {full} × {seats} = {full * seats}, and {people} - {full * seats} = {rest}.
        answer: {extra if rest else f"Nobody is left over, so {needed} are enough."}
    """
    return worked_problem(rng, text, needed, "hard")


def working_backwards(rng: SeededRandom) -> Problem:
    name, food = rng.choice(NAMES), rng.choice(BAKED)
    left, bought, eaten = rng.randint(5, 25), rng.randint(2, 15), rng.randint(2, 9)
    before_bought = left + eaten - bought
    while before_bought < 2:
        left += 10
        before_bought = left + eaten - bought
    start = before_bought * 2
    text = f"""
        prompt: {name} sold half of the {food.many}, then baked {bought} more and ate {eaten}. Now there are
            {left}. How many {food.many} were there at first?
        prompt: Half of a number of {food.many} is given away. Then {bought} are added and {eaten} are eaten,
            which leaves {left}. How many {food.many} were there at the start?
        setup: Undo the steps from the end.
        calculation: Before eating: {left} + {eaten} = {left + eaten}.
        calculation: Before adding: {left + eaten} - {bought} = {before_bought}.
        answer: Before halving: 2 × {before_bought} = {start}.
    """
    return worked_problem(rng, text, start, "hard")


def sharing_equally(rng: SeededRandom) -> Problem:
    food, bags = rng.choice(FOODS), rng.randint(3, 9)
    per_bag, people = rng.randint(6, 15), rng.randint(3, 8)
    total = bags * per_bag
    each, kept = divmod(total, people)
    answer = f"answer: {total} ÷ {people} = {each}."
    if kept:
        answer = f"""
        calculation: {people} × {each} = {total - kept}, and {total} - {total - kept} = {kept} stay over.
        answer: Since {kept} is less than {people}, each gets {each}.
        """
    text = f"""
        prompt: {bags} bags hold {per_bag} {food.many} each. {counted(people, noun("child", "children"))}
            share them equally, as many as possible. How many {food.many} does each child get?
        prompt: All the {food.many} from {bags} bags with {per_bag} in each are shared equally among
            {people} guests. How many does every guest get at most?
        calculation: In all: {bags} × {per_bag} = {total}.
        {answer}
    """
    return worked_problem(rng, text, each, "medium")


def posts_and_gaps(rng: SeededRandom) -> Problem:
    gap, gaps = rng.randint(3, 15), rng.randint(6, 40)
    what = rng.choice(("lamp posts", "trees", "flags", "fence posts"))
    length = gap * gaps
    text = f"""
        prompt: Along a straight road of {length} m stand {what} every {gap} m, one at each end. How many
            {what} are there?
        prompt: A straight path is {length} m long. {what.capitalize()} are set {gap} m apart, with one at the
            start and one at the end. How many are needed?
        calculation: Gaps: {length} ÷ {gap} = {gaps}.
        answer: There is one more than the gaps: {gaps} + 1 = {gaps + 1}.
    """
    return worked_problem(rng, text, gaps + 1, "medium")


def overtime_pay(rng: SeededRandom) -> Problem:
    name, wage = rng.choice(NAMES), rng.randint(6, 15) * 2
    normal, extra = rng.randint(30, 40), rng.randint(2, 10)
    higher = wage * 3 // 2
    base, bonus = wage * normal, higher * extra
    text = f"""
        prompt: {name} earns ${wage} an hour for the first {normal} hours of a week and ${higher} for every
            hour after that. How many dollars does {name} earn in a week of {normal + extra} hours?
        prompt: The wage is ${wage} an hour up to {normal} hours and ${higher} an hour beyond. What does a
            week of {normal + extra} hours pay, in dollars?
        calculation: Normal hours: {normal} × ${wage} = ${base}.
        calculation: Extra hours: {normal + extra} - {normal} = {extra}.
        calculation: Extra pay: {extra} × ${higher} = ${bonus}.
        answer: ${base} + ${bonus} = ${base + bonus}.
    """
    return worked_problem(rng, text, f"${base + bonus}", "medium")


def overlapping_groups(rng: SeededRandom) -> Problem:
    both, only_a, only_b, neither = (rng.randint(3, 15) for _ in range(4))
    a, b, total = both + only_a, both + only_b, both + only_a + only_b + neither
    first, second = rng.sample(("chess", "football", "painting", "robotics", "singing", "rowing"), 2)
    either = a + b - both
    text = f"""
        prompt: Of {total} pupils, {a} are in the {first} club, {b} in the {second} club and {both} in both.
            How many are in neither?
        prompt: In a group of {total} people, {a} signed up for {first}, {b} for {second}, and {both} for
            both. How many chose neither of them?
        setup: Those who are in both groups are counted twice, so take them off once.
        calculation: At least one: {a} + {b} - {both} = {either}.
        answer: Neither: {total} - {either} = {neither}.
    """
    return worked_problem(rng, text, neither, "hard")


WORD_PROBLEMS = families(
    "word_problem", "reasoning",
    gains_and_losses, times_as_many, rows_and_buses, working_backwards, sharing_equally, posts_and_gaps,
    overtime_pay, overlapping_groups,
)  # fmt: skip
