"""Divisors, primes, remainders, sequences and sums."""

from math import gcd, isqrt, prod

from tunix_rt.problems.family import (
    FOODS,
    Problem,
    SeededRandom,
    families,
    noun,
    ordinal,
    row,
    worked_problem,
)


def greatest_common_divisor(rng: SeededRandom) -> Problem:
    common = rng.randint(2, 15)
    smaller = common * rng.randint(3, 14)
    larger = smaller + common * rng.randint(2, 20)
    a, b, divisions = larger, smaller, []
    while b:
        divisions.append(f"calculation: {a} = {a // b} × {b} + {a % b}.")
        a, b = b, a % b
    answer = f"The last remainder that is not 0 is the divisor: {a}."
    if len(divisions) == 1:
        answer = f"The remainder is 0 at once, so the greatest common divisor is {a}."
    euclid = "\n".join(divisions)
    text = f"""
        prompt: Find the greatest common divisor of {larger} and {smaller}.
        prompt: What is the largest whole number that divides both {smaller} and {larger}?
        prompt: Two ropes are {larger} cm and {smaller} cm long. They are cut into equal pieces, as long as
            possible, with nothing left over. How long is each piece, in cm?
        setup: Divide the larger by the smaller and go on with the remainder until it is 0.
        {euclid}
        answer: {answer}
    """
    return worked_problem(rng, text, a, "medium")


