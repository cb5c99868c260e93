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
    worked_problem,
)

_FRIEND, _WEEK = noun("friend"), noun("week")


def discount_then_tax(rng: SeededRandom) -> Problem:
    good, price = rng.choice(GOODS), rng.randint(1, 12) * 2000
    discount, tax = rng.choice((10, 15, 20, 25, 30, 40)), rng.choice((5, 8, 10))
    off = price * discount // 100
    reduced = price - off
    added = reduced * tax // 100
    text = f"""
        prompt: {with_article(good.one).capitalize()} costs {money(price)}. It is {discount}% off, and {tax}%
            sales tax is added to the reduced price. What is the final price?
        prompt: A shop takes {discount}% off {with_article(good.one)} priced at {money(price)} and then
            charges {tax}% tax. How much does the customer pay?
        calculation: Discount: {money(price)} × {discount}/100 = {money(off)}.
        calculation: Reduced price: {money(price)} - {money(off)} = {money(reduced)}.
        calculation: Tax: {money(reduced)} × {tax}/100 = {money(added)}.
        answer: Final price: {money(reduced)} + {money(added)} = {money(reduced + added)}.
    """
    return worked_problem(rng, text, money(reduced + added), "hard")


def better_buy(rng: SeededRandom) -> Problem:
    food = rng.choice(FOODS)
    small, large = rng.randint(3, 6), rng.randint(8, 12)
    small_each, large_each = rng.sample(range(35, 95), 2)
    cheaper = "small" if small_each < large_each else "large"
    text = f"""
        prompt: A small pack of {small} {food.many} costs {money(small * small_each)}; a large pack of {large}
            costs {money(large * large_each)}. Which pack is cheaper per piece, small or large?
        prompt: You can buy {small} {food.many} for {money(small * small_each)} (small pack) or {large} for
            {money(large * large_each)} (large pack). Which pack has the lower price per piece?
        calculation: Small pack: {money(small * small_each)} ÷ {small} = {money(small_each)} each.
        calculation: Large pack: {money(large * large_each)} ÷ {large} = {money(large_each)} each.
        answer: {money(min(small_each, large_each))} is less, so the {cheaper} pack is cheaper per piece.
    """
    return worked_problem(rng, text, cheaper, "medium")


def change_from_note(rng: SeededRandom) -> Problem:
    name, food, pieces = rng.choice(NAMES), rng.choice(FOODS), rng.randint(2, 9)
    each = rng.randint(9, 44) * 5
    total = pieces * each
    note = next(note for note in (1000, 2000, 5000) if note > total)
    text = f"""
        prompt: {name} buys {pieces} {food.many} at {money(each)} each and pays with a {money(note)} note. How
            much change is due?
        prompt: One {food.one} costs {money(each)}. {name} takes {pieces} and hands over {money(note)}. How
            much money comes back?
        calculation: Cost: {pieces} × {money(each)} = {money(total)}.
        calculation: Change: {money(note)} - {money(total)} = {money(note - total)}.
        check: Check: {money(total)} + {money(note - total)} = {money(note)}.
    """
    return worked_problem(rng, text, money(note - total))


