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
    worked_problem,
)

_PLOTS = ("garden", "field", "playground", "meadow", "courtyard")
_TRIPLES = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29), (9, 40, 41))


def rectangle(rng: SeededRandom) -> Problem:
    width, length, plot = rng.randint(4, 30), rng.randint(31, 70), rng.choice(_PLOTS)
    if rng.chance(50):
        text = f"""
            prompt: A rectangular {plot} is {length} m long and {width} m wide. What is its area in square
                metres?
            prompt: How many square metres does a {length} m by {width} m {plot} cover?
            setup: The area of a rectangle is length times width.
            answer: {length} × {width} = {length * width}.
        """
        return worked_problem(rng, text, length * width)
    around = 2 * (length + width)
    text = f"""
        prompt: A rectangular {plot} is {length} m long and {width} m wide. How long is the fence around it,
            in metres?
        prompt: What is the perimeter of a {length} m by {width} m {plot}, in metres?
        calculation: Length and width together: {length} + {width} = {length + width}.
        answer: Both pairs of sides: 2 × {length + width} = {around}.
    """
    return worked_problem(rng, text, around)


def side_from_area(rng: SeededRandom) -> Problem:
    width, length, plot = rng.randint(4, 15), rng.randint(16, 40), rng.choice(_PLOTS)
    around = 2 * (width + length)
    text = f"""
        prompt: A rectangular {plot} has an area of {width * length} square metres and is {width} m wide. What
            is its perimeter in metres?
        prompt: A {plot} in the shape of a rectangle covers {width * length} square metres. One side is
            {width} m. How many metres is it around?
        calculation: The other side: {width * length} ÷ {width} = {length}.
        calculation: The two sides together: {width} + {length} = {width + length}.
        answer: The perimeter: 2 × {width + length} = {around}.
    """
    return worked_problem(rng, text, around, "medium")


def triangle_area(rng: SeededRandom) -> Problem:
    base, height = rng.randint(2, 25) * 2, rng.randint(3, 40)
    shape = rng.choice(("triangle", "triangular sail", "triangular flag"))
    area = base * height // 2
    text = f"""
        prompt: A {shape} has a base of {base} cm and a height of {height} cm. What is its area in square
            centimetres?
        prompt: Find the area, in square centimetres, of a {shape} that is {base} cm wide at the base and
            {height} cm high.
        setup: The area of a triangle is half of base times height.
        calculation: {base} × {height} = {base * height}.
        answer: {base * height} ÷ 2 = {area}.
    """
    return worked_problem(rng, text, area)


def box_volume(rng: SeededRandom) -> Problem:
    length, width, height = (rng.randint(2, 15) for _ in range(3))
    base = length * width
    text = f"""
        prompt: A box is {length} cm long, {width} cm wide and {height} cm high. What is its volume in cubic
            centimetres?
        prompt: How many cubes with 1 cm edges fill a box of {length} cm by {width} cm by {height} cm?
        calculation: One layer covers {length} × {width} = {base}.
        answer: {height} layers: {base} × {height} = {base * height}.
    """
    return worked_problem(rng, text, base * height)


def frame_area(rng: SeededRandom) -> Problem:
    inner_w, inner_l = rng.randint(3, 12), rng.randint(13, 22)
    outer_w, outer_l = inner_w + rng.randint(2, 8), inner_l + rng.randint(2, 8)
    outer, inner = outer_w * outer_l, inner_w * inner_l
    text = f"""
        prompt: A lawn of {outer_l} m by {outer_w} m has a pond of {inner_l} m by {inner_w} m in it. How many
            square metres of grass are there?
        prompt: A picture of {inner_l} cm by {inner_w} cm is glued on a card of {outer_l} cm by {outer_w} cm.
            How many square centimetres of the card stay visible?
        calculation: The large rectangle: {outer_l} × {outer_w} = {outer}.
        calculation: The small rectangle: {inner_l} × {inner_w} = {inner}.
        answer: {outer} - {inner} = {outer - inner}.
    """
    return worked_problem(rng, text, outer - inner, "medium")