def least_common_multiple(rng: SeededRandom) -> Problem:
    a, b = sorted(rng.sample(range(4, 31), 2))
    common = gcd(a, b)
    text = f"""
        prompt: What is the least common multiple of {a} and {b}?
        prompt: One light blinks every {a} seconds, another every {b} seconds. They blink together now. After
            how many seconds do they blink together again?
        prompt: Buses leave every {a} minutes on one line and every {b} minutes on another. Both leave now. In
            how many minutes do both leave at the same time again?
        setup: The least common multiple is the product divided by the greatest common divisor.
        calculation: The greatest common divisor of {a} and {b} is {common}.
        calculation: The product is {a} × {b} = {a * b}.
        answer: {a * b} ÷ {common} = {a * b // common}.
    """
    return worked_problem(rng, text, a * b // common, "medium")


def prime_test(rng: SeededRandom) -> Problem:
    number = rng.choice([n for n in range(31, 240) if n % 2 and n % 5])
    root = isqrt(number)
    tried, is_prime = [], True
    for prime in (p for p in (2, 3, 5, 7, 11, 13) if p <= root):
        quotient, remainder = divmod(number, prime)
        if remainder == 0:
            tried.append(f"calculation: {number} = {prime} × {quotient}, so {prime} divides it.")
            is_prime = False
            break
        division = f"{number} = {prime} × {quotient} + {remainder}"
        tried.append(f"calculation: {division}, so {prime} does not divide it.")
    verdict = f"{number} has a divisor other than 1 and itself: no, it is not prime."
    if is_prime:
        verdict = f"No prime up to {root} divides {number}: yes, it is prime."
    divisions = "\n".join(tried)
    text = f"""
        prompt: Is {number} a prime number? Answer yes or no.
        prompt: Decide whether {number} is prime (yes or no).
        setup: {root + 1} × {root + 1} = {(root + 1) ** 2} is more than {number}, so test primes up to {root}.
        {divisions}
        answer: {verdict}
    """
    return worked_problem(rng, text, "yes" if is_prime else "no", "medium")


def prime_factors(rng: SeededRandom) -> Problem:
    factors = sorted(rng.choice((2, 2, 3, 3, 5, 7, 11, 13)) for _ in range(rng.randint(3, 5)))
    product = " × ".join(map(str, factors))
    number, rest, lines = prod(factors), prod(factors), []
    for factor in factors:
        lines.append(f"calculation: {rest} ÷ {factor} = {rest // factor}.")
        rest //= factor
    divisions = "\n".join(lines)
    text = f"""
        prompt: Write {number} as a product of primes, smallest first, in the form 'a × b × …'.
        prompt: What is the prime factorisation of {number}? Give the primes in rising order joined by '×'.
        setup: Divide {number} by its smallest prime factor again and again.
        {divisions}
        check: Check: {product} = {number}.
        answer: In rising order: {product}.
    """
    return worked_problem(rng, text, product, "medium" if len(factors) < 5 else "hard")


def digit_sum_rule(rng: SeededRandom) -> Problem:
    number, divisor = rng.randint(1_000, 99_999), rng.choice((3, 9))
    digits = str(number)
    total = sum(int(digit) for digit in digits)
    divides = total % divisor == 0
    relation = f"{total} = {divisor} × {total // divisor}" + ("" if divides else f" + {total % divisor}")
    verdict = "yes" if divides else "no"
    text = f"""
        prompt: Is {number} divisible by {divisor}? Use the digit sum and answer yes or no.
        prompt: Without dividing, decide whether {divisor} divides {number} (yes or no).
        setup: A number is divisible by {divisor} exactly when its digit sum is.
        calculation: The digit sum is {" + ".join(digits)} = {total}.
        calculation: {relation}, so {total} is {"" if divides else "not "}divisible by {divisor}.
        answer: The answer is {verdict}.
    """
    return worked_problem(rng, text, verdict)


def packing_remainder(rng: SeededRandom) -> Problem:
    per_box, food = rng.randint(6, 15), rng.choice(FOODS)
    box = rng.choice((noun("box", "boxes"), noun("tray"), noun("crate")))
    total = per_box * rng.randint(5, 25) + rng.randint(1, per_box - 1)
    boxes, rest = divmod(total, per_box)
    text = f"""
        prompt: A shop packs {total} {food.many} into {box.many} of {per_box}. How many {food.many} are left
            over?
        prompt: {total} {food.many} are put into {box.many} that hold {per_box} each. After filling as many
            {box.many} as possible, how many {food.many} remain?
        calculation: {boxes} full {box.many} hold {boxes} × {per_box} = {boxes * per_box}.
        check: One more {box.one} would need {boxes * per_box} + {per_box} = {boxes * per_box + per_box}, too
            many.
        answer: {total} - {boxes * per_box} = {rest}, so the number left over is {rest}.
    """
    return worked_problem(rng, text, rest)


def clock_hours(rng: SeededRandom) -> Problem:
    start, hours = rng.randint(1, 12), rng.randint(15, 100)
    rounds, rest = divmod(hours, 12)
    moved = start + rest
    shown = moved - 12 if moved > 12 else moved
    past_twelve = f"calculation: {moved} - 12 = {shown}." if moved > 12 else ""
    text = f"""
        prompt: A twelve-hour clock shows {start} o'clock. Which hour does it show {hours} hours later?
        prompt: It is {start} o'clock on a wall clock. What hour will the clock show after {hours} hours?
        setup: A wall clock repeats every 12 hours, so only the remainder counts.
        calculation: {hours} = {rounds} × 12 + {rest}.
        calculation: {start} + {rest} = {moved}.
        {past_twelve}
        answer: The clock shows {shown} o'clock.
    """
    return worked_problem(rng, text, shown, "medium")


def multiples_in_range(rng: SeededRandom) -> Problem:
    step, low, high = rng.randint(3, 12), rng.randint(10, 60), rng.randint(90, 300)
    below, upto = (low - 1) // step, high // step
    text = f"""
        prompt: How many multiples of {step} are there from {low} to {high}, both included?
        prompt: Count the whole numbers between {low} and {high} (inclusive) that are divisible by {step}.
        calculation: {step} × {upto} = {step * upto} is the last multiple up to {high}, so there are {upto}
            from 1 on.
        calculation: {step} × {below} = {step * below} is the last multiple below {low}, so {below} of them do
            not count.
        answer: {upto} - {below} = {upto - below}.
    """
    return worked_problem(rng, text, upto - below, "hard")


NUMBER_THEORY = families(
    "number_theory", "reasoning",
    greatest_common_divisor, least_common_multiple, prime_test, prime_factors, digit_sum_rule,
    packing_remainder, clock_hours, multiples_in_range,
)  # fmt: skip


def arithmetic_term(rng: SeededRandom) -> Problem:
    first, gap, position = rng.randint(2, 30), rng.randint(2, 15), rng.randint(9, 40)
    terms = [first + gap * step for step in range(4)]
    moved = gap * (position - 1)
    text = f"""
        prompt: The sequence {row(terms)}, … goes on in the same way. What is its {ordinal(position)} term?
        prompt: Find term number {position} of the arithmetic sequence {row(terms)}, …
        calculation: The difference is {terms[1]} - {terms[0]} = {gap}.
        calculation: Term {position} is {position} - 1 = {position - 1} steps after the first.
        calculation: {position - 1} × {gap} = {moved}.
        answer: {first} + {moved} = {first + moved}.
    """
    return worked_problem(rng, text, first + moved, "medium")


def geometric_next(rng: SeededRandom) -> Problem:
    first, factor = rng.randint(2, 9), rng.randint(2, 4)
    terms = [first * factor**step for step in range(6)]
    text = f"""
        prompt: Each term of {row(terms[:4])}, … is the same multiple of the one before. What is the 6th
            term?
        prompt: In the geometric sequence {row(terms[:4])}, …, which number is the 6th term?
        calculation: The factor is {terms[1]} ÷ {terms[0]} = {factor}.
        calculation: The 5th term is {terms[3]} × {factor} = {terms[4]}.
        answer: The 6th term is {terms[4]} × {factor} = {terms[5]}.
    """
    return worked_problem(rng, text, terms[5], "medium")


def sum_to_n(rng: SeededRandom) -> Problem:
    last = rng.randint(11, 80)
    product = last * (last + 1)
    text = f"""
        prompt: What is the sum of all whole numbers from 1 to {last}?
        prompt: A stack has 1 log in the top row, 2 in the next, and so on down to {last} logs. How many logs
            are there?
        setup: The numbers from 1 to n add up to n × (n + 1) ÷ 2.
        calculation: {last} × {last + 1} = {product}.
        answer: {product} ÷ 2 = {product // 2}.
    """
    return worked_problem(rng, text, product // 2, "medium")


def sum_of_two_before(rng: SeededRandom) -> Problem:
    terms = [rng.randint(1, 9), rng.randint(2, 12)]
    lines = []
    for position in range(3, 8):
        a, b = terms[-2:]
        terms.append(a + b)
        lines.append(f"calculation: Term {position}: {a} + {b} = {a + b}.")
    additions = "\n".join(lines)
    text = f"""
        prompt: In the sequence {row(terms[:5])}, … each term is the sum of the two before it. What is the 7th
            term?
        prompt: A sequence starts {row(terms[:2])} and every later term is the sum of the two before it. Find
            the 7th term.
        {additions}
    """
    return worked_problem(rng, text, terms[6])


def growing_differences(rng: SeededRandom) -> Problem:
    first, gap, growth = rng.randint(1, 20), rng.randint(2, 6), rng.randint(1, 4)
    gaps = [gap + growth * step for step in range(5)]
    terms = [first]
    for step in gaps:
        terms.append(terms[-1] + step)
    pairs = [f"{terms[i + 1]} - {terms[i]} = {gaps[i]}" for i in range(4)]
    text = f"""
        prompt: What comes next: {row(terms[:5])}, …?
        prompt: Continue the pattern {row(terms[:5])}, … by one number.
        calculation: The differences are {", ".join(pairs)}.
        calculation: They grow by {growth}, so the next difference is {gaps[3]} + {growth} = {gaps[4]}.
        answer: {terms[4]} + {gaps[4]} = {terms[5]}.
    """
    return worked_problem(rng, text, terms[5], "medium")


SEQUENCES = families(
    "sequences", "reasoning",
    arithmetic_term, geometric_next, sum_to_n, sum_of_two_before, growing_differences,
)  # fmt: skip
