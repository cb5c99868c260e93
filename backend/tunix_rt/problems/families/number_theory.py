"""Divisors, primes, remainders, sequences and sums."""

from math import gcd, isqrt

from tunix_rt.problems.family import FOODS, Problem, SeededRandom, families, noun, ordinal


def greatest_common_divisor(rng: SeededRandom) -> Problem:
    """Euclid's algorithm, one division a step."""
    common = rng.randint(2, 15)
    smaller = common * rng.randint(3, 14)
    larger = smaller + common * rng.randint(2, 20)
    prompt = rng.choice(
        (
            f"Find the greatest common divisor of {larger} and {smaller}.",
            f"What is the largest whole number that divides both {smaller} and {larger}?",
            f"Two ropes are {larger} cm and {smaller} cm long. "
            "They are cut into equal pieces, as long as possible, with nothing left over. "
            "How long is each piece, in cm?",
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
    return Problem(prompt, tuple(steps), str(a), "medium")


def least_common_multiple(rng: SeededRandom) -> Problem:
    """Through the greatest common divisor."""
    a, b = sorted(rng.sample(range(4, 31), 2))
    common = gcd(a, b)
    prompt = rng.choice(
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
    return Problem(prompt, steps, str(a * b // common), "medium")


def prime_test(rng: SeededRandom) -> Problem:
    """Trial division by the primes up to the square root."""
    number = rng.choice([n for n in range(31, 240) if n % 2 and n % 5])
    prompt = rng.choice(
        (f"Is {number} a prime number? Answer yes or no.", f"Decide whether {number} is prime (yes or no).")
    )
    root = isqrt(number)
    steps = [
        (
            "setup",
            f"{root + 1} × {root + 1} = {(root + 1) ** 2} is more than {number}, "
            f"so test primes up to {root}.",
        )
    ]
    for prime in (p for p in (2, 3, 5, 7, 11, 13) if p <= root):
        quotient, remainder = divmod(number, prime)
        if remainder == 0:
            steps.append(("calculation", f"{number} = {prime} × {quotient}, so {prime} divides it."))
            steps.append(("answer", f"{number} has a divisor other than 1 and itself: no, it is not prime."))
            return Problem(prompt, tuple(steps), "no", "medium")
        steps.append(
            ("calculation", f"{number} = {prime} × {quotient} + {remainder}, so {prime} does not divide it.")
        )
    steps.append(("answer", f"No prime up to {root} divides {number}: yes, it is prime."))
    return Problem(prompt, tuple(steps), "yes", "medium")


def prime_factors(rng: SeededRandom) -> Problem:
    """Divide by the smallest prime until 1 is left."""
    factors = sorted(rng.choice((2, 2, 3, 3, 5, 7, 11, 13)) for _ in range(rng.randint(3, 5)))
    number = 1
    for factor in factors:
        number *= factor
    product = " × ".join(str(factor) for factor in factors)
    prompt = rng.choice(
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
    return Problem(prompt, tuple(steps), product, "medium" if len(factors) < 5 else "hard")


def digit_sum_rule(rng: SeededRandom) -> Problem:
    """Divisibility by 3 or 9 from the digit sum."""
    number, divisor = rng.randint(1_000, 99_999), rng.choice((3, 9))
    digits = str(number)
    total = sum(int(digit) for digit in digits)
    divides = total % divisor == 0
    prompt = rng.choice(
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
    return Problem(prompt, steps, verdict, "easy")


def packing_remainder(rng: SeededRandom) -> Problem:
    """What is left over after filling whole boxes."""
    per_box, food = rng.randint(6, 15), rng.choice(FOODS)
    box = rng.choice((noun("box", "boxes"), noun("tray"), noun("crate")))
    total = per_box * rng.randint(5, 25) + rng.randint(1, per_box - 1)
    boxes, rest = divmod(total, per_box)
    prompt = rng.choice(
        (
            f"A shop packs {total} {food.many} into {box.many} of {per_box}. "
            f"How many {food.many} are left over?",
            f"{total} {food.many} are put into {box.many} that hold {per_box} each. "
            f"After filling as many {box.many} as possible, how many {food.many} remain?",
        )
    )
    steps = (
        ("calculation", f"{boxes} full {box.many} hold {boxes} × {per_box} = {boxes * per_box}."),
        (
            "check",
            f"One more {box.one} would need {boxes * per_box} + {per_box} = {boxes * per_box + per_box}, "
            "too many.",
        ),
        ("answer", f"{total} - {boxes * per_box} = {rest}, so the number left over is {rest}."),
    )
    return Problem(prompt, steps, str(rest), "easy")


def clock_hours(rng: SeededRandom) -> Problem:
    """Hours on a twelve-hour clock."""
    start, hours = rng.randint(1, 12), rng.randint(15, 100)
    rounds, rest = divmod(hours, 12)
    moved = start + rest
    shown = moved - 12 if moved > 12 else moved
    prompt = rng.choice(
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
    return Problem(prompt, tuple(steps), str(shown), "medium")


def multiples_in_range(rng: SeededRandom) -> Problem:
    """How many multiples lie between two bounds."""
    step, low, high = rng.randint(3, 12), rng.randint(10, 60), rng.randint(90, 300)
    below, upto = (low - 1) // step, high // step
    prompt = rng.choice(
        (
            f"How many multiples of {step} are there from {low} to {high}, both included?",
            f"Count the whole numbers between {low} and {high} (inclusive) that are divisible by {step}.",
        )
    )
    steps = (
        (
            "calculation",
            f"{step} × {upto} = {step * upto} is the last multiple up to {high}, "
            f"so there are {upto} from 1 on.",
        ),
        (
            "calculation",
            f"{step} × {below} = {step * below} is the last multiple below {low}, "
            f"so {below} of them do not count.",
        ),
        ("answer", f"{upto} - {below} = {upto - below}."),
    )
    return Problem(prompt, steps, str(upto - below), "hard")


NUMBER_THEORY = families(
    "number_theory", "reasoning",
    greatest_common_divisor, least_common_multiple, prime_test, prime_factors, digit_sum_rule,
    packing_remainder, clock_hours, multiples_in_range,
)  # fmt: skip


def _shown(terms: list[int]) -> str:
    return ", ".join(str(term) for term in terms)


def arithmetic_term(rng: SeededRandom) -> Problem:
    """A far term of a sequence with a constant difference."""
    first, gap, position = rng.randint(2, 30), rng.randint(2, 15), rng.randint(9, 40)
    terms = [first + gap * step for step in range(4)]
    moved = gap * (position - 1)
    prompt = rng.choice(
        (
            f"The sequence {_shown(terms)}, … goes on in the same way. What is its {ordinal(position)} term?",
            f"Find term number {position} of the arithmetic sequence {_shown(terms)}, …",
        )
    )
    steps = (
        ("calculation", f"The difference is {terms[1]} - {terms[0]} = {gap}."),
        ("calculation", f"Term {position} is {position} - 1 = {position - 1} steps after the first."),
        ("calculation", f"{position - 1} × {gap} = {moved}."),
        ("answer", f"{first} + {moved} = {first + moved}."),
    )
    return Problem(prompt, steps, str(first + moved), "medium")


def geometric_next(rng: SeededRandom) -> Problem:
    """The term after the next of a sequence with a constant factor."""
    first, factor = rng.randint(2, 9), rng.randint(2, 4)
    terms = [first * factor**step for step in range(6)]
    prompt = rng.choice(
        (
            f"Each term of {_shown(terms[:4])}, … is the same multiple of the one before. "
            "What is the 6th term?",
            f"In the geometric sequence {_shown(terms[:4])}, …, which number is the 6th term?",
        )
    )
    steps = (
        ("calculation", f"The factor is {terms[1]} ÷ {terms[0]} = {factor}."),
        ("calculation", f"The 5th term is {terms[3]} × {factor} = {terms[4]}."),
        ("answer", f"The 6th term is {terms[4]} × {factor} = {terms[5]}."),
    )
    return Problem(prompt, steps, str(terms[5]), "medium")


def sum_to_n(rng: SeededRandom) -> Problem:
    """The sum of the first whole numbers by pairing."""
    last = rng.randint(11, 80)
    prompt = rng.choice(
        (
            f"What is the sum of all whole numbers from 1 to {last}?",
            f"A stack has 1 log in the top row, 2 in the next, and so on down to {last} logs. "
            "How many logs are there?",
        )
    )
    product = last * (last + 1)
    steps = (
        ("setup", "The numbers from 1 to n add up to n × (n + 1) ÷ 2."),
        ("calculation", f"{last} × {last + 1} = {product}."),
        ("answer", f"{product} ÷ 2 = {product // 2}."),
    )
    return Problem(prompt, steps, str(product // 2), "medium")


def sum_of_two_before(rng: SeededRandom) -> Problem:
    """Each term is the sum of the two before it."""
    terms = [rng.randint(1, 9), rng.randint(2, 12)]
    while len(terms) < 7:
        terms.append(terms[-1] + terms[-2])
    prompt = rng.choice(
        (
            f"In the sequence {_shown(terms[:5])}, … each term is the sum of the two before it. "
            "What is the 7th term?",
            f"A sequence starts {_shown(terms[:2])} and every later term is the sum of the two before it. "
            "Find the 7th term.",
        )
    )
    steps = [
        ("calculation", f"Term {i + 1}: {terms[i - 2]} + {terms[i - 1]} = {terms[i]}.") for i in range(2, 7)
    ]
    return Problem(prompt, tuple(steps), str(terms[6]), "easy")


def growing_differences(rng: SeededRandom) -> Problem:
    """A sequence whose differences grow by a constant."""
    first, gap, growth = rng.randint(1, 20), rng.randint(2, 6), rng.randint(1, 4)
    gaps = [gap + growth * step for step in range(5)]
    terms = [first]
    for step in gaps:
        terms.append(terms[-1] + step)
    prompt = rng.choice(
        (
            f"What comes next: {_shown(terms[:5])}, …?",
            f"Continue the pattern {_shown(terms[:5])}, … by one number.",
        )
    )
    pairs = [f"{terms[i + 1]} - {terms[i]} = {gaps[i]}" for i in range(4)]
    steps = (
        ("calculation", f"The differences are {', '.join(pairs)}."),
        (
            "calculation",
            f"They grow by {growth}, so the next difference is {gaps[3]} + {growth} = {gaps[4]}.",
        ),
        ("answer", f"{terms[4]} + {gaps[4]} = {terms[5]}."),
    )
    return Problem(prompt, steps, str(terms[5]), "medium")


SEQUENCES = families(
    "sequences", "reasoning",
    arithmetic_term, geometric_next, sum_to_n, sum_of_two_before, growing_differences,
)  # fmt: skip
