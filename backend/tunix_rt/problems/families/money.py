"""Prices, interest, speed, work and flow."""

from fractions import Fraction

from tunix_rt.problems.family import (
    BAKED,
    FOODS,
    GOODS,
    NAMES,
    Problem,
    SeededRandom,
    counted,
    families,
    money,
    noun,
    with_article,
)

_FRIEND, _WEEK = noun("friend"), noun("week")


def discount_then_tax(rng: SeededRandom) -> Problem:
    """A price lowered by a discount and raised by a tax."""
    good, price = rng.choice(GOODS), rng.randint(1, 12) * 2000
    discount, tax = rng.choice((10, 15, 20, 25, 30, 40)), rng.choice((5, 8, 10))
    off = price * discount // 100
    reduced = price - off
    added = reduced * tax // 100
    prompt = rng.choice(
        (
            f"{with_article(good.one).capitalize()} costs {money(price)}. "
            f"It is {discount}% off, and {tax}% sales tax is added to the reduced price. "
            "What is the final price?",
            f"A shop takes {discount}% off {with_article(good.one)} priced at {money(price)} "
            f"and then charges {tax}% tax. How much does the customer pay?",
        )
    )
    steps = (
        ("calculation", f"Discount: {money(price)} × {discount}/100 = {money(off)}."),
        ("calculation", f"Reduced price: {money(price)} - {money(off)} = {money(reduced)}."),
        ("calculation", f"Tax: {money(reduced)} × {tax}/100 = {money(added)}."),
        ("answer", f"Final price: {money(reduced)} + {money(added)} = {money(reduced + added)}."),
    )
    return Problem(prompt, steps, money(reduced + added), "hard")


def better_buy(rng: SeededRandom) -> Problem:
    """Two pack sizes compared by the price of one piece."""
    food = rng.choice(FOODS)
    small, large = rng.randint(3, 6), rng.randint(8, 12)
    small_each, large_each = rng.sample(range(35, 95), 2)
    cheaper = "small" if small_each < large_each else "large"
    prompt = rng.choice(
        (
            f"A small pack of {small} {food.many} costs {money(small * small_each)}; "
            f"a large pack of {large} costs {money(large * large_each)}. "
            "Which pack is cheaper per piece, small or large?",
            f"You can buy {small} {food.many} for {money(small * small_each)} (small pack) or {large} "
            f"for {money(large * large_each)} (large pack). Which pack has the lower price per piece?",
        )
    )
    steps = (
        ("calculation", f"Small pack: {money(small * small_each)} ÷ {small} = {money(small_each)} each."),
        ("calculation", f"Large pack: {money(large * large_each)} ÷ {large} = {money(large_each)} each."),
        (
            "answer",
            f"{money(min(small_each, large_each))} is less, so the {cheaper} pack is cheaper per piece.",
        ),
    )
    return Problem(prompt, steps, cheaper, "medium")


def change_from_note(rng: SeededRandom) -> Problem:
    """Several pieces of one thing paid with a note."""
    name, food, pieces = rng.choice(NAMES), rng.choice(FOODS), rng.randint(2, 9)
    each = rng.randint(9, 44) * 5
    total = pieces * each
    note = next(note for note in (1000, 2000, 5000) if note > total)
    prompt = rng.choice(
        (
            f"{name} buys {pieces} {food.many} at {money(each)} each and pays with a {money(note)} note. "
            "How much change is due?",
            f"One {food.one} costs {money(each)}. {name} takes {pieces} and hands over {money(note)}. "
            "How much money comes back?",
        )
    )
    steps = (
        ("calculation", f"Cost: {pieces} × {money(each)} = {money(total)}."),
        ("calculation", f"Change: {money(note)} - {money(total)} = {money(note - total)}."),
        ("check", f"Check: {money(total)} + {money(note - total)} = {money(note)}."),
    )
    return Problem(prompt, steps, money(note - total), "easy")


