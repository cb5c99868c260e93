"""Pure arithmetic, worked the way it is done on paper."""

from fractions import Fraction

from tunix_rt.core.generation.dice import Dice
from tunix_rt.core.generation.english import decimal
from tunix_rt.core.generation.family import Worked, families

_PLACES = ("ones", "tens", "hundreds", "thousands")


def column_addition(dice: Dice) -> Worked:
    """Two numbers of two to four digits, column by column with carries."""
    num_digits = dice.between(2, 4)
    left, right = (dice.between(10 ** (num_digits - 1), 10**num_digits - 1) for _ in range(2))
    prompt = dice.pick(
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
    return Worked(prompt, tuple(steps), str(total), "easy" if num_digits == 2 else "medium")


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


def column_subtraction(dice: Dice) -> Worked:
    """A larger number minus a smaller one, column by column with borrows."""
    num_digits = dice.between(2, 4)
    numbers = sorted(dice.between(10 ** (num_digits - 1), 10**num_digits - 1) for _ in range(2))
    right, left = numbers[0], numbers[1] + 1
    num_digits = len(str(left))
    prompt = dice.pick(
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
    return Worked(prompt, tuple(steps), str(rest), "easy" if num_digits == 2 else "medium")


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


def partial_products(dice: Dice) -> Worked:
    """A product of two numbers through tens and ones."""
    left, tens, ones = dice.between(12, 389), dice.between(1, 9) * 10, dice.between(1, 9)
    right = tens + ones
    prompt = dice.pick(
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
    return Worked(prompt, steps, str(left * right), "easy" if left < 100 else "medium")


def long_division(dice: Dice) -> Worked:
    """A three- or four-digit number divided by one digit, with the remainder."""
    dividend, divisor = dice.between(123, 7890), dice.between(3, 9)
    quotient, remainder = divmod(dividend, divisor)
    prompt = dice.pick(
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
    return Worked(prompt, tuple(steps), f"{quotient} r {remainder}", "medium")


def order_of_operations(dice: Dice) -> Worked:
    """An expression where the order of the operations decides."""
    a, b, c, d = dice.between(11, 60), dice.between(2, 12), dice.between(2, 12), dice.between(2, 10)
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
    expression, first, second, third, value = dice.pick(forms)
    prompt = dice.pick((f"Evaluate {expression}.", f"What is the value of {expression}?"))
    rule = "Parentheses come first, then multiplication and division, then addition and subtraction."
    steps = (
        ("setup", rule),
        ("calculation", f"First: {first}."),
        ("calculation", f"Next: {second}."),
        ("answer", f"Last: {third}."),
    )
    return Worked(prompt, steps, str(value), "medium")


def signed_changes(dice: Dice) -> Worked:
    """A value that falls below zero and rises again."""
    start, fall, rise = dice.between(2, 12), dice.between(14, 30), dice.between(3, 9)
    low = start - fall
    prompt = dice.pick(
        (
            f"At noon it is {start} °C. By midnight the temperature falls by {fall} degrees and by dawn it "
            f"rises by {rise} degrees. What is the temperature at dawn, in °C?",
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
    return Worked(prompt, steps, str(low + rise), "medium")


def decimal_sum(dice: Dice) -> Worked:
    """Two decimals with different numbers of places."""
    left = Fraction(dice.between(101, 4999), 100)
    right = Fraction(dice.between(11, 499), 10)
    total = left + right
    left_cents, right_cents = int(left * 100), int(right * 100)
    prompt = dice.pick(
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
    return Worked(prompt, steps, decimal(total), "easy")


def rounding(dice: Dice) -> Worked:
    """The nearest ten, hundred or thousand, found by the two distances."""
    unit = dice.pick((10, 100, 1000))
    low = dice.between(2, 40) * unit
    above = dice.pick(
        [step for step in range(unit // 10 or 1, unit, max(1, unit // 100)) if step * 2 != unit]
    )
    number, high = low + above, low + unit
    nearest = low if above * 2 < unit else high
    place = {10: "ten", 100: "hundred", 1000: "thousand"}[unit]
    prompt = dice.pick(
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
    return Worked(prompt, steps, str(nearest), "easy")


def square_by_splitting(dice: Dice) -> Worked:
    """A square of a two-digit number from the squares of its parts."""
    tens, ones = dice.between(1, 9) * 10, dice.between(1, 9)
    number = tens + ones
    prompt = dice.pick((f"What is {number} squared?", f"Work out {number} × {number} without a calculator."))
    steps = (
        ("setup", f"Split the number: {number} = {tens} + {ones}."),
        ("calculation", f"Square the parts: {tens} × {tens} = {tens**2} and {ones} × {ones} = {ones**2}."),
        ("calculation", f"The cross term counts twice: 2 × {tens} × {ones} = {2 * tens * ones}."),
        ("answer", f"{tens**2} + {2 * tens * ones} + {ones**2} = {number**2}."),
    )
    return Worked(prompt, steps, str(number**2), "medium")


ARITHMETIC = families(
    "arithmetic", "reasoning",
    column_addition, column_subtraction, partial_products, long_division, order_of_operations,
    signed_changes, decimal_sum, rounding, square_by_splitting,
)  # fmt: skip
