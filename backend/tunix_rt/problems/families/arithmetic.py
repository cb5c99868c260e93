"""Column arithmetic, long division, ordering and writing numbers."""

from fractions import Fraction

from tunix_rt.problems.family import Problem, SeededRandom, decimal, families, row, worked_problem

_PLACES = ("ones", "tens", "hundreds", "thousands", "10000s")


def column_addition(rng: SeededRandom) -> Problem:
    num_digits = rng.randint(2, 4)
    left, right = (rng.randint(10 ** (num_digits - 1), 10**num_digits - 1) for _ in range(2))
    total = left + right
    text = f"""
        prompt: Add {left} and {right} column by column.
        prompt: Work out {left} + {right}, carrying where needed.
        prompt: What do you get when you add {right} to {left}?
        setup: Write {left} above {right} and add each column from the right.
        {_added_columns(left, right, num_digits)}
        answer: So {left} + {right} = {total}.
        check: Check: {total} - {right} = {left}.
    """
    return worked_problem(rng, text, total, "easy" if num_digits == 2 else "medium")


def _added_columns(left: int, right: int, num_digits: int) -> str:
    carry, lines = 0, []
    for place in range(num_digits):
        upper, lower = left // 10**place % 10, right // 10**place % 10
        column = upper + lower + carry
        carried = f" + {carry}" if carry else ""
        carry = column // 10
        outcome = f"write {column % 10} and carry 1" if carry else f"write {column}"
        lines.append(f"calculation: The {_PLACES[place]}: {upper} + {lower}{carried} = {column}, {outcome}.")
    return "\n".join(lines)


def column_subtraction(rng: SeededRandom) -> Problem:
    num_digits = rng.randint(2, 4)
    numbers = sorted(rng.randint(10 ** (num_digits - 1), 10**num_digits - 1) for _ in range(2))
    right, left = numbers[0], numbers[1] + 1
    rest = left - right
    text = f"""
        prompt: Subtract {right} from {left} column by column.
        prompt: Work out {left} - {right}, borrowing where needed.
        prompt: How much is left when {right} is taken away from {left}?
        setup: Write {left} above {right} and subtract each column from the right.
        {_subtracted_columns(left, right)}
        answer: So {left} - {right} = {rest}.
        check: Check: {rest} + {right} = {left}.
    """
    return worked_problem(rng, text, rest, "easy" if left < 100 else "medium")


def _subtracted_columns(left: int, right: int) -> str:
    borrow, lines = 0, []
    for place in range(len(str(left))):
        upper, lower = left // 10**place % 10, right // 10**place % 10
        owed = f" - {borrow}" if borrow else ""
        borrow = 1 if upper - borrow < lower else 0
        upper += 10 * borrow
        digit = (left - right) // 10**place % 10
        outcome = f"write {digit} and borrow 1" if borrow else f"write {digit}"
        lines.append(f"calculation: The {_PLACES[place]}: {upper}{owed} - {lower} = {digit}, {outcome}.")
    return "\n".join(lines)


def partial_products(rng: SeededRandom) -> Problem:
    left, tens, ones = rng.randint(12, 389), rng.randint(1, 9) * 10, rng.randint(1, 9)
    right = tens + ones
    text = f"""
        prompt: Multiply {left} by {right} using partial products.
        prompt: What is the product of {left} and {right}?
        prompt: Find {left} × {right} by splitting {right} into tens and ones.
        setup: Split the second number: {right} = {tens} + {ones}.
        calculation: Tens part: {left} × {tens} = {left * tens}.
        calculation: Ones part: {left} × {ones} = {left * ones}.
        answer: Together: {left * tens} + {left * ones} = {left * right}.
    """
    return worked_problem(rng, text, left * right, "easy" if left < 100 else "medium")


def long_division(rng: SeededRandom) -> Problem:
    dividend, divisor = rng.randint(123, 7890), rng.randint(3, 9)
    quotient, remainder = divmod(dividend, divisor)
    rest, lines = 0, []
    for digit in str(dividend):
        part = rest * 10 + int(digit)
        fits, rest = divmod(part, divisor)
        down = f"Bring down {digit} to get {part}: {divisor} × {fits} = {divisor * fits}"
        lines.append(f"calculation: {down}, and {part} - {divisor * fits} = {rest}. Write {fits}.")
    divisions = "\n".join(lines)
    text = f"""
        prompt: Divide {dividend} by {divisor}. Give the quotient and the remainder as 'q r m'.
        prompt: Use long division for {dividend} ÷ {divisor} and answer in the form 'q r m'.
        setup: Take the digits of {dividend} from the left and divide by {divisor}.
        {divisions}
        check: Check: {divisor} × {quotient} + {remainder} = {dividend}.
        answer: The quotient is {quotient} and the remainder is {remainder}: {quotient} r {remainder}.
    """
    return worked_problem(rng, text, f"{quotient} r {remainder}", "medium")


