"""Lengths, areas, units, clocks and calendars."""

from datetime import date, timedelta
from fractions import Fraction

from tunix_rt.problems.family import (
    NAMES,
    Problem,
    SeededRandom,
    counted,
    decimal,
    families,
    money,
    noun,
    with_article,
)

_PLOTS = ("garden", "field", "playground", "meadow", "courtyard")
_TRIPLES = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29), (9, 40, 41))


def rectangle(rng: SeededRandom) -> Problem:
    """Area or perimeter of a rectangle."""
    width, length, plot = rng.randint(4, 30), rng.randint(31, 70), rng.choice(_PLOTS)
    if rng.chance(50):
        prompt = rng.choice(
            (
                f"A rectangular {plot} is {length} m long and {width} m wide. "
                "What is its area in square metres?",
                f"How many square metres does a {length} m by {width} m {plot} cover?",
            )
        )
        steps = (
            ("setup", "The area of a rectangle is length times width."),
            ("answer", f"{length} × {width} = {length * width}."),
        )
        return Problem(prompt, steps, str(length * width), "easy")
    around = 2 * (length + width)
    prompt = rng.choice(
        (
            f"A rectangular {plot} is {length} m long and {width} m wide. "
            "How long is the fence around it, in metres?",
            f"What is the perimeter of a {length} m by {width} m {plot}, in metres?",
        )
    )
    steps = (
        ("calculation", f"Length and width together: {length} + {width} = {length + width}."),
        ("answer", f"Both pairs of sides: 2 × {length + width} = {around}."),
    )
    return Problem(prompt, steps, str(around), "easy")


def side_from_area(rng: SeededRandom) -> Problem:
    """The perimeter of a rectangle whose area and one side are known."""
    width, length, plot = rng.randint(4, 15), rng.randint(16, 40), rng.choice(_PLOTS)
    prompt = rng.choice(
        (
            f"A rectangular {plot} has an area of {width * length} square metres and is {width} m wide. "
            "What is its perimeter in metres?",
            f"A {plot} in the shape of a rectangle covers {width * length} square metres. "
            f"One side is {width} m. How many metres is it around?",
        )
    )
    around = 2 * (width + length)
    steps = (
        ("calculation", f"The other side: {width * length} ÷ {width} = {length}."),
        ("calculation", f"The two sides together: {width} + {length} = {width + length}."),
        ("answer", f"The perimeter: 2 × {width + length} = {around}."),
    )
    return Problem(prompt, steps, str(around), "medium")


def triangle_area(rng: SeededRandom) -> Problem:
    """Half of base times height."""
    base, height = rng.randint(2, 25) * 2, rng.randint(3, 40)
    shape = rng.choice(("triangle", "triangular sail", "triangular flag"))
    prompt = rng.choice(
        (
            f"A {shape} has a base of {base} cm and a height of {height} cm. "
            "What is its area in square centimetres?",
            f"Find the area, in square centimetres, of a {shape} that is {base} cm wide at the base "
            f"and {height} cm high.",
        )
    )
    area = base * height // 2
    steps = (
        ("setup", "The area of a triangle is half of base times height."),
        ("calculation", f"{base} × {height} = {base * height}."),
        ("answer", f"{base * height} ÷ 2 = {area}."),
    )
    return Problem(prompt, steps, str(area), "easy")


def box_volume(rng: SeededRandom) -> Problem:
    """Volume of a box and how many cubes of 1 litre fit."""
    length, width, height = (rng.randint(2, 15) for _ in range(3))
    prompt = rng.choice(
        (
            f"A box is {length} cm long, {width} cm wide and {height} cm high. "
            "What is its volume in cubic centimetres?",
            f"How many cubes with 1 cm edges fill a box of {length} cm by {width} cm by {height} cm?",
        )
    )
    base = length * width
    steps = (
        ("calculation", f"One layer covers {length} × {width} = {base}."),
        ("answer", f"{height} layers: {base} × {height} = {base * height}."),
    )
    return Problem(prompt, steps, str(base * height), "easy")


def frame_area(rng: SeededRandom) -> Problem:
    """A large rectangle with a smaller one cut out."""
    inner_w, inner_l = rng.randint(3, 12), rng.randint(13, 22)
    outer_w, outer_l = inner_w + rng.randint(2, 8), inner_l + rng.randint(2, 8)
    outer, inner = outer_w * outer_l, inner_w * inner_l
    prompt = rng.choice(
        (
            f"A lawn of {outer_l} m by {outer_w} m has a pond of {inner_l} m by {inner_w} m in it. "
            "How many square metres of grass are there?",
            f"A picture of {inner_l} cm by {inner_w} cm is glued on a card of {outer_l} cm by {outer_w} cm. "
            "How many square centimetres of the card stay visible?",
        )
    )
    steps = (
        ("calculation", f"The large rectangle: {outer_l} × {outer_w} = {outer}."),
        ("calculation", f"The small rectangle: {inner_l} × {inner_w} = {inner}."),
        ("answer", f"{outer} - {inner} = {outer - inner}."),
    )
    return Problem(prompt, steps, str(outer - inner), "medium")


