"""Divisors, primes and remainders."""

from math import gcd, isqrt

from tunix_rt.core.generation.dice import Dice
from tunix_rt.core.generation.english import FOODS, noun
from tunix_rt.core.generation.family import Worked, families


def greatest_common_divisor(dice: Dice) -> Worked:
    """Euclid's algorithm, one division a step."""
    common = dice.between(2, 15)
    smaller = common * dice.between(3, 14)
    larger = smaller + common * dice.between(2, 20)
    prompt = dice.pick(
        (
            f"Find the greatest common divisor of {larger} and {smaller}.",
            f"What is the largest whole number that divides both {smaller} and {larger}?",
            f"Two ropes are {larger} cm and {smaller} cm long. They are cut into equal pieces, as long as "
            "possible, with nothing left over. How long is each piece, in cm?",
        )
    )
    steps = [("setup", "Divide the larger by the smaller and go on with the remainder until it is 0.")]
    a, b = larger, smaller
    while b:
        steps.append(("calculation", f"{a} = {a // b} × {b} + {a % b}."))
        a, b = b, a % b
    steps.append(("answer", f"The last remainder that is not 0 is the divisor: {a}."))
    if len(steps) == 3:
        steps[-1] = ("answer", f"The remainder is 0 at once, so the greatest common divisor is {a}.")
    return Worked(prompt, tuple(steps), str(a), "medium")


