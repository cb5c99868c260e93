"""Units of measure and money, with the exact factors between those that measure the same thing."""

import re
from fractions import Fraction
from typing import NamedTuple

_INCH = Fraction(254, 10_000)
_POUND = Fraction(45_359_237, 100_000)
_GALLON = Fraction(3_785_411_784, 1_000_000)

# Dimension -> factor to its base unit -> names, symbols first. Lower case, singular.
_TABLE: dict[str, dict[Fraction | int, str]] = {
    "time": {1: "s second sec", 60: "min minute", 3600: "h hour hr", 86_400: "d day", 604_800: "week wk"},
    "calendar": {1: "month", 12: "year yr"},
    "length": {
        1: "m metre meter", Fraction(1, 1000): "mm millimetre millimeter", 1000: "km kilometre kilometer",
        Fraction(1, 100): "cm centimetre centimeter", _INCH: "in inch inche", 12 * _INCH: "ft foot feet",
        36 * _INCH: "yd yard", 63_360 * _INCH: "mi mile",
    },
    "area": {
        1: "m²", Fraction(1, 10**4): "cm²", Fraction(1, 10**6): "mm²", 10**6: "km²", 10**4: "ha hectare",
        _INCH**2: "in²", (12 * _INCH) ** 2: "ft²", (36 * _INCH) ** 2: "yd²", (63_360 * _INCH) ** 2: "mi²",
    },
    "volume": {
        1: "l litre liter", Fraction(1, 1000): "ml millilitre milliliter cm³", 1000: "m³",
        Fraction(1, 100): "cl centilitre centiliter", _GALLON: "gal gallon", _GALLON / 4: "qt quart",
        _GALLON / 8: "pt pint", _GALLON / 16: "cup",
    },
    "mass": {
        1: "g gram", Fraction(1, 1000): "mg milligram", 1000: "kg kilogram kilo", 10**6: "t tonne",
        _POUND: "lb pound", _POUND / 16: "oz ounce",
    },
    "speed": {
        1: "m/s", Fraction(1000, 3600): "km/h kph kmh", 63_360 * _INCH / 3600: "mph mi/h", 12 * _INCH: "ft/s",
    },
    "dollars": {1: "$ usd dollar", Fraction(1, 100): "¢ cent"},
    "euros": {1: "€ eur euro"},
    "pounds sterling": {1: "£ gbp"},
    "yen": {1: "¥ jpy yen"},
    "share": {1: "% percent"},
    "angle": {1: "° degree"},
    "Celsius": {1: "°c celsius"},
    "Fahrenheit": {1: "°f fahrenheit"},
}  # fmt: skip
_PHRASES = (
    (re.compile(r"\bper cent\b|\bpercentage points?\b"), "percent"),
    (re.compile(r"\b(?:square|sq\.?) ([^\W\d_]+)"), r"\1²"),
    (re.compile(r"\b(?:cubic|cu\.?) ([^\W\d_]+)"), r"\1³"),
    (re.compile(r" ?/ ?(?:hour|hr)\b| (?:per|an) hour\b"), "/h"),
    (re.compile(r" ?/ ?(?:second|sec)\b| (?:per|a) second\b"), "/s"),
    (re.compile(r"(?:° ?|degrees? )(?:c\b|celsius)"), "°c"),
    (re.compile(r"(?:° ?|degrees? )(?:f\b|fahrenheit)"), "°f"),
)


class Unit(NamedTuple):
    """What is measured, and how much of its base unit one of these is."""

    dimension: str
    factor: Fraction


_UNITS = {
    name: Unit(dimension, Fraction(factor))
    for dimension, names in _TABLE.items()
    for factor, spelled in names.items()
    for name in spelled.split()
}
MONEY = frozenset({"dollars", "euros", "pounds sterling", "yen"})


def find_unit(words: str) -> tuple[Unit | None, str]:
    """The unit that the words begin with, and the rest of them.

    Example:
        "square metres of grass" -> (area, 1), "of grass"
    """
    words = words.lower()
    for pattern, spelling in _PHRASES:
        words = pattern.sub(spelling, words)
    first, _, rest = words.strip().partition(" ")
    return _unit(first.rstrip(".,;")), rest.strip()


def _unit(name: str) -> Unit | None:
    if name in _UNITS:
        return _UNITS[name]
    base, power = (name[:-1], name[-1]) if name[-1:] in ("²", "³") else (name, "")
    base, slash, per = base.partition("/")
    symbol = _SYMBOLS.get(base) or _SYMBOLS.get(base.removesuffix("s"))
    return _UNITS.get(f"{symbol}{power}{slash}{per}") if symbol else None


# Every name of a unit -> its first name, which squares, cubes and rates are written with.
_SYMBOLS = {
    name: spelled.split()[0]
    for names in _TABLE.values()
    for spelled in names.values()
    for name in spelled.split()
}