def right_triangle(rng: SeededRandom) -> Problem:
    """The third side of a right triangle with whole sides."""
    a, b, c = (side * factor for factor in (rng.randint(1, 6),) for side in rng.choice(_TRIPLES))
    prompt = rng.choice(
        (
            f"A right triangle has legs of {a} cm and {b} cm. How long is the hypotenuse, in cm?",
            f"A ladder's foot stands {a} dm from a wall and its top touches the wall {b} dm above the "
            "ground. How long is the ladder, in dm?",
            f"A rectangle is {a} m by {b} m. How long is its diagonal, in metres?",
        )
    )
    steps = (
        ("setup", "By Pythagoras, the squares of the two short sides add up to the square of the long one."),
        ("calculation", f"{a} × {a} = {a * a} and {b} × {b} = {b * b}."),
        ("calculation", f"{a * a} + {b * b} = {c * c}."),
        ("answer", f"{c} × {c} = {c * c}, so the long side is {c}."),
    )
    return Problem(prompt, steps, str(c), "hard")


def triangle_angles(rng: SeededRandom) -> Problem:
    """The third angle of a triangle."""
    first, second = rng.randint(21, 85), rng.randint(21, 85)
    prompt = rng.choice(
        (
            f"Two angles of a triangle are {first}° and {second}°. How many degrees is the third angle?",
            f"A triangle has angles of {first} and {second} degrees. What is the remaining angle in degrees?",
        )
    )
    both = first + second
    steps = (
        ("setup", "The angles of a triangle add up to 180 degrees."),
        ("calculation", f"{first} + {second} = {both}."),
        ("answer", f"180 - {both} = {180 - both}."),
    )
    return Problem(prompt, steps, str(180 - both), "easy")


def tiling_cost(rng: SeededRandom) -> Problem:
    """Square tiles on a floor, and what they cost."""
    room = rng.choice(("kitchen", "hallway", "terrace", "office"))
    length, width, price = rng.randint(3, 9), rng.randint(2, 8), rng.randint(5, 30) * 10
    per_metre = 4
    tiles = length * width * per_metre
    prompt = rng.choice(
        (
            f"{with_article(room).capitalize()} of {length} m by {width} m is laid with square tiles "
            f"of 50 cm side. A tile costs {money(price)}. What do all the tiles cost?",
            f"Square tiles with sides of 50 cm cost {money(price)} each. "
            f"What does it cost to tile {with_article(room)} that is {length} m long and {width} m wide?",
        )
    )
    steps = (
        ("setup", f"2 × 50 cm = 100 cm, so each square metre takes 2 × 2 = {per_metre} tiles."),
        ("calculation", f"Floor: {length} × {width} = {length * width} square metres."),
        ("calculation", f"Tiles: {length * width} × {per_metre} = {tiles}."),
        ("answer", f"Cost: {tiles} × {money(price)} = {money(tiles * price)}."),
    )
    return Problem(prompt, steps, money(tiles * price), "hard")


GEOMETRY = families(
    "geometry", "reasoning",
    rectangle, side_from_area, triangle_area, box_volume, frame_area, right_triangle, triangle_angles,
    tiling_cost,
)  # fmt: skip

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


def mixed_units(rng: SeededRandom) -> Problem:
    """A length, mass or time given in two units, wanted in the smaller one."""
    large, small, factor = rng.choice(_UNITS)
    amount, extra = rng.randint(2, 14), rng.randint(1, factor - 1)
    total = amount * factor + extra
    given = f"{counted(amount, large)} and {counted(extra, small)}"
    prompt = rng.choice((f"How many {small.many} are {given}?", f"Convert {given} to {small.many}."))
    steps = (
        ("setup", f"1 {large.one} has {factor} {small.many}."),
        ("calculation", f"{amount} × {factor} = {amount * factor}."),
        ("answer", f"{amount * factor} + {extra} = {total}."),
    )
    return Problem(prompt, steps, str(total), "easy")


