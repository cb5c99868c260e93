"""Parse numbers with units from an answer."""

import re
from fractions import Fraction
from typing import NamedTuple

from tunix_rt.traces.linter import vocabulary
from tunix_rt.traces.linter.vocabulary import SMALL_NUMBERS, TENS

SCALES = vocabulary.SCALES | {"trillion": 10**12}
_DIGIT = "|".join(word for word, value in SMALL_NUMBERS.items() if 0 < value < 10)
_BELOW_100 = rf"(?:(?:{'|'.join(TENS)})(?:[ -](?:{_DIGIT}))?|(?:{'|'.join(SMALL_NUMBERS)}))\b"
_BELOW_1000 = rf"(?:{_BELOW_100}(?: hundred(?:(?: and)? {_BELOW_100})?)?)\b"
# A scale word alone belongs to digits before it (`3 million`), so a run begins with a smaller word.
_RUN = re.compile(
    rf"\b{_BELOW_1000}(?: (?:thousand|million|billion|trillion)(?:,? (?:and )?{_BELOW_1000})?\b){{0,4}}",
    re.IGNORECASE,
)
_MINUS = re.compile(r"\b(?:minus|negative)\s+(?=\d|[$€£])", re.IGNORECASE)
_AND_A_HALF = re.compile(r"\b(\d{1,9}) and (?:(?:a|1) half\b|(?=\d{1,9}/\d))", re.IGNORECASE)
_SPLIT = re.compile(r",? |-")

FRACTION_WORDS = {
    "half": Fraction(1, 2), "a half": Fraction(1, 2), "one half": Fraction(1, 2),
    "a third": Fraction(1, 3), "one third": Fraction(1, 3), "two thirds": Fraction(2, 3),
    "a quarter": Fraction(1, 4), "one quarter": Fraction(1, 4), "three quarters": Fraction(3, 4),
    "a fourth": Fraction(1, 4), "one fourth": Fraction(1, 4), "three fourths": Fraction(3, 4),
}  # fmt: skip
"""Parsed only as a complete answer."""


def words_as_digits(text: str) -> str:
    """The text with every run of number words as one number, its half and its sign.

    Example:
        "minus three hundred and five" -> "-305"
    """
    if text.isascii() and not any(letter.isalpha() for letter in text):
        return text
    text = _RUN.sub(lambda run: str(_value(run[0])), text)
    text = _AND_A_HALF.sub(
        lambda match: f"{match[1]} 1/2" if match[0].endswith("half") else f"{match[1]} ", text
    )
    return _MINUS.sub("-", text)


def _value(run: str) -> int:
    total = group = 0
    for word in _SPLIT.split(run.lower()):
        if word in SMALL_NUMBERS or word in TENS:
            group += SMALL_NUMBERS.get(word, 0) + TENS.get(word, 0)
        elif word == "hundred":
            group *= 100
        elif word in SCALES:
            total, group = total + group * SCALES[word], 0
    return total + group


MAX_CHARS = 300
"""A longer answer is not parsed as a number."""
_MAX_EXPONENT = 400

_CURRENCIES = "$€£¥₹₩₽₺"
_WHOLE = r"\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:'\d{3})+(?!\d)|\d{1,3}(?: \d{3})+(?![\d/]| \d)|\d+"
_DECIMAL = rf"(?:(?:{_WHOLE})(?:\.\d+)?|\.\d+)"
_POWER_OF_TEN = r"\s?[×*x·]\s?10\^[({]?(?P<power>[-+]?\d{1,4})[)}]?"
_NUMBER = re.compile(
    rf"(?P<sign>[-+]\s?)?(?P<currency>(?:US)?[{_CURRENCIES}]\s?|(?:USD|EUR|GBP)\s)?(?P<inner>[-+])?"
    rf"(?:(?P<mixed>\d{{1,9}})\s+(?P<top>\d{{1,9}})/(?P<bottom>\d{{1,9}})"
    rf"|(?P<number>{_DECIMAL})(?:[eE](?P<exponent>[-+]?\d{{1,4}})(?!\w)|{_POWER_OF_TEN})?"
    rf"(?:\s?/\s?(?P<below>-?{_DECIMAL}))?)"
    rf"(?P<thousands>[kK](?![a-zA-Z]))?(?:\s(?P<scale>{'|'.join(SCALES)})\b)?",
    re.IGNORECASE,
)
_GLUED = re.compile(r"[\w.,^]$")
"""The end of a gap that makes the following digits part of something else: `CO2`, `v1.2`, `3^2`."""
_SQUARES = re.compile(r"(?<=[^\W\d_])\^([23])(?!\d)")
_BARE_POWER = re.compile(r"(?<![\w.^×*·])(?<![×*·x]\s)10\^")
_SEPARATORS = str.maketrans("", "", ", '")
_BRACKETED = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
_ARITHMETIC = re.compile(r"(?:[\d\s+\-*/×÷x().^$%]|,(?=\d{3}))*")
_NAME = re.compile(r"[^\W\d][\w\s.:'()-]*")
"""The left side of an equation: `x`, `Total cost`."""
_UNKNOWN = re.compile(r"\b(?![aAI]\b)[^\W\d_]\b(?!\s*:)")
"""A single letter before a number: `x - 1` is not -1."""
_FUNCTION = re.compile(
    r"(?:sqrt|log|ln|sin|cos|tan|exp|abs)\s?[(\d]|\d\s?(?:log|ln|sin|cos|tan|exp)(?: [a-z]\b|x\b|\s?\()"
    r"|\bpi\b|\dpi\b|\b(?:square|cube) root of\b",
    re.IGNORECASE,
)
"""A number inside or beside a function: `sqrt(2)` and `2cos(x)` are not 2."""
_EMOJI = re.compile("[\U0001f300-\U0001faff\ufe0f\u20e3]")
_RATE = re.compile(r"(?<=[^\W\d_]|\s)/(?=[^\W\d_])")

