"""Ordering numbers and writing them in other ways."""

from fractions import Fraction

from tunix_rt.core.generation.dice import Dice
from tunix_rt.core.generation.english import decimal
from tunix_rt.core.generation.family import Worked, families

_ROMAN = ((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))


def _row(numbers: list[int]) -> str:
    return ", ".join(str(number) for number in numbers)


def sort_numbers(dice: Dice) -> Worked:
    """Whole numbers sorted by picking the next one each time."""
    numbers = dice.sample(range(10, 500), dice.between(4, 6))
    falling = dice.chance(40)
    ordered = sorted(numbers, reverse=falling)
    word, way = (
        ("largest", "from largest to smallest") if falling else ("smallest", "from smallest to largest")
    )
    prompt = dice.pick((f"Sort these numbers {way}: {_row(numbers)}.", f"Arrange {_row(numbers)} {way}."))
    steps = [("process", f"The {word} of {_row(numbers)} is {ordered[0]}.")]
    for position in range(1, len(ordered) - 1):
        left = [number for number in numbers if number in ordered[position:]]
        steps.append(("process", f"The {word} of the remaining {_row(left)} is {ordered[position]}."))
    steps.append(("answer", f"In order: {_row(ordered)}."))
    return Worked(prompt, tuple(steps), _row(ordered), "easy")


def compare_decimals(dice: Dice) -> Worked:
    """Decimals of different lengths, compared place by place."""
    whole = dice.between(0, 9)
    tenths = dice.between(3, 9)
    short = whole + Fraction(tenths, 10)
    long = whole + Fraction(dice.pick([n for n in range(11, 100) if n % 10 and n != tenths * 10]), 100)
    larger = max(short, long)
    pair = dice.shuffled([decimal(short), decimal(long)])
    prompt = dice.pick(
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
    return Worked(prompt, steps, decimal(larger), "easy")


def to_binary(dice: Dice) -> Worked:
    """A number in base two, by halving."""
    number = dice.between(17, 120)
    binary = f"{number:b}"
    prompt = dice.pick((f"Write {number} in binary.", f"What is {number} in base 2?"))
    steps = [
        ("setup", "Halve again and again; the remainders, read from last to first, are the binary digits.")
    ]
    rest = number
    while rest:
        steps.append(("process", f"{rest} = 2 × {rest // 2} + {rest % 2}."))
        rest //= 2
    steps.append(("answer", f"Read from last to first: {binary}."))
    return Worked(prompt, tuple(steps), binary, "hard")


def from_binary(dice: Dice) -> Worked:
    """A binary number in base ten, by place values."""
    number = dice.between(9, 120)
    binary = f"{number:b}"
    values = [1 << place for place, digit in enumerate(reversed(binary)) if digit == "1"][::-1]
    prompt = dice.pick(
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
    return Worked(prompt, steps, str(number), "medium")


def to_roman(dice: Dice) -> Worked:
    """A number as a Roman numeral."""
    number = dice.between(12, 199)
    parts: list[tuple[int, str]] = []
    rest = number
    for value, letters in _ROMAN:
        while rest >= value:
            parts.append((value, letters))
            rest -= value
    numeral = "".join(letters for _, letters in parts)
    prompt = dice.pick((f"Write {number} as a Roman numeral.", f"What is {number} in Roman numerals?"))
    steps = (
        ("process", f"Split the number: {number} = {' + '.join(str(value) for value, _ in parts)}."),
        ("process", f"As letters: {', '.join(f'{value} is {letters}' for value, letters in parts)}."),
        ("answer", f"Joined together: {numeral}."),
    )
    return Worked(prompt, steps, numeral, "medium")


def filter_numbers(dice: Dice) -> Worked:
    """The sum of the numbers that pass a test."""
    numbers = dice.sample(range(2, 60), dice.between(6, 8))
    rule, passes = dice.pick((("even", 0), ("odd", 1)))
    kept = [number for number in numbers if number % 2 == passes]
    while len(kept) < 2:
        numbers.append(dice.pick([n for n in range(60, 90) if n not in numbers and n % 2 == passes]))
        kept = [number for number in numbers if number % 2 == passes]
    prompt = dice.pick(
        (
            f"Add up the {rule} numbers in this list: {_row(numbers)}.",
            f"What is the sum of the {rule} numbers among {_row(numbers)}?",
        )
    )
    steps = (
        ("process", f"The {rule} numbers are {_row(kept)}."),
        ("answer", f"{' + '.join(map(str, kept))} = {sum(kept)}."),
    )
    return Worked(prompt, steps, str(sum(kept)), "easy")


NUMBER_WRITING = families(
    "number_writing", "synthetic",
    sort_numbers, compare_decimals, to_binary, from_binary, to_roman, filter_numbers,
)  # fmt: skip
