"""Prices, change, tips, interest and savings, counted in cents and written in dollars."""

from tunix_rt.core.generation.dice import Dice
from tunix_rt.core.generation.english import BAKED, FOODS, GOODS, NAMES, counted, money, noun, with_article
from tunix_rt.core.generation.family import Worked, families

_FRIEND, _WEEK = noun("friend"), noun("week")


def discount_then_tax(dice: Dice) -> Worked:
    """A price lowered by a discount and raised by a tax."""
    good, price = dice.pick(GOODS), dice.between(1, 12) * 2000
    discount, tax = dice.pick((10, 15, 20, 25, 30, 40)), dice.pick((5, 8, 10))
    off = price * discount // 100
    reduced = price - off
    added = reduced * tax // 100
    prompt = dice.pick(
        (
            f"{with_article(good.one).capitalize()} costs {money(price)}. It is {discount}% off, and "
            f"{tax}% sales "
            "tax is added to the reduced price. What is the final price?",
            f"A shop takes {discount}% off {with_article(good.one)} priced at {money(price)} and then "
            "charges "
            f"{tax}% tax. How much does the customer pay?",
        )
    )
    steps = (
        ("calculation", f"Discount: {money(price)} × {discount}/100 = {money(off)}."),
        ("calculation", f"Reduced price: {money(price)} - {money(off)} = {money(reduced)}."),
        ("calculation", f"Tax: {money(reduced)} × {tax}/100 = {money(added)}."),
        ("answer", f"Final price: {money(reduced)} + {money(added)} = {money(reduced + added)}."),
    )
    return Worked(prompt, steps, money(reduced + added), "hard")