def metric_decimal(rng: SeededRandom) -> Problem:
    """A metric amount in the smaller unit, wanted in the larger one."""
    large, small, factor = rng.choice(_UNITS[:4])
    amount = rng.choice([n for n in range(2, 96) if n % 20]) * factor // 20
    value = Fraction(amount, factor)
    prompt = rng.choice(
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
    return Problem(prompt, steps, decimal(value), "easy")


def temperature_scale(rng: SeededRandom) -> Problem:
    """Celsius to Fahrenheit or back, with whole degrees."""
    fifths = rng.randint(-4, 20)
    celsius, fahrenheit = fifths * 5, fifths * 9 + 32
    if rng.chance(50):
        prompt = rng.choice((f"What is {celsius} °C in degrees Fahrenheit?", f"Convert {celsius} °C to °F."))
        steps = (
            ("setup", "Fahrenheit is nine fifths of Celsius plus 32."),
            ("calculation", f"{celsius} × 9 ÷ 5 = {fifths * 9}."),
            ("answer", f"{fifths * 9} + 32 = {fahrenheit}."),
        )
        return Problem(prompt, steps, str(fahrenheit), "medium")
    prompt = rng.choice((f"What is {fahrenheit} °F in degrees Celsius?", f"Convert {fahrenheit} °F to °C."))
    steps = (
        ("setup", "Celsius is five ninths of Fahrenheit less 32."),
        ("calculation", f"{fahrenheit} - 32 = {fifths * 9}."),
        ("answer", f"{fifths * 9} × 5 ÷ 9 = {celsius}."),
    )
    return Problem(prompt, steps, str(celsius), "medium")


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def elapsed_time(rng: SeededRandom) -> Problem:
    """Minutes between two clock times of one day."""
    start = rng.randint(5, 12) * 60 + rng.randint(1, 59)
    length = rng.randint(35, 400)
    end = start + length
    what = rng.choice(("A film", "A flight", "A concert", "A hike", "An exam"))
    prompt = rng.choice(
        (
            f"{what} starts at {_clock(start)} and ends at {_clock(end)} on the same day. "
            "How many minutes does it last?",
            f"How many minutes are there from {_clock(start)} to {_clock(end)} on the same day?",
        )
    )
    steps = (
        ("calculation", f"The start is {start // 60} × 60 + {start % 60} = {start} minutes after midnight."),
        ("calculation", f"The end is {end // 60} × 60 + {end % 60} = {end} minutes after midnight."),
        ("answer", f"{end} - {start} = {length} minutes."),
    )
    return Problem(prompt, steps, str(length), "medium")


def arrival_time(rng: SeededRandom) -> Problem:
    """A clock time some minutes later, across hours."""
    start = rng.randint(6, 15) * 60 + rng.randint(0, 59)
    hours, minutes = rng.randint(1, 5), rng.randint(5, 55)
    end = start + hours * 60 + minutes
    name = rng.choice(NAMES)
    prompt = rng.choice(
        (
            f"{name} leaves at {_clock(start)} and travels for {counted(hours, noun('hour'))} "
            f"and {minutes} minutes. At what time (HH:MM) does the trip end?",
            f"What time (HH:MM) is it {counted(hours, noun('hour'))} and {minutes} minutes "
            f"after {_clock(start)}?",
        )
    )
    steps = (
        ("calculation", f"The start is {start // 60} × 60 + {start % 60} = {start} minutes after midnight."),
        ("calculation", f"The trip takes {hours} × 60 + {minutes} = {hours * 60 + minutes} minutes."),
        ("calculation", f"{start} + {hours * 60 + minutes} = {end} minutes after midnight."),
        ("answer", f"{end} = {end // 60} × 60 + {end % 60}, which is {_clock(end)}."),
    )
    return Problem(prompt, steps, _clock(end), "hard")


def weekday_after(rng: SeededRandom) -> Problem:
    """The weekday a number of days ahead."""
    start, days = rng.randint(0, 6), rng.randint(15, 120)
    weeks, rest = divmod(days, 7)
    end = _DAYS[(start + rest) % 7]
    prompt = rng.choice(
        (
            f"Today is {_DAYS[start]}. Which day of the week is it in {days} days?",
            f"A parcel is sent on a {_DAYS[start]} and arrives {days} days later. "
            "On which weekday does it arrive?",
        )
    )
    passed = [_DAYS[(start + step) % 7] for step in range(rest + 1)]
    walk = f"{counted(rest, noun('day'))} on from {_DAYS[start]}: {', '.join(passed)}."
    steps = (
        ("setup", "The weekdays repeat every 7 days, so only the remainder counts."),
        ("calculation", f"{days} = {weeks} × 7 + {rest}."),
        ("answer", walk if rest else f"The remainder is 0, so it is {end} again."),
    )
    return Problem(prompt, steps, end, "medium")


def days_between(rng: SeededRandom) -> Problem:
    """Days from one date to another in the next month."""
    first = date(2023, rng.randint(1, 11), 1)
    start = first + timedelta(days=rng.randint(4, 24))
    last = date(2023, first.month + 1, 1) - timedelta(days=1)
    end = last + timedelta(days=rng.randint(3, 26))
    length = (end - start).days
    left = last.day - start.day
    prompt = rng.choice(
        (
            f"How many days after {_MONTHS[start.month - 1]} {start.day}, 2023 "
            f"is {_MONTHS[end.month - 1]} {end.day}, 2023?",
            f"A plant is sown on {_MONTHS[start.month - 1]} {start.day}, 2023 "
            f"and sprouts on {_MONTHS[end.month - 1]} {end.day}, 2023. How many days does that take?",
        )
    )
    steps = (
        ("setup", f"{_MONTHS[start.month - 1]} 2023 has {last.day} days."),
        ("calculation", f"Days left in {_MONTHS[start.month - 1]}: {last.day} - {start.day} = {left}."),
        ("answer", f"With {end.day} days of {_MONTHS[end.month - 1]}: {left} + {end.day} = {length}."),
    )
    return Problem(prompt, steps, str(length), "hard")


MEASURES = families(
    "measures", "reasoning",
    mixed_units, metric_decimal, temperature_scale, elapsed_time, arrival_time, weekday_after, days_between,
)  # fmt: skip