def least_common_multiple(dice: Dice) -> Worked:
    """Through the greatest common divisor."""
    a, b = sorted(dice.sample(range(4, 31), 2))
    common = gcd(a, b)
    prompt = dice.pick(
        (
            f"What is the least common multiple of {a} and {b}?",
            f"One light blinks every {a} seconds, another every {b} seconds. They blink together now. "
            "After how many seconds do they blink together again?",
            f"Buses leave every {a} minutes on one line and every {b} minutes on another. Both leave now. "
            "In how many minutes do both leave at the same time again?",
        )
    )
    steps = (
        ("setup", "The least common multiple is the product divided by the greatest common divisor."),
        ("calculation", f"The greatest common divisor of {a} and {b} is {common}."),
        ("calculation", f"The product is {a} × {b} = {a * b}."),
        ("answer", f"{a * b} ÷ {common} = {a * b // common}."),
    )
    return Worked(prompt, steps, str(a * b // common), "medium")


def prime_test(dice: Dice) -> Worked:
    """Trial division by the primes up to the square root."""
    number = dice.pick([n for n in range(31, 240) if n % 2 and n % 5])
    prompt = dice.pick(
        (f"Is {number} a prime number? Answer yes or no.", f"Decide whether {number} is prime (yes or no).")
    )
    root = isqrt(number)
    steps = [
        (
            "setup",
            f"{root + 1} × {root + 1} = {(root + 1) ** 2} is more than {number}, so test primes up to "
            f"{root}.",
        )
    ]
    for prime in (p for p in (2, 3, 5, 7, 11, 13) if p <= root):
        quotient, remainder = divmod(number, prime)
        if remainder == 0:
            steps.append(("calculation", f"{number} = {prime} × {quotient}, so {prime} divides it."))
            steps.append(("answer", f"{number} has a divisor other than 1 and itself: no, it is not prime."))
            return Worked(prompt, tuple(steps), "no", "medium")
        steps.append(
            ("calculation", f"{number} = {prime} × {quotient} + {remainder}, so {prime} does not divide it.")
        )
    steps.append(("answer", f"No prime up to {root} divides {number}: yes, it is prime."))
    return Worked(prompt, tuple(steps), "yes", "medium")


def prime_factors(dice: Dice) -> Worked:
    """Divide by the smallest prime until 1 is left."""
    factors = sorted(dice.pick((2, 2, 3, 3, 5, 7, 11, 13)) for _ in range(dice.between(3, 5)))
    number = 1
    for factor in factors:
        number *= factor
    product = " × ".join(str(factor) for factor in factors)
    prompt = dice.pick(
        (
            f"Write {number} as a product of primes, smallest first, in the form 'a × b × …'.",
            f"What is the prime factorisation of {number}? Give the primes in rising order joined by '×'.",
        )
    )
    steps = [("setup", f"Divide {number} by its smallest prime factor again and again.")]
    rest = number
    for factor in factors:
        steps.append(("calculation", f"{rest} ÷ {factor} = {rest // factor}."))
        rest //= factor
    steps.append(("check", f"Check: {product} = {number}."))
    steps.append(("answer", f"In rising order: {product}."))
    return Worked(prompt, tuple(steps), product, "medium" if len(factors) < 5 else "hard")


def digit_sum_rule(dice: Dice) -> Worked:
    """Divisibility by 3 or 9 from the digit sum."""
    number, divisor = dice.between(1_000, 99_999), dice.pick((3, 9))
    digits = str(number)
    total = sum(int(digit) for digit in digits)
    divides = total % divisor == 0
    prompt = dice.pick(
        (
            f"Is {number} divisible by {divisor}? Use the digit sum and answer yes or no.",
            f"Without dividing, decide whether {divisor} divides {number} (yes or no).",
        )
    )
    relation = f"{total} = {divisor} × {total // divisor}" + ("" if divides else f" + {total % divisor}")
    verdict = "yes" if divides else "no"
    steps = (
        ("setup", f"A number is divisible by {divisor} exactly when its digit sum is."),
        ("calculation", f"The digit sum is {' + '.join(digits)} = {total}."),
        ("calculation", f"{relation}, so {total} is {'' if divides else 'not '}divisible by {divisor}."),
        ("answer", f"The answer is {verdict}."),
    )
    return Worked(prompt, steps, verdict, "easy")


def packing_remainder(dice: Dice) -> Worked:
    """What is left over after filling whole boxes."""
    per_box, food, box = (
        dice.between(6, 15),
        dice.pick(FOODS),
        dice.pick((noun("box", "boxes"), noun("tray"), noun("crate"))),
    )
    total = per_box * dice.between(5, 25) + dice.between(1, per_box - 1)
    boxes, rest = divmod(total, per_box)
    prompt = dice.pick(
        (
            f"A shop packs {total} {food.many} into {box.many} of {per_box}. How many {food.many} are "
            "left over?",
            f"{total} {food.many} are put into {box.many} that hold {per_box} each. After filling as "
            f"many {box.many} as "
            f"possible, how many {food.many} remain?",
        )
    )
    steps = (
        ("calculation", f"{boxes} full {box.many} hold {boxes} × {per_box} = {boxes * per_box}."),
        (
            "check",
            f"One more {box.one} would need {boxes * per_box} + {per_box} = "
            f"{boxes * per_box + per_box}, too many.",
        ),
        ("answer", f"{total} - {boxes * per_box} = {rest}, so the number left over is {rest}."),
    )
    return Worked(prompt, steps, str(rest), "easy")


def clock_hours(dice: Dice) -> Worked:
    """Hours on a twelve-hour clock."""
    start, hours = dice.between(1, 12), dice.between(15, 100)
    rounds, rest = divmod(hours, 12)
    moved = start + rest
    shown = moved - 12 if moved > 12 else moved
    prompt = dice.pick(
        (
            f"A twelve-hour clock shows {start} o'clock. Which hour does it show {hours} hours later?",
            f"It is {start} o'clock on a wall clock. What hour will the clock show after {hours} hours?",
        )
    )
    steps = [
        ("setup", "A wall clock repeats every 12 hours, so only the remainder counts."),
        ("calculation", f"{hours} = {rounds} × 12 + {rest}."),
        ("calculation", f"{start} + {rest} = {moved}."),
    ]
    if moved > 12:
        steps.append(("calculation", f"{moved} - 12 = {shown}."))
    steps.append(("answer", f"The clock shows {shown} o'clock."))
    return Worked(prompt, tuple(steps), str(shown), "medium")


def multiples_in_range(dice: Dice) -> Worked:
    """How many multiples lie between two bounds."""
    step, low, high = dice.between(3, 12), dice.between(10, 60), dice.between(90, 300)
    below, upto = (low - 1) // step, high // step
    prompt = dice.pick(
        (
            f"How many multiples of {step} are there from {low} to {high}, both included?",
            f"Count the whole numbers between {low} and {high} (inclusive) that are divisible by {step}.",
        )
    )
    steps = (
        (
            "calculation",
            f"{step} × {upto} = {step * upto} is the last multiple up to {high}, so there are {upto} "
            "from 1 on.",
        ),
        (
            "calculation",
            f"{step} × {below} = {step * below} is the last multiple below {low}, so {below} of them do "
            "not count.",
        ),
        ("answer", f"{upto} - {below} = {upto - below}."),
    )
    return Worked(prompt, steps, str(upto - below), "hard")


NUMBER_THEORY = families(
    "number_theory", "reasoning",
    greatest_common_divisor, least_common_multiple, prime_test, prime_factors, digit_sum_rule,
    packing_remainder, clock_hours, multiples_in_range,
)  # fmt: skip