def bill_with_tip(rng: SeededRandom) -> Problem:
    people, percent = rng.randint(2, 6), rng.choice((10, 15, 20))
    bill = people * rng.randint(4, 20) * 200
    tip = bill * percent // 100
    total = bill + tip
    text = f"""
        prompt: {counted(people, _FRIEND).capitalize()} share a restaurant bill of {money(bill)} and add a
            {percent}% tip. How much does each one pay?
        prompt: A dinner costs {money(bill)}. With a {percent}% tip, the total is split equally among {people}
            people. What is each share?
        calculation: Tip: {money(bill)} × {percent}/100 = {money(tip)}.
        calculation: Total: {money(bill)} + {money(tip)} = {money(total)}.
        answer: Each share: {money(total)} ÷ {people} = {money(total // people)}.
    """
    return worked_problem(rng, text, money(total // people), "medium")


def simple_interest(rng: SeededRandom) -> Problem:
    name, dollars = rng.choice(NAMES), rng.randint(2, 40) * 100
    percent, years = rng.randint(2, 8), rng.randint(2, 6)
    yearly = dollars * percent // 100
    interest = yearly * years
    text = f"""
        prompt: {name} puts ${dollars} into an account with {percent}% simple interest per year. How many
            dollars are in the account after {years} years?
        prompt: A loan of ${dollars} carries {percent}% simple interest a year. How many dollars must be paid
            back after {years} years in total?
        calculation: Interest in one year: ${dollars} × {percent}/100 = ${yearly}.
        calculation: Interest in {years} years: {years} × ${yearly} = ${interest}.
        answer: Total: ${dollars} + ${interest} = ${dollars + interest}.
    """
    return worked_problem(rng, text, f"${dollars + interest}", "medium")


def savings_goal(rng: SeededRandom) -> Problem:
    name, good = rng.choice(NAMES), rng.choice(GOODS)
    weekly, weeks, saved = rng.randint(4, 15), rng.randint(4, 20), rng.randint(10, 60)
    price = saved + weekly * weeks
    text = f"""
        prompt: {name} has ${saved} and saves ${weekly} a week for {with_article(good.one)} that costs
            ${price}. After how many weeks can it be bought?
        prompt: {with_article(good.one).capitalize()} costs ${price}. {name} already has ${saved} and puts
            aside ${weekly} every week. How many weeks does it take?
        calculation: Still missing: ${price} - ${saved} = ${price - saved}.
        calculation: {price - saved} ÷ {weekly} = {weeks}.
        answer: It takes {counted(weeks, _WEEK)}.
    """
    return worked_problem(rng, text, weeks)


def stall_profit(rng: SeededRandom) -> Problem:
    food, pieces = rng.choice(BAKED), rng.randint(20, 80)
    cost, price, fee = rng.randint(1, 3), rng.randint(4, 7), rng.randint(5, 19)
    revenue, costs = pieces * price, pieces * cost
    profit = revenue - costs - fee
    text = f"""
        prompt: A stall sells {pieces} {food.many} at ${price} each. Making one costs ${cost}, and the stall
            itself costs ${fee} for the day. What is the profit in dollars?
        prompt: Making {food.many} costs ${cost} a piece. A student sells {pieces} of them for ${price} each
            and pays ${fee} for the table. How many dollars of profit are made?
        calculation: Revenue: {pieces} × ${price} = ${revenue}.
        calculation: Cost of making: {pieces} × ${cost} = ${costs}.
        calculation: All costs: ${costs} + ${fee} = ${costs + fee}.
        answer: Profit: ${revenue} - ${costs + fee} = ${profit}.
    """
    return worked_problem(rng, text, f"${profit}", "medium")


def basket_total(rng: SeededRandom) -> Problem:
    foods = rng.sample(FOODS, 3)
    amounts = [rng.randint(2, 9) for _ in foods]
    prices = [rng.randint(5, 60) * 5 for _ in foods]
    items = list(zip(amounts, foods, prices, strict=True))
    a, b, c = (f"{amount} {food.many} at {money(price)} each" for amount, food, price in items)
    first, second, third = (amount * price for amount, _, price in items)
    products = "\n".join(
        f"calculation: {food.many.capitalize()}: {amount} × {money(price)} = {money(amount * price)}."
        for amount, food, price in items
    )
    total = money(first + second + third)
    text = f"""
        prompt: A shopper buys {a}, {b} and {c}. What is the total?
        prompt: What does a basket with {a}, {b} and {c} cost?
        {products}
        calculation: {money(first)} + {money(second)} = {money(first + second)}.
        answer: {money(first + second)} + {money(third)} = {total}.
    """
    return worked_problem(rng, text, total, "medium")


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
    vehicle = rng.choice(_VEHICLES)
    first_speed, second_speed = (rng.randint(3, 22) * 5 for _ in range(2))
    first_hours, second_hours = rng.randint(1, 5), rng.randint(1, 5)
    first, second = first_speed * first_hours, second_speed * second_hours
    text = f"""
        prompt: A {vehicle} travels {counted(first_hours, _HOUR)} at {first_speed} km/h and then
            {counted(second_hours, _HOUR)} at {second_speed} km/h. How many kilometres does it travel in all?
        prompt: For {counted(first_hours, _HOUR)} a {vehicle} moves at {first_speed} km/h, then for
            {counted(second_hours, _HOUR)} at {second_speed} km/h. What is the total distance in km?
        setup: Distance is speed times time, leg by leg.
        calculation: First leg: {first_speed} × {first_hours} = {first} km.
        calculation: Second leg: {second_speed} × {second_hours} = {second} km.
        answer: Together: {first} + {second} = {first + second} km.
    """
    return worked_problem(rng, text, first + second, "medium")


def average_speed(rng: SeededRandom) -> Problem:
    driving, resting, speed = rng.randint(2, 6), rng.randint(1, 2), rng.randint(4, 20)
    hours = driving + resting
    distance = speed * hours
    name = rng.choice(NAMES)
    text = f"""
        prompt: {name} covers {distance} km with {counted(driving, _HOUR)} of riding and
            {counted(resting, _HOUR)} of rest. What is the average speed over the whole time, in km/h?
        prompt: A trip of {distance} km takes {counted(driving, _HOUR)} of travel plus
            {counted(resting, _HOUR)} of waiting. What is the average speed for the whole trip in km/h?
        calculation: Whole time: {driving} + {resting} = {hours} hours.
        calculation: Average speed: {distance} ÷ {hours} = {speed} km/h.
        check: Check: {hours} × {speed} = {distance}.
    """
    return worked_problem(rng, text, speed, "medium")


def working_together(rng: SeededRandom) -> Problem:
    first, second = rng.choice(_HOURS_ALONE)
    rate = Fraction(1, first) + Fraction(1, second)
    together = int(1 / rate)
    job = rng.choice(("paint a fence", "clean a hall", "dig a trench", "stuff the envelopes", "mow a meadow"))
    one, two = rng.sample(NAMES, 2)
    text = f"""
        prompt: {one} needs {first} hours to {job}, and {two} needs {second} hours. How many hours do they
            need together?
        prompt: Alone, {one} would take {first} hours to {job} and {two} {second} hours. Working side by side,
            how many hours does it take?
        setup: In one hour {one} does 1/{first} of the job and {two} does 1/{second}.
        calculation: Together they do 1/{first} + 1/{second} = {rate} of the job in an hour.
        answer: {together} × {rate} = 1, so the whole job takes {together} hours.
    """
    return worked_problem(rng, text, together, "hard")


def filling_tank(rng: SeededRandom) -> Problem:
    inflow, minutes = rng.randint(8, 30), rng.randint(5, 30)
    leak = rng.randint(2, inflow - 3)
    start = rng.randint(1, 12) * 10
    volume = start + (inflow - leak) * minutes
    gain = inflow - leak
    text = f"""
        prompt: A tank holds {start} litres. A pump adds {inflow} litres a minute while {leak} litres a minute
            leak out. After how many minutes does the tank hold {volume} litres?
        prompt: Water runs into a pool at {inflow} litres per minute and drains at {leak} litres per minute.
            Starting from {start} litres, how many minutes pass until there are {volume} litres?
        calculation: Net gain per minute: {inflow} - {leak} = {gain} litres.
        calculation: Missing water: {volume} - {start} = {volume - start} litres.
        answer: {volume - start} ÷ {gain} = {minutes} minutes.
    """
    return worked_problem(rng, text, minutes, "hard")


def meeting_point(rng: SeededRandom) -> Problem:
    first, second, hours = rng.randint(8, 60), rng.randint(8, 60), rng.randint(2, 6)
    distance = (first + second) * hours
    one, two = rng.sample(NAMES, 2)
    text = f"""
        prompt: {one} and {two} start {distance} km apart and drive towards each other at {first} km/h and
            {second} km/h. After how many hours do they meet?
        prompt: Two towns are {distance} km apart. {one} leaves one town at {first} km/h, {two} leaves the
            other at {second} km/h, at the same time and on the same road. In how many hours do they meet?
        setup: The gap closes at the sum of the two speeds.
        calculation: {first} + {second} = {first + second} km/h.
        answer: {distance} ÷ {first + second} = {hours} hours.
    """
    return worked_problem(rng, text, hours, "medium")


def fuel_cost(rng: SeededRandom) -> Problem:
    per_hundred, hundreds = rng.randint(4, 9), rng.randint(2, 9)
    price = rng.choice((150, 160, 175, 180, 200))
    distance, litres = hundreds * 100, per_hundred * hundreds
    text = f"""
        prompt: A car uses {per_hundred} litres of fuel per 100 km. Fuel costs {money(price)} a litre. How
            many dollars does the fuel for {distance} km cost?
        prompt: How many dollars of fuel does a trip of {distance} km need if the car burns {per_hundred}
            litres per 100 km and a litre costs {money(price)}?
        calculation: {distance} ÷ 100 = {hundreds}, so the trip is {hundreds} times 100 km.
        calculation: Fuel: {hundreds} × {per_hundred} = {litres} litres.
        answer: Cost: {litres} × {money(price)} = {money(litres * price)}.
    """
    return worked_problem(rng, text, money(litres * price), "medium")


def reading_pace(rng: SeededRandom) -> Problem:
    name, pace, days = rng.choice(NAMES), rng.randint(12, 45), rng.randint(4, 15)
    read = rng.randint(20, 90)
    pages = read + pace * days
    text = f"""
        prompt: {name} has read {read} of {pages} pages and reads {pace} pages a day. How many more days are
            needed?
        prompt: A book has {pages} pages. {name} is on page {read} and reads {pace} pages every day. In how
            many days is the book finished?
        calculation: Pages left: {pages} - {read} = {pages - read}.
        calculation: {pages - read} ÷ {pace} = {days}.
        answer: It takes {counted(days, _DAY)}.
    """
    return worked_problem(rng, text, days)


RATES = families(
    "rates", "reasoning",
    two_leg_trip, average_speed, working_together, filling_tank, meeting_point, fuel_cost, reading_pace,
)  # fmt: skip
