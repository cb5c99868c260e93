"""Column arithmetic, long division, ordering and writing numbers."""

from fractions import Fraction

from tunix_rt.problems.family import Problem, SeededRandom, decimal, families

_PLACES = ("ones", "tens", "hundreds", "thousands")


def column_addition(rng: SeededRandom) -> Problem:
    """Two numbers of two to four digits, column by column with carries."""
    num_digits = rng.randint(2, 4)
    left, right = (rng.randint(10 ** (num_digits - 1), 10**num_digits - 1) for _ in range(2))
    prompt = rng.choice(
        (
            f"Add {left} and {right} column by column.",
            f"Work out {left} + {right}, carrying where needed.",
            f"What do you get when you add {right} to {left}?",
        )
    )
    total = left + right
    steps = [("setup", f"Write {left} above {right} and add each column from the right.")]
    steps += [("calculation", text) for text in _added_columns(left, right, num_digits)]
    steps += [("answer", f"So {left} + {right} = {total}."), ("check", f"Check: {total} - {right} = {left}.")]
    return Problem(prompt, tuple(steps), str(total), "easy" if num_digits == 2 else "medium")


def _added_columns(left: int, right: int, num_digits: int) -> list[str]:
    carry, texts = 0, []
    for place in range(num_digits):
        upper, lower = left // 10**place % 10, right // 10**place % 10
        column = upper + lower + carry
        carried = f" + {carry}" if carry else ""
        carry = column // 10
        outcome = f"write {column % 10} and carry 1" if carry else f"write {column}"
        texts.append(f"The {_PLACES[place]}: {upper} + {lower}{carried} = {column}, {outcome}.")
    return texts


def column_subtraction(rng: SeededRandom) -> Problem:
    """A larger number minus a smaller one, column by column with borrows."""
    num_digits = rng.randint(2, 4)
    numbers = sorted(rng.randint(10 ** (num_digits - 1), 10**num_digits - 1) for _ in range(2))
    right, left = numbers[0], numbers[1] + 1
    num_digits = len(str(left))
    prompt = rng.choice(
        (
            f"Subtract {right} from {left} column by column.",
            f"Work out {left} - {right}, borrowing where needed.",
            f"How much is left when {right} is taken away from {left}?",
        )
    )
    rest = left - right
    steps = [("setup", f"Write {left} above {right} and subtract each column from the right.")]
    steps += [("calculation", text) for text in _subtracted_columns(left, right, num_digits)]
    steps += [("answer", f"So {left} - {right} = {rest}."), ("check", f"Check: {rest} + {right} = {left}.")]
    return Problem(prompt, tuple(steps), str(rest), "easy" if num_digits == 2 else "medium")


def _subtracted_columns(left: int, right: int, num_digits: int) -> list[str]:
    borrow, texts = 0, []
    for place in range(num_digits):
        upper, lower = left // 10**place % 10, right // 10**place % 10
        owed = f" - {borrow}" if borrow else ""
        borrow = 1 if upper - borrow < lower else 0
        upper += 10 * borrow
        digit = (left - right) // 10**place % 10
        outcome = f"write {digit} and borrow 1" if borrow else f"write {digit}"
        texts.append(f"The {_place(place)}: {upper}{owed} - {lower} = {digit}, {outcome}.")
    return texts


def _place(place: int) -> str:
    return _PLACES[place] if place < len(_PLACES) else f"{10**place}s"


def partial_products(rng: SeededRandom) -> Problem:
    """A product of two numbers through tens and ones."""
    left, tens, ones = rng.randint(12, 389), rng.randint(1, 9) * 10, rng.randint(1, 9)
    right = tens + ones
    prompt = rng.choice(
        (
            f"Multiply {left} by {right} using partial products.",
            f"What is the product of {left} and {right}?",
            f"Find {left} × {right} by splitting {right} into tens and ones.",
        )
    )
    steps = (
        ("setup", f"Split the second number: {right} = {tens} + {ones}."),
        ("calculation", f"Tens part: {left} × {tens} = {left * tens}."),
        ("calculation", f"Ones part: {left} × {ones} = {left * ones}."),
        ("answer", f"Together: {left * tens} + {left * ones} = {left * right}."),
    )
    return Problem(prompt, steps, str(left * right), "easy" if left < 100 else "medium")


