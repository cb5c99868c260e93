"""Speed, work and flow."""

from fractions import Fraction

from tunix_rt.core.generation.dice import Dice
from tunix_rt.core.generation.english import NAMES, counted, money, noun
from tunix_rt.core.generation.family import Worked, families

_HOUR, _MINUTE, _DAY = noun("hour"), noun("minute"), noun("day")
# Pairs of hours whose joint time is a whole number of hours.
_HOURS_ALONE = ((3, 6), (6, 12), (9, 18), (10, 15), (5, 20), (4, 12), (12, 24), (20, 30), (14, 35), (6, 30),
                (15, 30), (18, 36), (21, 28), (24, 40))  # fmt: skip
_VEHICLES = ("train", "bus", "cyclist", "ship", "delivery van")


def two_leg_trip(dice: Dice) -> Worked:
    """A trip with two speeds; the whole distance is asked."""
    vehicle = dice.pick(_VEHICLES)
    first_speed, second_speed = (dice.between(3, 22) * 5 for _ in range(2))
    first_hours, second_hours = dice.between(1, 5), dice.between(1, 5)
    first, second = first_speed * first_hours, second_speed * second_hours
    prompt = dice.pick(
        (
            f"A {vehicle} travels {counted(first_hours, _HOUR)} at {first_speed} km/h and then "
            f"{counted(second_hours, _HOUR)} at {second_speed} km/h. How many kilometres does it travel "
            "in all?",
            f"For {counted(first_hours, _HOUR)} a {vehicle} moves at {first_speed} km/h, then for "
            f"{counted(second_hours, _HOUR)} at {second_speed} km/h. What is the total distance in km?",
        )
    )
    steps = (
        ("setup", "Distance is speed times time, leg by leg."),
        ("calculation", f"First leg: {first_speed} × {first_hours} = {first} km."),
        ("calculation", f"Second leg: {second_speed} × {second_hours} = {second} km."),
        ("answer", f"Together: {first} + {second} = {first + second} km."),
    )
    return Worked(prompt, steps, str(first + second), "medium")


def average_speed(dice: Dice) -> Worked:
    """The average over a trip with a rest in it."""
    driving, resting, speed = dice.between(2, 6), dice.between(1, 2), dice.between(4, 20)
    hours = driving + resting
    distance = speed * hours
    name = dice.pick(NAMES)
    prompt = dice.pick(
        (
            f"{name} covers {distance} km with {counted(driving, _HOUR)} of riding and "
            f"{counted(resting, _HOUR)} of "
            "rest. What is the average speed over the whole time, in km/h?",
            f"A trip of {distance} km takes {counted(driving, _HOUR)} of travel plus "
            f"{counted(resting, _HOUR)} of "
            "waiting. What is the average speed for the whole trip in km/h?",
        )
    )
    steps = (
        ("calculation", f"Whole time: {driving} + {resting} = {hours} hours."),
        ("calculation", f"Average speed: {distance} ÷ {hours} = {speed} km/h."),
        ("check", f"Check: {hours} × {speed} = {distance}."),
    )
    return Worked(prompt, steps, str(speed), "medium")


def working_together(dice: Dice) -> Worked:
    """Two workers whose rates add up."""
    first, second = dice.pick(_HOURS_ALONE)
    rate = Fraction(1, first) + Fraction(1, second)
    together = int(1 / rate)
    job = dice.pick(("paint a fence", "clean a hall", "dig a trench", "stuff the envelopes", "mow a meadow"))
    one, two = dice.sample(NAMES, 2)
    prompt = dice.pick(
        (
            f"{one} needs {first} hours to {job}, and {two} needs {second} hours. How many hours do "
            "they need together?",
            f"Alone, {one} would take {first} hours to {job} and {two} {second} hours. Working side by "
            "side, how many "
            "hours does it take?",
        )
    )
    steps = (
        ("setup", f"In one hour {one} does 1/{first} of the job and {two} does 1/{second}."),
        ("calculation", f"Together they do 1/{first} + 1/{second} = {rate} of the job in an hour."),
        ("answer", f"{together} × {rate} = 1, so the whole job takes {together} hours."),
    )
    return Worked(prompt, steps, str(together), "hard")


