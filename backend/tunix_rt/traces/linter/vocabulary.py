"""Number words, operator words and abbreviations, the patterns that find them, and the tokens they become."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

from tunix_rt.traces.linter.rationals import Ratio, reduced

TokenKind = Literal["number", "unknown", "(", ")", "+", "-", "*", "/", "^", "=", "~", "implied"]
"""The equalities are `=` (stated), `~` (approximate) and `implied` ("is", "for a total of")."""

SYMBOLS: dict[str, TokenKind] = {
    "+": "+", "-": "-", "−": "-", "–": "-", "*": "*", "×": "*", "✕": "*", "·": "*", "⋅": "*", "∙": "*",
    "∗": "*", "/": "/", "÷": "/", "⁄": "/", "^": "^", "(": "(", ")": ")", "=": "=", "≈": "~", "≅": "~",
    "~": "~",
}  # fmt: skip

VULGAR_FRACTIONS: dict[str, Ratio] = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5),
    "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8),
}  # fmt: skip

LETTER = r"[^\W\d_²³¹⁰⁴-⁹₀-₉½¼¾⅐-⅞]"
"""Python counts superscripts and fraction signs as word characters."""
SUPERSCRIPTS = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")

_BELOW_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL_NUMBERS = {word: value for value, word in enumerate(_BELOW_TWENTY.split())}
TENS = {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)}
SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
NUMBER_WORDS: dict[str, Ratio] = {word: (value, 1) for word, value in (SMALL_NUMBERS | TENS | SCALES).items()}

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

OPERATOR_WORDS: dict[str, TokenKind] = {
    "plus": "+", "minus": "-", "times": "*", "multiplied": "*", "divided": "/", "equals": "=", "equal": "=",
    "equalled": "=", "equaled": "=",
}  # fmt: skip

MULTIPLYING_WORDS: dict[str, Ratio] = {"twice": (2, 1), "double": (2, 1), "triple": (3, 1)}
"""Words that multiply the number after them: `twice 24`."""

APPROXIMATION_WORDS = (
    "about", "approx", "around", "round", "nearest", "nearly", "almost", "roughly", "≈", "whole", "remain",
    "left over", "leftover",
)  # fmt: skip
"""Near one of these, a result may be off by less than one unit of its last digit."""

CONJUNCTIONS = frozenset("because so then since therefore thus hence but if when while".split())
"""Words that start another statement: no expression extends across them."""

COMPOUNDS: dict[str, Ratio] = {
    f"{tens}-{units}": (tens_value + units_value, 1)
    for tens, tens_value in TENS.items()
    for units, units_value in SMALL_NUMBERS.items()
    if 0 < units_value < 10
} | {
    f"{count}-{part}": reduced((NUMBER_WORDS[count][0], share[1]))
    for count in ("one", "two", "three", "four", "five", "seven", "nine")
    for part, share in FRACTION_WORDS.items()
}
"""`twenty-five` and `two-thirds`."""
_IMPLYING = frozenset(
    "is are was were give gives make makes leave leaves total totals totaling or get gets".split()
)
_ABBREVIATIONS = frozenset("ft sq lb lbs oz hr hrs min mins yd yds".split())
_WORDS_WITH_MEANING = (
    NUMBER_WORDS.keys() | OPERATOR_WORDS.keys() | FRACTION_WORDS.keys() | MULTIPLYING_WORDS.keys()
    | CONJUNCTIONS | _IMPLYING | _ABBREVIATIONS | {"of"}
)  # fmt: skip


def _any_of(words: Iterable[str]) -> str:
    """A pattern for any of the words that inspects each letter once, because it runs at every word of a text.

    Example:
        "ten", "two", "twenty" -> "t(?:en|w(?:enty|o))"
    """
    rests: dict[str, set[str]] = {}
    for word in words:
        rests.setdefault(word[:1], set()).add(word[1:])
    is_complete = rests.pop("", None) is not None
    branches = [letter + _any_of(rests[letter]) for letter in sorted(rests)]
    pattern = branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
    return (f"(?:{pattern})?" if is_complete else pattern) if branches else ""


def _scanner(letter: str, *, is_ascii: bool, has_subscripts: bool) -> re.Pattern[str]:
    """The pattern that matches the parts of a text one after the other, each with the spaces after it.

    The name of the last matched group says which part it is. Most groups are empty and end their branch:
    the regex engine rejects a branch that starts with a character, not a group, by that character.
    """
    rest_of_word = rf"(?:['’&]{letter}+|-{letter}{{2,}})*+"
    parts = [
        # A number, and what is attached to it: percent, a time or ratio, decimal comma, ordinal, version.
        r"(?P<number>\d(?:\d{0,2}(?:,\d{3})+(?!\d)|\d*+)(?:\.\d+)?(?:e[+-]?\d{1,3}(?![\da-z]))?|\.\d+)"
        r"(?P<suffix>(?:\.\.\.|…)?\s?%(?!\s?\d)|\.\.\.|…|\spercent\b|:\d+(?::\d+)*|,\d[\d.,]*"
        r"|(?:st|nd|rd|th)s?\b|\.\d[\d.,]*)?",
        # A run of plain words, in one match because most of a text is that.
        rf"(?:(?!{_any_of(_WORDS_WITH_MEANING)}\b){letter}{{2,}}+{rest_of_word}\s?)++(?P<plain_words>)",
        r"[-+*/⁄^()=≈≅~×✕·⋅∙∗÷−–±∓√∛∜½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞\x1e\x1f](?!(?<=\*)\*)(?P<symbol>)",
        r"[.,;:!?\n|\[\]{}\"“”…—→⇒>](?P<stop>)",
        # An implied equality: "is" and the like, right before a number.
        rf"{_any_of(_IMPLYING | {'total of'})}\b"
        r"(?=\s(?:only\s|just\s|about\s|you\s|us\s)?[$€£¢]?[\d.])(?P<implied>)",
        # Any other word; an abbreviated unit keeps its dot, so that it does not end the expression.
        rf"(?:{_any_of(_ABBREVIATIONS)}\.(?=\s*[*/+=x×÷)\-a-z])|{letter}+{rest_of_word})(?P<word>)",
        r"(?<=[\d)])\*\*(?=[\d(])(?P<power>)",
        # Markdown and tags are skipped.
        r"\*\*+|</?\w[^<>]{0,40}>",
        r"<(?P<comparison>)",
    ]
    if not is_ascii:
        parts.insert(0, r"[⁻⁺]?[⁰¹²³⁴-⁹]+(?P<superscript>)")
    if has_subscripts:
        # `x_1`, `a_(n+1)`, `x₁`: a letter and its index are one name.
        index = r"_(?:[a-z\d]+|\([^()]{1,20}\))|[₀-₉]+"
        parts.insert(0, rf"(?<!{letter}){letter}(?:{index})(?P<subscript>)")
    return re.compile(f"(?:{'|'.join(parts)}) *+")


_SCANNERS = {
    (is_ascii, has_subscripts): _scanner(
        "[a-z]" if is_ascii else LETTER, is_ascii=is_ascii, has_subscripts=has_subscripts
    )
    for is_ascii in (True, False)
    for has_subscripts in (True, False)
}
_SUBSCRIPT = re.compile("[_₀-₉]")


def scanner_for(text: str) -> re.Pattern[str]:
    """The pattern for the parts of a lower-case text; the one for ASCII without indexes is the fastest."""
    return _SCANNERS[text.isascii(), _SUBSCRIPT.search(text) is not None]


OPERAND_FOLLOWS = re.compile(r"\s*[$€£¢(]*\s*(?:[\d(½⅓⅔¼¾]|\.\d|the \d)")
WORD_OPERAND_FOLLOWS = re.compile(
    rf"\s(?:by |by the |the )?(?:[$€£¢(]*[\d.(½⅓⅔¼¾]|(?:{'|'.join(NUMBER_WORDS)})\b)"
)
UNIT_FOLLOWS = re.compile(rf"{LETTER}|\s{LETTER}{{2}}")
TOUCHES_OPERATOR = re.compile(r"[-+*/^=(].|.?[ai][-+*/^=)]")

BREAK = 99
"""The gap of a token that punctuation separates from the one before it."""


class Token(NamedTuple):
    """A part of a calculation, with its position in the text."""

    kind: TokenKind
    start: int
    end: int
    gap: int = 0
    """Words between this token and the one before it; at least `BREAK` across punctuation."""
    value: Ratio = (0, 1)
    """In lowest terms, so that equal numbers are equal tuples."""
    decimals: int = 0
    is_percent: bool = False
    name: str = ""
    """The name of an unknown, or the spelling of a number: `word`, `fraction`, `scaled`, `pi`, `scientific`,
    `root`."""


@lru_cache(maxsize=4096)  # texts repeat the same small numbers
def read_number(digits: str) -> tuple[Ratio, int]:
    """The value of a number as written, and how many decimals it was written with.

    Example:
        "1,250.50" -> (2501, 2), 2; "3.3e4" -> (33000, 1), -3
    """
    if digits.isdigit():
        return (int(digits), 1), 0
    mantissa, _, exponent = digits.replace(",", "").partition("e")
    whole, _, decimals = mantissa.partition(".")
    value: Ratio = (int(whole + decimals), 10 ** len(decimals))
    shift = int(exponent or "0")
    if shift:
        value = (value[0] * 10**shift, value[1]) if shift > 0 else (value[0], value[1] * 10**-shift)
    return reduced(value), len(decimals) - shift