def long_division(rng: SeededRandom) -> Problem:
    """A three- or four-digit number divided by one digit, with the remainder."""
    dividend, divisor = rng.randint(123, 7890), rng.randint(3, 9)
    quotient, remainder = divmod(dividend, divisor)
    prompt = rng.choice(
        (
            f"Divide {dividend} by {divisor}. Give the quotient and the remainder as 'q r m'.",
            f"Use long division for {dividend} ÷ {divisor} and answer in the form 'q r m'.",
        )
    )
    steps = [("setup", f"Take the digits of {dividend} from the left and divide by {divisor}.")]
    rest = 0
    for digit in str(dividend):
        part = rest * 10 + int(digit)
        fits, rest = divmod(part, divisor)
        text = f"Bring down {digit} to get {part}: {divisor} × {fits} = {divisor * fits}, and {part} - "
        steps.append(("calculation", f"{text}{divisor * fits} = {rest}. Write {fits}."))
    steps.append(("check", f"Check: {divisor} × {quotient} + {remainder} = {dividend}."))
    steps.append(
        ("answer", f"The quotient is {quotient} and the remainder is {remainder}: {quotient} r {remainder}.")
    )
    return Problem(prompt, tuple(steps), f"{quotient} r {remainder}", "medium")


def order_of_operations(rng: SeededRandom) -> Problem:
    """An expression where the order of the operations decides."""
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
    prompt = rng.choice((f"Evaluate {expression}.", f"What is the value of {expression}?"))
    rule = "Parentheses come first, then multiplication and division, then addition and subtraction."
    steps = (
        ("setup", rule),
        ("calculation", f"First: {first}."),
        ("calculation", f"Next: {second}."),
        ("answer", f"Last: {third}."),
    )
    return Problem(prompt, steps, str(value), "medium")


def signed_changes(rng: SeededRandom) -> Problem:
    """A value that falls below zero and rises again."""
    start, fall, rise = rng.randint(2, 12), rng.randint(14, 30), rng.randint(3, 9)
    low = start - fall
    prompt = rng.choice(
        (
            f"At noon it is {start} °C. "
            f"By midnight the temperature falls by {fall} degrees and by dawn it rises by {rise} degrees. "
            "What is the temperature at dawn, in °C?",
            f"A lift starts at floor {start}, goes down {fall} floors and then up {rise} floors. "
            "On which floor does it stop?",
            f"A diver's drone hovers {start} m above the sea, descends {fall} m and then climbs {rise} m. "
            "At which height above sea level is it, in m?",
        )
    )
    steps = (
        ("calculation", f"After the way down: {start} - {fall} = {low}."),
        ("calculation", f"After the way up: {low} + {rise} = {low + rise}."),
        ("answer", f"The final value is {low + rise}."),
    )
    return Problem(prompt, steps, str(low + rise), "medium")


def decimal_sum(rng: SeededRandom) -> Problem:
    """Two decimals with different numbers of places."""
    left = Fraction(rng.randint(101, 4999), 100)
    right = Fraction(rng.randint(11, 499), 10)
    total = left + right
    left_cents, right_cents = int(left * 100), int(right * 100)
    prompt = rng.choice(
        (
            f"What is {decimal(left)} + {decimal(right)}?",
            f"Add the decimals {decimal(left)} and {decimal(right)}.",
        )
    )
    steps = (
        ("setup", f"Count in hundredths: {left_cents} hundredths and {right_cents} hundredths."),
        ("calculation", f"{left_cents} + {right_cents} = {left_cents + right_cents}."),
        ("answer", f"{left_cents + right_cents} ÷ 100 = {decimal(total)}."),
    )
    return Problem(prompt, steps, decimal(total), "easy")