def right_triangle(rng: SeededRandom) -> Problem:
    a, b, c = (side * factor for factor in (rng.randint(1, 6),) for side in rng.choice(_TRIPLES))
    text = f"""
        prompt: A right triangle has legs of {a} cm and {b} cm. How long is the hypotenuse, in cm?
        prompt: A ladder's foot stands {a} dm from a wall and its top touches the wall {b} dm above the
            ground. How long is the ladder, in dm?
        prompt: A rectangle is {a} m by {b} m. How long is its diagonal, in metres?
        setup: By Pythagoras, the squares of the two short sides add up to the square of the long one.
        calculation: {a} × {a} = {a * a} and {b} × {b} = {b * b}.
        calculation: {a * a} + {b * b} = {c * c}.
        answer: {c} × {c} = {c * c}, so the long side is {c}.
    """
    return worked_problem(rng, text, c, "hard")


def triangle_angles(rng: SeededRandom) -> Problem:
    first, second = rng.randint(21, 85), rng.randint(21, 85)
    both = first + second
    text = f"""
        prompt: Two angles of a triangle are {first}° and {second}°. How many degrees is the third angle?
        prompt: A triangle has angles of {first} and {second} degrees. What is the remaining angle in degrees?
        setup: The angles of a triangle add up to 180 degrees.
        calculation: {first} + {second} = {both}.
        answer: 180 - {both} = {180 - both}.
    """
    return worked_problem(rng, text, 180 - both)


def tiling_cost(rng: SeededRandom) -> Problem:
    room = rng.choice(("kitchen", "hallway", "terrace", "office"))
    length, width, price = rng.randint(3, 9), rng.randint(2, 8), rng.randint(5, 30) * 10
    per_metre = 4
    tiles = length * width * per_metre
    text = f"""
        prompt: {with_article(room).capitalize()} of {length} m by {width} m is laid with square tiles of 50
            cm side. A tile costs {money(price)}. What do all the tiles cost?
        prompt: Square tiles with sides of 50 cm cost {money(price)} each. What does it cost to tile
            {with_article(room)} that is {length} m long and {width} m wide?
        setup: 2 × 50 cm = 100 cm, so each square metre takes 2 × 2 = {per_metre} tiles.
        calculation: Floor: {length} × {width} = {length * width} square metres.
        calculation: Tiles: {length * width} × {per_metre} = {tiles}.
        answer: Cost: {tiles} × {money(price)} = {money(tiles * price)}.
    """
    return worked_problem(rng, text, money(tiles * price), "hard")


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
    large, small, factor = rng.choice(_UNITS)
    amount, extra = rng.randint(2, 14), rng.randint(1, factor - 1)
    total = amount * factor + extra
    given = f"{counted(amount, large)} and {counted(extra, small)}"
    text = f"""
        prompt: How many {small.many} are {given}?
        prompt: Convert {given} to {small.many}.
        setup: 1 {large.one} has {factor} {small.many}.
        calculation: {amount} × {factor} = {amount * factor}.
        answer: {amount * factor} + {extra} = {total}.
    """
    return worked_problem(rng, text, total)


def metric_decimal(rng: SeededRandom) -> Problem:
    large, small, factor = rng.choice(_UNITS[:4])
    amount = rng.choice([n for n in range(2, 96) if n % 20]) * factor // 20
    value = Fraction(amount, factor)
    text = f"""
        prompt: How many {large.many} are {amount} {small.many}? Give a decimal.
        prompt: Write {amount} {small.many} in {large.many} as a decimal number.
        setup: 1 {large.one} has {factor} {small.many}, so divide by {factor}.
        answer: {amount} ÷ {factor} = {decimal(value)}.
        check: Check: {decimal(value)} × {factor} = {amount}.
    """
    return worked_problem(rng, text, decimal(value))


