"""Units, clock times and calendars."""

from datetime import date, timedelta
from fractions import Fraction

from tunix_rt.core.generation.dice import Dice
from tunix_rt.core.generation.english import NAMES, counted, decimal, noun
from tunix_rt.core.generation.family import Worked, families

# (larger unit, smaller unit, smaller units in a larger one)
_UNITS = (
    (noun("kilometre"), noun("metre"), 1000),
    (noun("metre"), noun("centimetre"), 100),
    (noun("kilogram"), noun("gram"), 1000),
    (noun("litre"), noun("millilitre"), 1000),
    (noun("hour"), noun("minute"), 60),
    (noun("day"), noun("hour"), 24),
    (noun("foot", "feet"), noun("inch", "inches"), 12),
    (noun("week"), noun("day"), 7),
    (noun("minute"), noun("second"), 60),
    (noun("yard"), noun("foot", "feet"), 3),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip


def mixed_units(dice: Dice) -> Worked:
    """A length, mass or time given in two units, wanted in the smaller one."""
    large, small, factor = dice.pick(_UNITS)
    amount, extra = dice.between(2, 14), dice.between(1, factor - 1)
    total = amount * factor + extra
    given = f"{counted(amount, large)} and {counted(extra, small)}"
    prompt = dice.pick((f"How many {small.many} are {given}?", f"Convert {given} to {small.many}."))
    steps = (
        ("setup", f"1 {large.one} has {factor} {small.many}."),
        ("calculation", f"{amount} × {factor} = {amount * factor}."),
        ("answer", f"{amount * factor} + {extra} = {total}."),
    )
    return Worked(prompt, steps, str(total), "easy")


def metric_decimal(dice: Dice) -> Worked:
    """A metric amount in the smaller unit, wanted in the larger one."""
    large, small, factor = dice.pick(_UNITS[:4])
    amount = dice.pick([n for n in range(2, 96) if n % 20]) * factor // 20
    value = Fraction(amount, factor)
    prompt = dice.pick(
        (
            f"How many {large.many} are {amount} {small.many}? Give a decimal.",
            f"Write {amount} {small.many} in {large.many} as a decimal number.",
        )
    )
    steps = (
        ("setup", f"1 {large.one} has {factor} {small.many}, so divide by {factor}."),
        ("answer", f"{amount} ÷ {factor} = {decimal(value)}."),
        ("check", f"Check: {decimal(value)} × {factor} = {amount}."),
    )
    return Worked(prompt, steps, decimal(value), "easy")


def temperature_scale(dice: Dice) -> Worked:
    """Celsius to Fahrenheit or back, with whole degrees."""
    fifths = dice.between(-4, 20)
    celsius, fahrenheit = fifths * 5, fifths * 9 + 32
    if dice.chance(50):
        prompt = dice.pick((f"What is {celsius} °C in degrees Fahrenheit?", f"Convert {celsius} °C to °F."))
        steps = (
            ("setup", "Fahrenheit is nine fifths of Celsius plus 32."),
            ("calculation", f"{celsius} × 9 ÷ 5 = {fifths * 9}."),
            ("answer", f"{fifths * 9} + 32 = {fahrenheit}."),
        )
        return Worked(prompt, steps, str(fahrenheit), "medium")
    prompt = dice.pick((f"What is {fahrenheit} °F in degrees Celsius?", f"Convert {fahrenheit} °F to °C."))
    steps = (
        ("setup", "Celsius is five ninths of Fahrenheit less 32."),
        ("calculation", f"{fahrenheit} - 32 = {fifths * 9}."),
        ("answer", f"{fifths * 9} × 5 ÷ 9 = {celsius}."),
    )
    return Worked(prompt, steps, str(celsius), "medium")


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def elapsed_time(dice: Dice) -> Worked:
    """Minutes between two clock times of one day."""
    start = dice.between(5, 12) * 60 + dice.between(1, 59)
    length = dice.between(35, 400)
    end = start + length
    what = dice.pick(("A film", "A flight", "A concert", "A hike", "An exam"))
    prompt = dice.pick(
        (
            f"{what} starts at {_clock(start)} and ends at {_clock(end)} on the same day. How many "
            "minutes does it last?",
            f"How many minutes are there from {_clock(start)} to {_clock(end)} on the same day?",
        )
    )
    steps = (
        ("calculation", f"The start is {start // 60} × 60 + {start % 60} = {start} minutes after midnight."),
        ("calculation", f"The end is {end // 60} × 60 + {end % 60} = {end} minutes after midnight."),
        ("answer", f"{end} - {start} = {length} minutes."),
    )
    return Worked(prompt, steps, str(length), "medium")


def arrival_time(dice: Dice) -> Worked:
    """A clock time some minutes later, across hours."""
    start = dice.between(6, 15) * 60 + dice.between(0, 59)
    hours, minutes = dice.between(1, 5), dice.between(5, 55)
    end = start + hours * 60 + minutes
    name = dice.pick(NAMES)
    prompt = dice.pick(
        (
            f"{name} leaves at {_clock(start)} and travels for {counted(hours, noun('hour'))} and "
            f"{minutes} minutes. "
            "At what time (HH:MM) does the trip end?",
            f"What time (HH:MM) is it {counted(hours, noun('hour'))} and {minutes} minutes after "
            f"{_clock(start)}?",
        )
    )
    steps = (
        ("calculation", f"The start is {start // 60} × 60 + {start % 60} = {start} minutes after midnight."),
        ("calculation", f"The trip takes {hours} × 60 + {minutes} = {hours * 60 + minutes} minutes."),
        ("calculation", f"{start} + {hours * 60 + minutes} = {end} minutes after midnight."),
        ("answer", f"{end} = {end // 60} × 60 + {end % 60}, which is {_clock(end)}."),
    )
    return Worked(prompt, steps, _clock(end), "hard")


def weekday_after(dice: Dice) -> Worked:
    """The weekday a number of days ahead."""
    start, days = dice.between(0, 6), dice.between(15, 120)
    weeks, rest = divmod(days, 7)
    end = _DAYS[(start + rest) % 7]
    prompt = dice.pick(
        (
            f"Today is {_DAYS[start]}. Which day of the week is it in {days} days?",
            f"A parcel is sent on a {_DAYS[start]} and arrives {days} days later. On which weekday does "
            "it arrive?",
        )
    )
    passed = [_DAYS[(start + step) % 7] for step in range(rest + 1)]
    walk = f"{counted(rest, noun('day'))} on from {_DAYS[start]}: {', '.join(passed)}."
    steps = (
        ("setup", "The weekdays repeat every 7 days, so only the remainder counts."),
        ("calculation", f"{days} = {weeks} × 7 + {rest}."),
        ("answer", walk if rest else f"The remainder is 0, so it is {end} again."),
    )
    return Worked(prompt, steps, end, "medium")


def days_between(dice: Dice) -> Worked:
    """Days from one date to another in the next month."""
    first = date(2023, dice.between(1, 11), 1)
    start = first + timedelta(days=dice.between(4, 24))
    last = date(2023, first.month + 1, 1) - timedelta(days=1)
    end = last + timedelta(days=dice.between(3, 26))
    length = (end - start).days
    left = last.day - start.day
    prompt = dice.pick(
        (
            f"How many days after {_MONTHS[start.month - 1]} {start.day}, 2023 is "
            f"{_MONTHS[end.month - 1]} {end.day}, 2023?",
            f"A plant is sown on {_MONTHS[start.month - 1]} {start.day}, 2023 and sprouts on "
            f"{_MONTHS[end.month - 1]} "
            f"{end.day}, 2023. How many days does that take?",
        )
    )
    steps = (
        ("setup", f"{_MONTHS[start.month - 1]} 2023 has {last.day} days."),
        ("calculation", f"Days left in {_MONTHS[start.month - 1]}: {last.day} - {start.day} = {left}."),
        ("answer", f"With {end.day} days of {_MONTHS[end.month - 1]}: {left} + {end.day} = {length}."),
    )
    return Worked(prompt, steps, str(length), "hard")


MEASURES = families(
    "measures", "reasoning",
    mixed_units, metric_decimal, temperature_scale, elapsed_time, arrival_time, weekday_after, days_between,
)  # fmt: skip