def rounding(rng: SeededRandom) -> Problem:
    """The nearest ten, hundred or thousand, found by the two distances."""
    unit = rng.choice((10, 100, 1000))
    low = rng.randint(2, 40) * unit
    above = rng.choice(
        [step for step in range(unit // 10 or 1, unit, max(1, unit // 100)) if step * 2 != unit]
    )
    number, high = low + above, low + unit
    nearest = low if above * 2 < unit else high
    place = {10: "ten", 100: "hundred", 1000: "thousand"}[unit]
    prompt = rng.choice(
        (f"Round {number} to the nearest {place}.", f"Which multiple of {unit} is closest to {number}?")
    )
    steps = (
        ("setup", f"{number} lies between {low} and {high}."),
        (
            "calculation",
            f"The distances are {number} - {low} = {above} and {high} - {number} = {unit - above}.",
        ),
        (
            "answer",
            f"The smaller distance is {min(above, unit - above)}, so the nearest {place} is {nearest}.",
        ),
    )
    return Problem(prompt, steps, str(nearest), "easy")


def square_by_splitting(rng: SeededRandom) -> Problem:
    """A square of a two-digit number from the squares of its parts."""
    tens, ones = rng.randint(1, 9) * 10, rng.randint(1, 9)
    number = tens + ones
    prompt = rng.choice((f"What is {number} squared?", f"Work out {number} × {number} without a calculator."))
    steps = (
        ("setup", f"Split the number: {number} = {tens} + {ones}."),
        ("calculation", f"Square the parts: {tens} × {tens} = {tens**2} and {ones} × {ones} = {ones**2}."),
        ("calculation", f"The cross term counts twice: 2 × {tens} × {ones} = {2 * tens * ones}."),
        ("answer", f"{tens**2} + {2 * tens * ones} + {ones**2} = {number**2}."),
    )
    return Problem(prompt, steps, str(number**2), "medium")


ARITHMETIC = families(
    "arithmetic", "reasoning",
    column_addition, column_subtraction, partial_products, long_division, order_of_operations,
    signed_changes, decimal_sum, rounding, square_by_splitting,
)  # fmt: skip

_ROMAN = ((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))


def _row(numbers: list[int]) -> str:
    return ", ".join(str(number) for number in numbers)


def sort_numbers(rng: SeededRandom) -> Problem:
    """Whole numbers sorted by picking the next one each time."""
    numbers = rng.sample(range(10, 500), rng.randint(4, 6))
    falling = rng.chance(40)
    ordered = sorted(numbers, reverse=falling)
    word, way = (
        ("largest", "from largest to smallest") if falling else ("smallest", "from smallest to largest")
    )
    prompt = rng.choice((f"Sort these numbers {way}: {_row(numbers)}.", f"Arrange {_row(numbers)} {way}."))
    steps = [("process", f"The {word} of {_row(numbers)} is {ordered[0]}.")]
    for position in range(1, len(ordered) - 1):
        left = [number for number in numbers if number in ordered[position:]]
        steps.append(("process", f"The {word} of the remaining {_row(left)} is {ordered[position]}."))
    steps.append(("answer", f"In order: {_row(ordered)}."))
    return Problem(prompt, tuple(steps), _row(ordered), "easy")


def compare_decimals(rng: SeededRandom) -> Problem:
    """Decimals of different lengths, compared place by place."""
    whole = rng.randint(0, 9)
    tenths = rng.randint(3, 9)
    short = whole + Fraction(tenths, 10)
    long = whole + Fraction(rng.choice([n for n in range(11, 100) if n % 10 and n != tenths * 10]), 100)
    larger = max(short, long)
    pair = rng.shuffled([decimal(short), decimal(long)])
    prompt = rng.choice(
        (
            f"Which number is larger, {pair[0]} or {pair[1]}?",
            f"Which is the greater of {pair[0]} and {pair[1]}?",
        )
    )
    padded = f"{decimal(short)}0"
    steps = (
        ("setup", f"Write both with two decimals: {decimal(short)} = {padded}, and {decimal(long)} stays."),
        ("process", f"In hundredths they are {int(short * 100)} and {int(long * 100)}."),
        ("answer", f"{int(larger * 100)} is more, so {decimal(larger)} is larger."),
    )
    return Problem(prompt, steps, decimal(larger), "easy")


def to_binary(rng: SeededRandom) -> Problem:
    """A number in base two, by halving."""
    number = rng.randint(17, 120)
    binary = f"{number:b}"
    prompt = rng.choice((f"Write {number} in binary.", f"What is {number} in base 2?"))
    steps = [
        ("setup", "Halve again and again; the remainders, read from last to first, are the binary digits.")
    ]
    rest = number
    while rest:
        steps.append(("process", f"{rest} = 2 × {rest // 2} + {rest % 2}."))
        rest //= 2
    steps.append(("answer", f"Read from last to first: {binary}."))
    return Problem(prompt, tuple(steps), binary, "hard")


def from_binary(rng: SeededRandom) -> Problem:
    """A binary number in base ten, by place values."""
    number = rng.randint(9, 120)
    binary = f"{number:b}"
    values = [1 << place for place, digit in enumerate(reversed(binary)) if digit == "1"][::-1]
    prompt = rng.choice(
        (f"What is the binary number {binary} in base ten?", f"Convert {binary} from base 2 to base 10.")
    )
    total = f"{' + '.join(map(str, values))} = {number}." if len(values) > 1 else f"The value is {number}."
    steps = (
        (
            "setup",
            f"The places of {binary} are worth {_row([1 << n for n in reversed(range(len(binary)))])}.",
        ),
        ("process", f"The places with a 1 are worth {_row(values)}."),
        ("answer", total),
    )
    return Problem(prompt, steps, str(number), "medium")


def to_roman(rng: SeededRandom) -> Problem:
    """A number as a Roman numeral."""
    number = rng.randint(12, 199)
    parts: list[tuple[int, str]] = []
    rest = number
    for value, letters in _ROMAN:
        while rest >= value:
            parts.append((value, letters))
            rest -= value
    numeral = "".join(letters for _, letters in parts)
    prompt = rng.choice((f"Write {number} as a Roman numeral.", f"What is {number} in Roman numerals?"))
    steps = (
        ("process", f"Split the number: {number} = {' + '.join(str(value) for value, _ in parts)}."),
        ("process", f"As letters: {', '.join(f'{value} is {letters}' for value, letters in parts)}."),
        ("answer", f"Joined together: {numeral}."),
    )
    return Problem(prompt, steps, numeral, "medium")


def filter_numbers(rng: SeededRandom) -> Problem:
    """The sum of the numbers that pass a test."""
    numbers = rng.sample(range(2, 60), rng.randint(6, 8))
    rule, passes = rng.choice((("even", 0), ("odd", 1)))
    kept = [number for number in numbers if number % 2 == passes]
    while len(kept) < 2:
        numbers.append(rng.choice([n for n in range(60, 90) if n not in numbers and n % 2 == passes]))
        kept = [number for number in numbers if number % 2 == passes]
    prompt = rng.choice(
        (
            f"Add up the {rule} numbers in this list: {_row(numbers)}.",
            f"What is the sum of the {rule} numbers among {_row(numbers)}?",
        )
    )
    steps = (
        ("process", f"The {rule} numbers are {_row(kept)}."),
        ("answer", f"{' + '.join(map(str, kept))} = {sum(kept)}."),
    )
    return Problem(prompt, steps, str(sum(kept)), "easy")


NUMBER_WRITING = families(
    "number_writing", "synthetic",
    sort_numbers, compare_decimals, to_binary, from_binary, to_roman, filter_numbers,
)  # fmt: skip