_HEDGES = re.compile(
    r"\b(?:not|never|no|nor|neither|none|wrong|incorrect|false|than|least|most|under|over|above|below|between"
    r"|or|either|except|without|maybe|perhaps|possibly|unknown|cannot|impossible|unless|if|almost|nearly"
    r"|minimum|maximum|plus|minus|times|divided|squared|cubed|twice|thrice|double|triple|half|but|up to|might"
    r"|could|mod|factorial|dozens?|tens|hundreds|thousands|millions|billions|halves|thirds?|fourths?|fifths?"
    r"|sixths?|sevenths?|eighths?|ninths?|tenths?|elevenths?|twelfths?|hundredths?|thousandths?)\b|n't\b",
    re.IGNORECASE,
)
"""Words that modify the number next to them, or retract it."""
_UNEXPECTED_SIGNS = re.compile(rf"[^\w\s.,:;'\"()%°{_CURRENCIES}¢=≈~-]|_|-(?![^\W\d_])")
"""Characters that do not occur in a sentence about one number."""


class Measure(NamedTuple):
    """A number stated in an answer."""

    value: Fraction
    before: str
    """A currency sign, or empty."""
    after: str
    """The words after it: a unit, a noun, or empty."""


def parse_measures(text: str) -> tuple[Measure, ...]:
    """The numbers of an answer in plain spelling, in order; none if the words around them retract them.

    Example:
        "She makes $1,250.50 a day" -> (1250.5, "$", "a day"); "18 or 19" -> (); "12:30" -> ()
    """
    text = text.strip()
    if len(text) > MAX_CHARS:
        return ()
    if (fraction := FRACTION_WORDS.get(text.lower().replace("-", " "))) is not None:
        return (Measure(fraction, "", ""),)
    text = _EMOJI.sub("", text).strip()
    if bracketed := _BRACKETED.fullmatch(text):
        text = (bracketed[1] or bracketed[2] or "").strip()
    text = _after_equality(words_as_digits(text))
    text = _BARE_POWER.sub("1×10^", _SQUARES.sub(lambda power: "²" if power[1] == "2" else "³", text))
    if _FUNCTION.search(text):
        return ()
    matches = list(_NUMBER.finditer(text))
    ends, starts = [match.end() for match in matches], [match.start() for match in matches]
    gaps = [text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]
    if not matches or _has_unexpected_parts(matches[0], gaps):
        return ()
    measures = [_measure(match, following) for match, following in zip(matches, gaps[1:], strict=True)]
    known = tuple(measure for measure in measures if measure)
    if len(known) < len(measures):
        return ()
    is_pair = len(known) == 2 and known[0].value == known[1].value
    # `eighteen (18)` states one number twice.
    return known[:1] if is_pair and gaps[1].endswith("(") and gaps[2].startswith(")") else known


def parse_measure(text: str) -> Measure | None:
    """The number of an answer that states exactly one, else None."""
    measures = parse_measures(text)
    return measures[0] if len(measures) == 1 else None


def is_hedged(text: str) -> bool:
    """Whether a text negates, doubts or compares what it states: `not 18`, `18 or 19`, `at least 18`."""
    return _HEDGES.search(text) is not None


def _after_equality(text: str) -> str:
    """The right side of a simple equation such as `x = 18` or `9 * 2 = 18`, else the whole text."""
    *before, last = text.split("=")
    if not before or not last.strip():
        return text
    first, *others = before
    is_plain = _ARITHMETIC.fullmatch(first) or (_NAME.fullmatch(first) and not is_hedged(first))
    if is_plain and all(_ARITHMETIC.fullmatch(other) for other in others):
        return last.strip()
    return text


def _has_unexpected_parts(first: re.Match[str], gaps: list[str]) -> bool:
    """Whether the texts around the numbers, of which `first` is one, make them part of something else."""
    before = gaps[0]
    if any(_GLUED.search(gap) for gap in gaps[:-1]) or any(gap.endswith(":") for gap in gaps[1:-1]):
        return True
    if _UNKNOWN.search(before.replace("²", "").replace("³", "")):
        return True
    # A sign apart from its digits, with other text before it, is an operator: `I + 1`.
    if (first["sign"] or "").endswith(" ") and before.strip() and not before.rstrip().endswith(":"):
        return True
    rest = _RATE.sub(" ", " ".join(gaps))
    return bool(_UNEXPECTED_SIGNS.search(rest)) or is_hedged(rest)


def _measure(match: re.Match[str], following: str) -> Measure | None:
    """The number with its words; None if it is too large or divides by zero."""
    exponent = int(match["exponent"] or match["power"] or 0)
    if abs(exponent) > _MAX_EXPONENT:
        return None
    below = _decimal(match["bottom"] or match["below"] or "1")
    if not below:
        return None
    if match["mixed"]:
        value = int(match["mixed"]) + _decimal(match["top"]) / below
    else:
        value = _decimal(match["number"]) * Fraction(10) ** exponent / below
    value *= (1000 if match["thousands"] else 1) * SCALES.get((match["scale"] or "").lower(), 1)
    if "-" in (match["sign"] or "") + (match["inner"] or ""):
        value = -value
    return Measure(value, (match["currency"] or "").strip(), following.strip(" .,;:"))


def _decimal(digits: str) -> Fraction:
    return Fraction(digits.translate(_SEPARATORS))


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