def temperature_scale(rng: SeededRandom) -> Problem:
    fifths = rng.randint(-4, 20)
    celsius, fahrenheit = fifths * 5, fifths * 9 + 32
    if rng.chance(50):
        text = f"""
            prompt: What is {celsius} °C in degrees Fahrenheit?
            prompt: Convert {celsius} °C to °F.
            setup: Fahrenheit is nine fifths of Celsius plus 32.
            calculation: {celsius} × 9 ÷ 5 = {fifths * 9}.
            answer: {fifths * 9} + 32 = {fahrenheit}.
        """
        return worked_problem(rng, text, fahrenheit, "medium")
    text = f"""
        prompt: What is {fahrenheit} °F in degrees Celsius?
        prompt: Convert {fahrenheit} °F to °C.
        setup: Celsius is five ninths of Fahrenheit less 32.
        calculation: {fahrenheit} - 32 = {fifths * 9}.
        answer: {fifths * 9} × 5 ÷ 9 = {celsius}.
    """
    return worked_problem(rng, text, celsius, "medium")


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def elapsed_time(rng: SeededRandom) -> Problem:
    start = rng.randint(5, 12) * 60 + rng.randint(1, 59)
    length = rng.randint(35, 400)
    end = start + length
    what = rng.choice(("A film", "A flight", "A concert", "A hike", "An exam"))
    text = f"""
        prompt: {what} starts at {_clock(start)} and ends at {_clock(end)} on the same day. How many minutes
            does it last?
        prompt: How many minutes are there from {_clock(start)} to {_clock(end)} on the same day?
        calculation: The start is {start // 60} × 60 + {start % 60} = {start} minutes after midnight.
        calculation: The end is {end // 60} × 60 + {end % 60} = {end} minutes after midnight.
        answer: {end} - {start} = {length} minutes.
    """
    return worked_problem(rng, text, length, "medium")


def arrival_time(rng: SeededRandom) -> Problem:
    start = rng.randint(6, 15) * 60 + rng.randint(0, 59)
    hours, minutes = rng.randint(1, 5), rng.randint(5, 55)
    end = start + hours * 60 + minutes
    name = rng.choice(NAMES)
    text = f"""
        prompt: {name} leaves at {_clock(start)} and travels for {counted(hours, noun("hour"))} and {minutes}
            minutes. At what time (HH:MM) does the trip end?
        prompt: What time (HH:MM) is it {counted(hours, noun("hour"))} and {minutes} minutes after
            {_clock(start)}?
        calculation: The start is {start // 60} × 60 + {start % 60} = {start} minutes after midnight.
        calculation: The trip takes {hours} × 60 + {minutes} = {hours * 60 + minutes} minutes.
        calculation: {start} + {hours * 60 + minutes} = {end} minutes after midnight.
        answer: {end} = {end // 60} × 60 + {end % 60}, which is {_clock(end)}.
    """
    return worked_problem(rng, text, _clock(end), "hard")


def weekday_after(rng: SeededRandom) -> Problem:
    start, days = rng.randint(0, 6), rng.randint(15, 120)
    weeks, rest = divmod(days, 7)
    end = _DAYS[(start + rest) % 7]
    passed = [_DAYS[(start + step) % 7] for step in range(rest + 1)]
    walk = f"{counted(rest, noun('day'))} on from {_DAYS[start]}: {', '.join(passed)}."
    text = f"""
        prompt: Today is {_DAYS[start]}. Which day of the week is it in {days} days?
        prompt: A parcel is sent on a {_DAYS[start]} and arrives {days} days later. On which weekday does it
            arrive?
        setup: The weekdays repeat every 7 days, so only the remainder counts.
        calculation: {days} = {weeks} × 7 + {rest}.
        answer: {walk if rest else f"The remainder is 0, so it is {end} again."}
    """
    return worked_problem(rng, text, end, "medium")


def days_between(rng: SeededRandom) -> Problem:
    first = date(2023, rng.randint(1, 11), 1)
    start = first + timedelta(days=rng.randint(4, 24))
    last = date(2023, first.month + 1, 1) - timedelta(days=1)
    end = last + timedelta(days=rng.randint(3, 26))
    length = (end - start).days
    left = last.day - start.day
    text = f"""
        prompt: How many days after {_MONTHS[start.month - 1]} {start.day}, 2023 is {_MONTHS[end.month - 1]}
            {end.day}, 2023?
        prompt: A plant is sown on {_MONTHS[start.month - 1]} {start.day}, 2023 and sprouts on
            {_MONTHS[end.month - 1]} {end.day}, 2023. How many days does that take?
        setup: {_MONTHS[start.month - 1]} 2023 has {last.day} days.
        calculation: Days left in {_MONTHS[start.month - 1]}: {last.day} - {start.day} = {left}.
        answer: With {end.day} days of {_MONTHS[end.month - 1]}: {left} + {end.day} = {length}.
    """
    return worked_problem(rng, text, length, "hard")


MEASURES = families(
    "measures", "reasoning",
    mixed_units, metric_decimal, temperature_scale, elapsed_time, arrival_time, weekday_after, days_between,
)  # fmt: skip
