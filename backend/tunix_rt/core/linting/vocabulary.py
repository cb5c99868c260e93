"""Words and signs that stand for numbers, operators and equality."""

from tunix_rt.core.linting.ratios import Ratio

SYMBOLS = {
    "+": "+", "-": "-", "−": "-", "–": "-", "*": "*", "×": "*", "✕": "*", "·": "*", "⋅": "*", "∙": "*",
    "∗": "*", "/": "/", "÷": "/", "^": "^", "(": "(", ")": ")", "=": "=", "≈": "~", "≅": "~", "~": "~",
}  # fmt: skip

VULGAR_FRACTIONS: dict[str, Ratio] = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5),
    "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8),
}  # fmt: skip

NUMBER_WORDS: dict[str, Ratio] = {
    "zero": (0, 1), "one": (1, 1), "two": (2, 1), "three": (3, 1), "four": (4, 1), "five": (5, 1),
    "six": (6, 1), "seven": (7, 1), "eight": (8, 1), "nine": (9, 1), "ten": (10, 1), "eleven": (11, 1),
    "twelve": (12, 1), "thirteen": (13, 1), "fourteen": (14, 1), "fifteen": (15, 1), "sixteen": (16, 1),
    "seventeen": (17, 1), "eighteen": (18, 1), "nineteen": (19, 1), "twenty": (20, 1), "thirty": (30, 1),
    "forty": (40, 1), "fifty": (50, 1), "sixty": (60, 1), "seventy": (70, 1), "eighty": (80, 1),
    "ninety": (90, 1), "hundred": (100, 1), "thousand": (1000, 1), "million": (1_000_000, 1),
    "billion": (1_000_000_000, 1),
}  # fmt: skip

FRACTION_WORDS: dict[str, Ratio] = {
    "half": (1, 2), "third": (1, 3), "quarter": (1, 4), "fourth": (1, 4), "fifth": (1, 5), "sixth": (1, 6),
    "seventh": (1, 7), "eighth": (1, 8), "ninth": (1, 9), "tenth": (1, 10), "thirds": (1, 3),
    "quarters": (1, 4), "fourths": (1, 4), "fifths": (1, 5), "sixths": (1, 6), "eighths": (1, 8),
    "tenths": (1, 10),
}  # fmt: skip

MULTIPLE_WORDS: dict[str, Ratio] = {
    "twice": (2, 1), "double": (2, 1), "doubled": (2, 1), "triple": (3, 1), "tripled": (3, 1),
    "thrice": (3, 1), "quadruple": (4, 1), "dozen": (12, 1), "pair": (2, 1), "couple": (2, 1),
    "single": (1, 1), "once": (1, 1), "both": (2, 1), "halved": (1, 2), "halves": (1, 2), "dozens": (12, 1),
}  # fmt: skip

OPERATOR_WORDS = {
    "plus": "+", "minus": "-", "times": "*", "multiplied": "*", "divided": "/", "equals": "=", "equal": "=",
    "equalled": "=", "equaled": "=",
}  # fmt: skip

MULTIPLYING_WORDS: dict[str, Ratio] = {"twice": (2, 1), "double": (2, 1), "triple": (3, 1)}
"""Words that multiply the number after them: `twice 24`."""

APPROXIMATION_WORDS = (
    "about", "approx", "around", "round", "nearest", "nearly", "almost", "roughly", "≈", "whole", "remain",
    "left over", "leftover",
)  # fmt: skip
"""Where one of these appears, a result may be off by less than one unit of its last digit."""

CONJUNCTIONS = frozenset("because so then since therefore thus hence but if when while".split())
"""Words that begin another statement: no expression reaches across them."""
