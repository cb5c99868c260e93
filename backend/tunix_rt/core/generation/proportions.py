"""Percentages, ratios and scales."""

from fractions import Fraction

from tunix_rt.core.generation.dice import Dice
from tunix_rt.core.generation.english import NAMES, THINGS, decimal, noun
from tunix_rt.core.generation.family import Worked, families

_INGREDIENTS = (
    ("flour", "grams"),
    ("sugar", "grams"),
    ("milk", "millilitres"),
    ("rice", "grams"),
    ("broth", "millilitres"),
)
_GROUPS = (noun("member"), noun("pupil"), noun("visitor"), noun("employee"), noun("player"))


def percent_of(dice: Dice) -> Worked:
    """A percentage of a group, through one percent or ten percent."""
    group, percent, total = dice.pick(_GROUPS), dice.between(3, 19) * 5, dice.between(2, 40) * 20
    part = total * percent // 100
    one_percent = Fraction(total, 100)
    prompt = dice.pick(
        (
            f"What is {percent}% of {total}?",
            f"A club has {total} {group.many}, and {percent}% of them vote. How many {group.many} vote?",
            f"Of {total} {group.many}, {percent}% come by bike. How many is that?",
        )
    )
    steps = (
        ("calculation", f"One percent of {total} is {total} ÷ 100 = {decimal(one_percent)}."),
        ("calculation", f"{percent} × {decimal(one_percent)} = {part}."),
        ("answer", f"{percent}% of {total} is {part}."),
    )
    return Worked(prompt, steps, str(part), "easy")


def percent_change(dice: Dice) -> Worked:
    """A rise or fall in percent of the old value."""
    old, percent = dice.between(2, 30) * 20, dice.between(1, 15) * 5
    change = old * percent // 100
    rises = dice.chance(50)
    new = old + change if rises else old - change
    word = "rise" if rises else "fall"
    prompt = dice.pick(
        (
            f"The price of a ticket changes from ${old} to ${new}. By how many percent does it {word}?",
            f"Last year {old} people came to the fair, this year {new}. What is the {word} in percent?",
        )
    )
    gap = f"{new} - {old} = {change}" if rises else f"{old} - {new} = {change}"
    steps = (
        ("calculation", f"The change is {gap}."),
        ("calculation", f"As a part of the old value: {change} ÷ {old} = {decimal(Fraction(change, old))}."),
        ("answer", f"{decimal(Fraction(change, old))} × 100 = {percent}, so the {word} is {percent}%."),
    )
    return Worked(prompt, steps, f"{percent}%", "medium")


def whole_from_percent(dice: Dice) -> Worked:
    """The whole when a part and its percentage are known."""
    percent, share, thing = dice.pick((5, 10, 20, 25, 40, 50, 75)), dice.between(3, 45), dice.pick(THINGS)
    part = share * percent // 5
    whole = share * 20
    prompt = dice.pick(
        (
            f"{part} {thing.many} are {percent}% of a collection. How many {thing.many} are in the "
            "whole collection?",
            f"A box is {percent}% full when it holds {part} {thing.many}. How many {thing.many} fit in it?",
        )
    )
    one = Fraction(part, percent)
    steps = (
        ("calculation", f"One percent is {part} ÷ {percent} = {decimal(one)}."),
        ("calculation", f"The whole is 100 × {decimal(one)} = {whole}."),
        ("check", f"Check: {whole} × {percent}/100 = {part}."),
    )
    return Worked(prompt, steps, str(whole), "medium")


def ratio_share(dice: Dice) -> Worked:
    """A sum divided in a given ratio."""
    first, second = dice.sample(NAMES, 2)
    a, b = dice.sample(range(1, 9), 2)
    each, thing = dice.between(3, 25), dice.pick(THINGS)
    total = (a + b) * each
    prompt = dice.pick(
        (
            f"{first} and {second} share {total} {thing.many} in the ratio {a}:{b}. How many does "
            f"{second} get?",
            f"{total} {thing.many} are divided between {first} and {second} in the ratio {a} to {b}. "
            f"What is {second}'s share?",
        )
    )
    steps = (
        ("calculation", f"There are {a} + {b} = {a + b} parts."),
        ("calculation", f"One part is {total} ÷ {a + b} = {each}."),
        ("answer", f"{second} gets {b} × {each} = {b * each}."),
    )
    return Worked(prompt, steps, str(b * each), "medium")


def recipe_scaling(dice: Dice) -> Worked:
    """An amount for another number of servings."""
    ingredient, unit = dice.pick(_INGREDIENTS)
    servings, wanted = dice.sample(range(2, 13), 2)
    each = dice.between(3, 16) * 5
    amount = servings * each
    prompt = dice.pick(
        (
            f"A recipe for {servings} people needs {amount} {unit} of {ingredient}. How many {unit} are "
            "needed for "
            f"{wanted} people?",
            f"{amount} {unit} of {ingredient} make {servings} servings. How many {unit} make {wanted} "
            "servings?",
        )
    )
    steps = (
        ("calculation", f"For one person: {amount} ÷ {servings} = {each}."),
        ("calculation", f"For {wanted} people: {wanted} × {each} = {wanted * each}."),
        ("answer", f"{wanted * each} {unit} of {ingredient} are needed."),
    )
    return Worked(prompt, steps, str(wanted * each), "easy")


def map_scale(dice: Dice) -> Worked:
    """A distance on a map turned into kilometres."""
    halves, km_per_cm = dice.between(5, 39), dice.between(2, 12) * 2
    centimetres = Fraction(halves, 2)
    km = halves * km_per_cm // 2
    prompt = dice.pick(
        (
            f"On a map, 1 cm stands for {km_per_cm} km. Two towns are {decimal(centimetres)} cm apart "
            "on the map. "
            "How many kilometres apart are they?",
            f"A map has the scale 1 cm to {km_per_cm} km. How many kilometres long is a road that measures "
            f"{decimal(centimetres)} cm?",
        )
    )
    steps = (
        ("setup", f"Every centimetre on the map is {km_per_cm} km in reality."),
        ("calculation", f"{decimal(centimetres)} × {km_per_cm} = {km}."),
        ("answer", f"The distance is {km} km."),
    )
    return Worked(prompt, steps, str(km), "easy")


PROPORTIONS = families(
    "proportions", "reasoning",
    percent_of, percent_change, whole_from_percent, ratio_share, recipe_scaling, map_scale,
)  # fmt: skip