def filling_tank(dice: Dice) -> Worked:
    """A tank with an inflow and a leak."""
    inflow, minutes = dice.between(8, 30), dice.between(5, 30)
    leak = dice.between(2, inflow - 3)
    start = dice.between(1, 12) * 10
    volume = start + (inflow - leak) * minutes
    prompt = dice.pick(
        (
            f"A tank holds {start} litres. A pump adds {inflow} litres a minute while {leak} litres a "
            "minute leak out. "
            f"After how many minutes does the tank hold {volume} litres?",
            f"Water runs into a pool at {inflow} litres per minute and drains at {leak} litres per "
            "minute. Starting from "
            f"{start} litres, how many minutes pass until there are {volume} litres?",
        )
    )
    gain = inflow - leak
    steps = (
        ("calculation", f"Net gain per minute: {inflow} - {leak} = {gain} litres."),
        ("calculation", f"Missing water: {volume} - {start} = {volume - start} litres."),
        ("answer", f"{volume - start} ÷ {gain} = {minutes} minutes."),
    )
    return Worked(prompt, steps, str(minutes), "hard")


def meeting_point(dice: Dice) -> Worked:
    """Two travellers move towards each other."""
    first, second, hours = dice.between(8, 60), dice.between(8, 60), dice.between(2, 6)
    distance = (first + second) * hours
    one, two = dice.sample(NAMES, 2)
    prompt = dice.pick(
        (
            f"{one} and {two} start {distance} km apart and drive towards each other at {first} km/h "
            f"and {second} km/h. "
            "After how many hours do they meet?",
            f"Two towns are {distance} km apart. {one} leaves one town at {first} km/h, {two} leaves "
            "the other at "
            f"{second} km/h, at the same time and on the same road. In how many hours do they meet?",
        )
    )
    steps = (
        ("setup", "The gap closes at the sum of the two speeds."),
        ("calculation", f"{first} + {second} = {first + second} km/h."),
        ("answer", f"{distance} ÷ {first + second} = {hours} hours."),
    )
    return Worked(prompt, steps, str(hours), "medium")


def fuel_cost(dice: Dice) -> Worked:
    """Fuel used on a trip and what it costs."""
    per_hundred, hundreds, price = (
        dice.between(4, 9),
        dice.between(2, 9),
        dice.pick((150, 160, 175, 180, 200)),
    )
    distance, litres = hundreds * 100, per_hundred * hundreds
    prompt = dice.pick(
        (
            f"A car uses {per_hundred} litres of fuel per 100 km. Fuel costs {money(price)} a litre. "
            f"How many dollars does the fuel for {distance} km cost?",
            f"How many dollars of fuel does a trip of {distance} km need if the car burns {per_hundred} "
            "litres per "
            f"100 km and a litre costs {money(price)}?",
        )
    )
    steps = (
        ("calculation", f"{distance} ÷ 100 = {hundreds}, so the trip is {hundreds} times 100 km."),
        ("calculation", f"Fuel: {hundreds} × {per_hundred} = {litres} litres."),
        ("answer", f"Cost: {litres} × {money(price)} = {money(litres * price)}."),
    )
    return Worked(prompt, steps, money(litres * price), "medium")


def reading_pace(dice: Dice) -> Worked:
    """Days to finish a book after some pages are read."""
    name, pace, days = dice.pick(NAMES), dice.between(12, 45), dice.between(4, 15)
    read = dice.between(20, 90)
    pages = read + pace * days
    prompt = dice.pick(
        (
            f"{name} has read {read} of {pages} pages and reads {pace} pages a day. How many more days "
            "are needed?",
            f"A book has {pages} pages. {name} is on page {read} and reads {pace} pages every day. In "
            "how many days "
            "is the book finished?",
        )
    )
    steps = (
        ("calculation", f"Pages left: {pages} - {read} = {pages - read}."),
        ("calculation", f"{pages - read} ÷ {pace} = {days}."),
        ("answer", f"It takes {counted(days, _DAY)}."),
    )
    return Worked(prompt, steps, str(days), "easy")


RATES = families(
    "rates", "reasoning",
    two_leg_trip, average_speed, working_together, filling_tank, meeting_point, fuel_cost, reading_pace,
)  # fmt: skip