def order_of_operations(rng: SeededRandom) -> Problem:
    a, b, c, d = rng.randint(11, 60), rng.randint(2, 12), rng.randint(2, 12), rng.randint(2, 10)
    product = b * c
    inner = b + c
    forms = (
        (f"{a} + {b} × {c} - {d}", f"{b} × {c} = {product}", f"{a} + {product} = {a + product}",
         f"{a + product} - {d} = {a + product - d}", a + product - d),
        (f"{a} × ({b} + {c}) - {d}", f"{b} + {c} = {inner}", f"{a} × {inner} = {a * inner}",
         f"{a * inner} - {d} = {a * inner - d}", a * inner - d),
        (f"{product} ÷ {b} + {a} × {d}", f"{product} ÷ {b} = {c}", f"{a} × {d} = {a * d}",
         f"{c} + {a * d} = {c + a * d}", c + a * d),
    )  # fmt: skip
    expression, first, second, third, value = rng.choice(forms)
    rule = "Parentheses come first, then multiplication and division, then addition and subtraction."
    text = f"""
        prompt: Evaluate {expression}.
        prompt: What is the value of {expression}?
        setup: {rule}
        calculation: First: {first}.
        calculation: Next: {second}.
        answer: Last: {third}.
    """
    return worked_problem(rng, text, value, "medium")


def signed_changes(rng: SeededRandom) -> Problem:
    start, fall, rise = rng.randint(2, 12), rng.randint(14, 30), rng.randint(3, 9)
    low = start - fall
    text = f"""
        prompt: At noon it is {start} °C. By midnight the temperature falls by {fall} degrees and by dawn it
            rises by {rise} degrees. What is the temperature at dawn, in °C?
        prompt: A lift starts at floor {start}, goes down {fall} floors and then up {rise} floors. On which
            floor does it stop?
        prompt: A diver's drone hovers {start} m above the sea, descends {fall} m and then climbs {rise} m. At
            which height above sea level is it, in m?
        calculation: After the way down: {start} - {fall} = {low}.
        calculation: After the way up: {low} + {rise} = {low + rise}.
        answer: The final value is {low + rise}.
    """
    return worked_problem(rng, text, low + rise, "medium")


def decimal_sum(rng: SeededRandom) -> Problem:
    left = Fraction(rng.randint(101, 4999), 100)
    right = Fraction(rng.randint(11, 499), 10)
    total = left + right
    left_cents, right_cents = int(left * 100), int(right * 100)
    text = f"""
        prompt: What is {decimal(left)} + {decimal(right)}?
        prompt: Add the decimals {decimal(left)} and {decimal(right)}.
        setup: Count in hundredths: {left_cents} hundredths and {right_cents} hundredths.
        calculation: {left_cents} + {right_cents} = {left_cents + right_cents}.
        answer: {left_cents + right_cents} ÷ 100 = {decimal(total)}.
    """
    return worked_problem(rng, text, decimal(total))