def better_buy(dice: Dice) -> Worked:
    """Two pack sizes compared by the price of one piece."""
    food = dice.pick(FOODS)
    small, large = dice.between(3, 6), dice.between(8, 12)
    small_each, large_each = dice.sample(range(35, 95), 2)
    cheaper = "small" if small_each < large_each else "large"
    prompt = dice.pick(
        (
            f"A small pack of {small} {food.many} costs {money(small * small_each)}; a large pack of {large} "
            f"costs {money(large * large_each)}. Which pack is cheaper per piece, small or large?",
            f"You can buy {small} {food.many} for {money(small * small_each)} (small pack) or {large} for "
            f"{money(large * large_each)} (large pack). Which pack has the lower price per piece?",
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
    return Worked(prompt, steps, cheaper, "medium")


def change_from_note(dice: Dice) -> Worked:
    """Several pieces of one thing paid with a note."""
    name, food, pieces = dice.pick(NAMES), dice.pick(FOODS), dice.between(2, 9)
    each = dice.between(9, 44) * 5
    total = pieces * each
    note = next(note for note in (1000, 2000, 5000) if note > total)
    prompt = dice.pick(
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
    return Worked(prompt, steps, money(note - total), "easy")


def bill_with_tip(dice: Dice) -> Worked:
    """A restaurant bill with a tip, shared equally."""
    people, percent = dice.between(2, 6), dice.pick((10, 15, 20))
    bill = people * dice.between(4, 20) * 200
    tip = bill * percent // 100
    prompt = dice.pick(
        (
            f"{counted(people, _FRIEND).capitalize()} share a restaurant bill of {money(bill)} and add "
            f"a {percent}% tip. "
            "How much does each one pay?",
            f"A dinner costs {money(bill)}. With a {percent}% tip, the total is split equally among "
            f"{people} people. "
            "What is each share?",
        )
    )
    total = bill + tip
    steps = (
        ("calculation", f"Tip: {money(bill)} × {percent}/100 = {money(tip)}."),
        ("calculation", f"Total: {money(bill)} + {money(tip)} = {money(total)}."),
        ("answer", f"Each share: {money(total)} ÷ {people} = {money(total // people)}."),
    )
    return Worked(prompt, steps, money(total // people), "medium")


def simple_interest(dice: Dice) -> Worked:
    """Interest that is paid on the first sum only."""
    name, dollars, percent, years = (
        dice.pick(NAMES),
        dice.between(2, 40) * 100,
        dice.between(2, 8),
        dice.between(2, 6),
    )
    yearly = dollars * percent // 100
    prompt = dice.pick(
        (
            f"{name} puts ${dollars} into an account with {percent}% simple interest per year. How many "
            "dollars "
            f"are in the account after {years} years?",
            f"A loan of ${dollars} carries {percent}% simple interest a year. How many dollars must be "
            "paid back "
            f"after {years} years in total?",
        )
    )
    interest = yearly * years
    steps = (
        ("calculation", f"Interest in one year: ${dollars} × {percent}/100 = ${yearly}."),
        ("calculation", f"Interest in {years} years: {years} × ${yearly} = ${interest}."),
        ("answer", f"Total: ${dollars} + ${interest} = ${dollars + interest}."),
    )
    return Worked(prompt, steps, f"${dollars + interest}", "medium")


def savings_goal(dice: Dice) -> Worked:
    """Weeks until a goal is reached from savings and a weekly amount."""
    name, good = dice.pick(NAMES), dice.pick(GOODS)
    weekly, weeks, saved = dice.between(4, 15), dice.between(4, 20), dice.between(10, 60)
    price = saved + weekly * weeks
    prompt = dice.pick(
        (
            f"{name} has ${saved} and saves ${weekly} a week for {with_article(good.one)} that costs "
            f"${price}. "
            "After how many weeks can it be bought?",
            f"{with_article(good.one).capitalize()} costs ${price}. {name} already has ${saved} and "
            "puts aside "
            f"${weekly} every week. How many weeks does it take?",
        )
    )
    steps = (
        ("calculation", f"Still missing: ${price} - ${saved} = ${price - saved}."),
        ("calculation", f"{price - saved} ÷ {weekly} = {weeks}."),
        ("answer", f"It takes {counted(weeks, _WEEK)}."),
    )
    return Worked(prompt, steps, str(weeks), "easy")


def stall_profit(dice: Dice) -> Worked:
    """Revenue minus the cost of making and a fixed fee."""
    food, pieces = dice.pick(BAKED), dice.between(20, 80)
    cost, price, fee = dice.between(1, 3), dice.between(4, 7), dice.between(5, 19)
    revenue, costs = pieces * price, pieces * cost
    prompt = dice.pick(
        (
            f"A stall sells {pieces} {food.many} at ${price} each. Making one costs ${cost}, and the "
            "stall itself "
            f"costs ${fee} for the day. What is the profit in dollars?",
            f"Making {food.many} costs ${cost} a piece. A student sells {pieces} of them for ${price} "
            "each and pays "
            f"${fee} for the table. How many dollars of profit are made?",
        )
    )
    profit = revenue - costs - fee
    steps = (
        ("calculation", f"Revenue: {pieces} × ${price} = ${revenue}."),
        ("calculation", f"Cost of making: {pieces} × ${cost} = ${costs}."),
        ("calculation", f"All costs: ${costs} + ${fee} = ${costs + fee}."),
        ("answer", f"Profit: ${revenue} - ${costs + fee} = ${profit}."),
    )
    return Worked(prompt, steps, f"${profit}", "medium")


def basket_total(dice: Dice) -> Worked:
    """Three lines of a receipt added up."""
    foods = dice.sample(FOODS, 3)
    amounts = [dice.between(2, 9) for _ in foods]
    prices = [dice.between(5, 60) * 5 for _ in foods]
    lines = [amount * price for amount, price in zip(amounts, prices, strict=True)]
    wants = [f"{n} {food.many} at {money(p)} each" for n, food, p in zip(amounts, foods, prices, strict=True)]
    prompt = dice.pick(
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
    return Worked(prompt, tuple(steps), money(sum(lines)), "medium")


MONEY = families(
    "money", "reasoning",
    discount_then_tax, better_buy, change_from_note, bill_with_tip, simple_interest, savings_goal,
    stall_profit, basket_total,
)  # fmt: skip