def bill_with_tip(rng: SeededRandom) -> Problem:
    """A restaurant bill with a tip, shared equally."""
    people, percent = rng.randint(2, 6), rng.choice((10, 15, 20))
    bill = people * rng.randint(4, 20) * 200
    tip = bill * percent // 100
    prompt = rng.choice(
        (
            f"{counted(people, _FRIEND).capitalize()} share a restaurant bill of {money(bill)} "
            f"and add a {percent}% tip. How much does each one pay?",
            f"A dinner costs {money(bill)}. "
            f"With a {percent}% tip, the total is split equally among {people} people. What is each share?",
        )
    )
    total = bill + tip
    steps = (
        ("calculation", f"Tip: {money(bill)} × {percent}/100 = {money(tip)}."),
        ("calculation", f"Total: {money(bill)} + {money(tip)} = {money(total)}."),
        ("answer", f"Each share: {money(total)} ÷ {people} = {money(total // people)}."),
    )
    return Problem(prompt, steps, money(total // people), "medium")


def simple_interest(rng: SeededRandom) -> Problem:
    """Interest that is paid on the first sum only."""
    name, dollars = rng.choice(NAMES), rng.randint(2, 40) * 100
    percent, years = rng.randint(2, 8), rng.randint(2, 6)
    yearly = dollars * percent // 100
    prompt = rng.choice(
        (
            f"{name} puts ${dollars} into an account with {percent}% simple interest per year. "
            f"How many dollars are in the account after {years} years?",
            f"A loan of ${dollars} carries {percent}% simple interest a year. "
            f"How many dollars must be paid back after {years} years in total?",
        )
    )
    interest = yearly * years
    steps = (
        ("calculation", f"Interest in one year: ${dollars} × {percent}/100 = ${yearly}."),
        ("calculation", f"Interest in {years} years: {years} × ${yearly} = ${interest}."),
        ("answer", f"Total: ${dollars} + ${interest} = ${dollars + interest}."),
    )
    return Problem(prompt, steps, f"${dollars + interest}", "medium")


def savings_goal(rng: SeededRandom) -> Problem:
    """Weeks until a goal is reached from savings and a weekly amount."""
    name, good = rng.choice(NAMES), rng.choice(GOODS)
    weekly, weeks, saved = rng.randint(4, 15), rng.randint(4, 20), rng.randint(10, 60)
    price = saved + weekly * weeks
    prompt = rng.choice(
        (
            f"{name} has ${saved} and saves ${weekly} a week for {with_article(good.one)} "
            f"that costs ${price}. After how many weeks can it be bought?",
            f"{with_article(good.one).capitalize()} costs ${price}. "
            f"{name} already has ${saved} and puts aside ${weekly} every week. How many weeks does it take?",
        )
    )
    steps = (
        ("calculation", f"Still missing: ${price} - ${saved} = ${price - saved}."),
        ("calculation", f"{price - saved} ÷ {weekly} = {weeks}."),
        ("answer", f"It takes {counted(weeks, _WEEK)}."),
    )
    return Problem(prompt, steps, str(weeks), "easy")


def stall_profit(rng: SeededRandom) -> Problem:
    """Revenue minus the cost of making and a fixed fee."""
    food, pieces = rng.choice(BAKED), rng.randint(20, 80)
    cost, price, fee = rng.randint(1, 3), rng.randint(4, 7), rng.randint(5, 19)
    revenue, costs = pieces * price, pieces * cost
    prompt = rng.choice(
        (
            f"A stall sells {pieces} {food.many} at ${price} each. "
            f"Making one costs ${cost}, and the stall itself costs ${fee} for the day. "
            "What is the profit in dollars?",
            f"Making {food.many} costs ${cost} a piece. "
            f"A student sells {pieces} of them for ${price} each and pays ${fee} for the table. "
            "How many dollars of profit are made?",
        )
    )
    profit = revenue - costs - fee
    steps = (
        ("calculation", f"Revenue: {pieces} × ${price} = ${revenue}."),
        ("calculation", f"Cost of making: {pieces} × ${cost} = ${costs}."),
        ("calculation", f"All costs: ${costs} + ${fee} = ${costs + fee}."),
        ("answer", f"Profit: ${revenue} - ${costs + fee} = ${profit}."),
    )
    return Problem(prompt, steps, f"${profit}", "medium")


def basket_total(rng: SeededRandom) -> Problem:
    """Three lines of a receipt added up."""
    foods = rng.sample(FOODS, 3)
    amounts = [rng.randint(2, 9) for _ in foods]
    prices = [rng.randint(5, 60) * 5 for _ in foods]
    lines = [amount * price for amount, price in zip(amounts, prices, strict=True)]
    wants = [f"{n} {food.many} at {money(p)} each" for n, food, p in zip(amounts, foods, prices, strict=True)]
    prompt = rng.choice(
        (
            f"A shopper buys {wants[0]}, {wants[1]} and {wants[2]}. What is the total?",
            f"What does a basket with {wants[0]}, {wants[1]} and {wants[2]} cost?",
        )
    )
    steps = [
        ("calculation", f"{food.many.capitalize()}: {n} × {money(p)} = {money(line)}.")
        for n, food, p, line in zip(amounts, foods, prices, lines, strict=True)
    ]
    steps.append(("calculation", f"{money(lines[0])} + {money(lines[1])} = {money(lines[0] + lines[1])}."))
    steps.append(("answer", f"{money(lines[0] + lines[1])} + {money(lines[2])} = {money(sum(lines))}."))
    return Problem(prompt, tuple(steps), money(sum(lines)), "medium")


MONEY = families(
    "money", "reasoning",
    discount_then_tax, better_buy, change_from_note, bill_with_tip, simple_interest, savings_goal,
    stall_profit, basket_total,
)  # fmt: skip

_HOUR, _MINUTE, _DAY = noun("hour"), noun("minute"), noun("day")
# Pairs of hours whose joint time is a whole number of hours.
_HOURS_ALONE = ((3, 6), (6, 12), (9, 18), (10, 15), (5, 20), (4, 12), (12, 24), (20, 30), (14, 35), (6, 30),
                (15, 30), (18, 36), (21, 28), (24, 40))  # fmt: skip
_VEHICLES = ("train", "bus", "cyclist", "ship", "delivery van")


def two_leg_trip(rng: SeededRandom) -> Problem:
    """A trip with two speeds; the whole distance is asked."""
    vehicle = rng.choice(_VEHICLES)
    first_speed, second_speed = (rng.randint(3, 22) * 5 for _ in range(2))
    first_hours, second_hours = rng.randint(1, 5), rng.randint(1, 5)
    first, second = first_speed * first_hours, second_speed * second_hours
    prompt = rng.choice(
        (
            f"A {vehicle} travels {counted(first_hours, _HOUR)} at {first_speed} km/h "
            f"and then {counted(second_hours, _HOUR)} at {second_speed} km/h. "
            "How many kilometres does it travel in all?",
            f"For {counted(first_hours, _HOUR)} a {vehicle} moves at {first_speed} km/h, "
            f"then for {counted(second_hours, _HOUR)} at {second_speed} km/h. "
            "What is the total distance in km?",
        )
    )
    steps = (
        ("setup", "Distance is speed times time, leg by leg."),
        ("calculation", f"First leg: {first_speed} × {first_hours} = {first} km."),
        ("calculation", f"Second leg: {second_speed} × {second_hours} = {second} km."),
        ("answer", f"Together: {first} + {second} = {first + second} km."),
    )
    return Problem(prompt, steps, str(first + second), "medium")


def average_speed(rng: SeededRandom) -> Problem:
    """The average over a trip with a rest in it."""
    driving, resting, speed = rng.randint(2, 6), rng.randint(1, 2), rng.randint(4, 20)
    hours = driving + resting
    distance = speed * hours
    name = rng.choice(NAMES)
    prompt = rng.choice(
        (
            f"{name} covers {distance} km with {counted(driving, _HOUR)} of riding "
            f"and {counted(resting, _HOUR)} of rest. What is the average speed over the whole time, in km/h?",
            f"A trip of {distance} km takes {counted(driving, _HOUR)} "
            f"of travel plus {counted(resting, _HOUR)} of waiting. "
            "What is the average speed for the whole trip in km/h?",
        )
    )
    steps = (
        ("calculation", f"Whole time: {driving} + {resting} = {hours} hours."),
        ("calculation", f"Average speed: {distance} ÷ {hours} = {speed} km/h."),
        ("check", f"Check: {hours} × {speed} = {distance}."),
    )
    return Problem(prompt, steps, str(speed), "medium")


def working_together(rng: SeededRandom) -> Problem:
    """Two workers whose rates add up."""
    first, second = rng.choice(_HOURS_ALONE)
    rate = Fraction(1, first) + Fraction(1, second)
    together = int(1 / rate)
    job = rng.choice(("paint a fence", "clean a hall", "dig a trench", "stuff the envelopes", "mow a meadow"))
    one, two = rng.sample(NAMES, 2)
    prompt = rng.choice(
        (
            f"{one} needs {first} hours to {job}, and {two} needs {second} hours. "
            "How many hours do they need together?",
            f"Alone, {one} would take {first} hours to {job} and {two} {second} hours. "
            "Working side by side, how many hours does it take?",
        )
    )
    steps = (
        ("setup", f"In one hour {one} does 1/{first} of the job and {two} does 1/{second}."),
        ("calculation", f"Together they do 1/{first} + 1/{second} = {rate} of the job in an hour."),
        ("answer", f"{together} × {rate} = 1, so the whole job takes {together} hours."),
    )
    return Problem(prompt, steps, str(together), "hard")


def filling_tank(rng: SeededRandom) -> Problem:
    """A tank with an inflow and a leak."""
    inflow, minutes = rng.randint(8, 30), rng.randint(5, 30)
    leak = rng.randint(2, inflow - 3)
    start = rng.randint(1, 12) * 10
    volume = start + (inflow - leak) * minutes
    prompt = rng.choice(
        (
            f"A tank holds {start} litres. "
            f"A pump adds {inflow} litres a minute while {leak} litres a minute leak out. "
            f"After how many minutes does the tank hold {volume} litres?",
            f"Water runs into a pool at {inflow} litres per minute and drains at {leak} litres per minute. "
            f"Starting from {start} litres, how many minutes pass until there are {volume} litres?",
        )
    )
    gain = inflow - leak
    steps = (
        ("calculation", f"Net gain per minute: {inflow} - {leak} = {gain} litres."),
        ("calculation", f"Missing water: {volume} - {start} = {volume - start} litres."),
        ("answer", f"{volume - start} ÷ {gain} = {minutes} minutes."),
    )
    return Problem(prompt, steps, str(minutes), "hard")


def meeting_point(rng: SeededRandom) -> Problem:
    """Two travellers move towards each other."""
    first, second, hours = rng.randint(8, 60), rng.randint(8, 60), rng.randint(2, 6)
    distance = (first + second) * hours
    one, two = rng.sample(NAMES, 2)
    prompt = rng.choice(
        (
            f"{one} and {two} start {distance} km apart and drive towards each other at {first} km/h "
            f"and {second} km/h. After how many hours do they meet?",
            f"Two towns are {distance} km apart. "
            f"{one} leaves one town at {first} km/h, {two} leaves the other at {second} km/h, "
            "at the same time and on the same road. In how many hours do they meet?",
        )
    )
    steps = (
        ("setup", "The gap closes at the sum of the two speeds."),
        ("calculation", f"{first} + {second} = {first + second} km/h."),
        ("answer", f"{distance} ÷ {first + second} = {hours} hours."),
    )
    return Problem(prompt, steps, str(hours), "medium")


def fuel_cost(rng: SeededRandom) -> Problem:
    """Fuel used on a trip and what it costs."""
    per_hundred, hundreds = rng.randint(4, 9), rng.randint(2, 9)
    price = rng.choice((150, 160, 175, 180, 200))
    distance, litres = hundreds * 100, per_hundred * hundreds
    prompt = rng.choice(
        (
            f"A car uses {per_hundred} litres of fuel per 100 km. Fuel costs {money(price)} a litre. "
            f"How many dollars does the fuel for {distance} km cost?",
            f"How many dollars of fuel does a trip of {distance} km need "
            f"if the car burns {per_hundred} litres per 100 km and a litre costs {money(price)}?",
        )
    )
    steps = (
        ("calculation", f"{distance} ÷ 100 = {hundreds}, so the trip is {hundreds} times 100 km."),
        ("calculation", f"Fuel: {hundreds} × {per_hundred} = {litres} litres."),
        ("answer", f"Cost: {litres} × {money(price)} = {money(litres * price)}."),
    )
    return Problem(prompt, steps, money(litres * price), "medium")


def reading_pace(rng: SeededRandom) -> Problem:
    """Days to finish a book after some pages are read."""
    name, pace, days = rng.choice(NAMES), rng.randint(12, 45), rng.randint(4, 15)
    read = rng.randint(20, 90)
    pages = read + pace * days
    prompt = rng.choice(
        (
            f"{name} has read {read} of {pages} pages and reads {pace} pages a day. "
            "How many more days are needed?",
            f"A book has {pages} pages. {name} is on page {read} and reads {pace} pages every day. "
            "In how many days is the book finished?",
        )
    )
    steps = (
        ("calculation", f"Pages left: {pages} - {read} = {pages - read}."),
        ("calculation", f"{pages - read} ÷ {pace} = {days}."),
        ("answer", f"It takes {counted(days, _DAY)}."),
    )
    return Problem(prompt, steps, str(days), "easy")


RATES = families(
    "rates", "reasoning",
    two_leg_trip, average_speed, working_together, filling_tank, meeting_point, fuel_cost, reading_pace,
)  # fmt: skip