def rounding(rng: SeededRandom) -> Problem:
    unit = rng.choice((10, 100, 1000))
    low = rng.randint(2, 40) * unit
    above = rng.choice(
        [step for step in range(unit // 10 or 1, unit, max(1, unit // 100)) if step * 2 != unit]
    )
    number, high = low + above, low + unit
    nearest = low if above * 2 < unit else high
    place = {10: "ten", 100: "hundred", 1000: "thousand"}[unit]
    text = f"""
        prompt: Round {number} to the nearest {place}.
        prompt: Which multiple of {unit} is closest to {number}?
        setup: {number} lies between {low} and {high}.
        calculation: The distances are {number} - {low} = {above} and {high} - {number} = {unit - above}.
        answer: The smaller distance is {min(above, unit - above)}, so the nearest {place} is {nearest}.
    """
    return worked_problem(rng, text, nearest)


def square_by_splitting(rng: SeededRandom) -> Problem:
    tens, ones = rng.randint(1, 9) * 10, rng.randint(1, 9)
    number = tens + ones
    text = f"""
        prompt: What is {number} squared?
        prompt: Work out {number} × {number} without a calculator.
        setup: Split the number: {number} = {tens} + {ones}.
        calculation: Square the parts: {tens} × {tens} = {tens**2} and {ones} × {ones} = {ones**2}.
        calculation: The cross term counts twice: 2 × {tens} × {ones} = {2 * tens * ones}.
        answer: {tens**2} + {2 * tens * ones} + {ones**2} = {number**2}.
    """
    return worked_problem(rng, text, number**2, "medium")


ARITHMETIC = families(
    "arithmetic", "reasoning",
    column_addition, column_subtraction, partial_products, long_division, order_of_operations,
    signed_changes, decimal_sum, rounding, square_by_splitting,
)  # fmt: skip

_ROMAN = ((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))


def sort_numbers(rng: SeededRandom) -> Problem:
    numbers = rng.sample(range(10, 500), rng.randint(4, 6))
    first, last = ("largest", "smallest") if rng.chance(40) else ("smallest", "largest")
    ordered = sorted(numbers, reverse=first == "largest")
    lines = []
    for position in range(1, len(ordered) - 1):
        left = [number for number in numbers if number in ordered[position:]]
        lines.append(f"process: The {first} of the remaining {row(left)} is {ordered[position]}.")
    selections = "\n".join(lines)
    text = f"""
        prompt: Sort these numbers from {first} to {last}: {row(numbers)}.
        prompt: Arrange {row(numbers)} from {first} to {last}.
        process: The {first} of {row(numbers)} is {ordered[0]}.
        {selections}
        answer: In order: {row(ordered)}.
    """
    return worked_problem(rng, text, row(ordered))


def compare_decimals(rng: SeededRandom) -> Problem:
    whole = rng.randint(0, 9)
    tenths = rng.randint(3, 9)
    short = whole + Fraction(tenths, 10)
    long = whole + Fraction(rng.choice([n for n in range(11, 100) if n % 10 and n != tenths * 10]), 100)
    larger = max(short, long)
    pair = rng.shuffled([decimal(short), decimal(long)])
    padded = f"{decimal(short)}0"
    text = f"""
        prompt: Which number is larger, {pair[0]} or {pair[1]}?
        prompt: Which is the greater of {pair[0]} and {pair[1]}?
        setup: Write both with two decimals: {decimal(short)} = {padded}, and {decimal(long)} stays.
        process: In hundredths they are {int(short * 100)} and {int(long * 100)}.
        answer: {int(larger * 100)} is more, so {decimal(larger)} is larger.
    """
    return worked_problem(rng, text, decimal(larger))


def to_binary(rng: SeededRandom) -> Problem:
    number = rng.randint(17, 120)
    halved = [number >> bit for bit in range(number.bit_length())]
    halvings = "\n".join(f"process: {rest} = 2 × {rest // 2} + {rest % 2}." for rest in halved)
    text = f"""
        prompt: Write {number} in binary.
        prompt: What is {number} in base 2?
        setup: Halve again and again; the remainders, read from last to first, are the binary digits.
        {halvings}
        answer: Read from last to first: {number:b}.
    """
    return worked_problem(rng, text, f"{number:b}", "hard")


def from_binary(rng: SeededRandom) -> Problem:
    number = rng.randint(9, 120)
    binary = f"{number:b}"
    values = [1 << place for place, digit in enumerate(reversed(binary)) if digit == "1"][::-1]
    total = f"{' + '.join(map(str, values))} = {number}." if len(values) > 1 else f"The value is {number}."
    text = f"""
        prompt: What is the binary number {binary} in base ten?
        prompt: Convert {binary} from base 2 to base 10.
        setup: The places of {binary} are worth {row([1 << n for n in reversed(range(len(binary)))])}.
        process: The places with a 1 are worth {row(values)}.
        answer: {total}
    """
    return worked_problem(rng, text, number, "medium")


def to_roman(rng: SeededRandom) -> Problem:
    number = rng.randint(12, 199)
    parts: list[tuple[int, str]] = []
    rest = number
    for value, letters in _ROMAN:
        while rest >= value:
            parts.append((value, letters))
            rest -= value
    numeral = "".join(letters for _, letters in parts)
    text = f"""
        prompt: Write {number} as a Roman numeral.
        prompt: What is {number} in Roman numerals?
        process: Split the number: {number} = {" + ".join(str(value) for value, _ in parts)}.
        process: As letters: {", ".join(f"{value} is {letters}" for value, letters in parts)}.
        answer: Joined together: {numeral}.
    """
    return worked_problem(rng, text, numeral, "medium")


def filter_numbers(rng: SeededRandom) -> Problem:
    numbers = rng.sample(range(2, 60), rng.randint(6, 8))
    rule, passes = rng.choice((("even", 0), ("odd", 1)))
    kept = [number for number in numbers if number % 2 == passes]
    while len(kept) < 2:
        numbers.append(rng.choice([n for n in range(60, 90) if n not in numbers and n % 2 == passes]))
        kept = [number for number in numbers if number % 2 == passes]
    text = f"""
        prompt: Add up the {rule} numbers in this list: {row(numbers)}.
        prompt: What is the sum of the {rule} numbers among {row(numbers)}?
        process: The {rule} numbers are {row(kept)}.
        answer: {" + ".join(map(str, kept))} = {sum(kept)}.
    """
    return worked_problem(rng, text, sum(kept))


NUMBER_WRITING = families(
    "number_writing", "synthetic",
    sort_numbers, compare_decimals, to_binary, from_binary, to_roman, filter_numbers,
)  # fmt: skip
