"""The patterns that find numbers, operators, equalities and words in a text."""

import re
from collections.abc import Iterable

from tunix_rt.core.linting.ratios import Ratio, reduced
from tunix_rt.core.linting.vocabulary import (
    CONJUNCTIONS,
    FRACTION_WORDS,
    MULTIPLYING_WORDS,
    NUMBER_WORDS,
    OPERATOR_WORDS,
)

COMPOUNDS: dict[str, Ratio] = {
    f"{tens}-{units}": (NUMBER_WORDS[tens][0] + NUMBER_WORDS[units][0], 1)
    for tens in ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
    for units in ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
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
    """A pattern for any of the words that looks at each letter once: it runs at every word of a text.

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


def _scanner(letter: str) -> re.Pattern[str]:
    """The pattern that finds the pieces of a text one after the other, and the spaces after each.

    An empty group marks the end of most pieces: a branch that begins with its characters, and not with a
    group, is ruled out by its first character.
    """
    rest_of_word = rf"(?:['’&]{letter}+|-{letter}{{2,}})*+"
    pieces = (
        # A number, and what is attached to it: percent, a time or ratio, decimal comma, ordinal, version.
        r"(\d(?:\d{0,2}(?:,\d{3})+(?!\d)|\d*+)(?:\.\d+)?(?:e[+-]?\d{1,3}(?![\da-z]))?|\.\d+)"
        r"((?:\.\.\.|…)?\s?%(?!\s?\d)|\.\.\.|…|\spercent\b|:\d+(?::\d+)*|,\d[\d.,]*"
        r"|(?:st|nd|rd|th)s?\b|\.\d[\d.,]*)?",
        # A run of plain words, in one match because most of a text is that.
        rf"(?:(?!{_any_of(_WORDS_WITH_MEANING)}\b){letter}{{2,}}+{rest_of_word}\s?)++()",
        r"[-+*/^()=≈≅~×✕·⋅∙∗÷−–√½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞\x1e\x1f](?!(?<=\*)\*)()",
        r"[.,;:!?\n|\[\]{}\"“”…—→⇒>]()",
        # An implied equality: "is" and the like, right before a number.
        rf"{_any_of(_IMPLYING | {'total of'})}\b(?=\s(?:only\s|just\s|about\s|you\s|us\s)?[$€£¢]?[\d.])()",
        # Any other word; an abbreviated unit keeps its dot, so that it does not end the expression.
        rf"(?:{_any_of(_ABBREVIATIONS)}\.(?=\s*[*/+=x×÷)\-a-z])|{letter}+{rest_of_word})()",
        r"(?<=[\d)])\*\*(?=[\d(])()",
        # Markdown and tags say nothing.
        r"\*\*+|</?\w[^<>]{0,40}>",
    )
    return re.compile(f"(?:{'|'.join(pieces)}) *+")


SCANNER = _scanner(r"[^\W\d_]")
ASCII_SCANNER = _scanner("[a-z]")
"""Finds the same in a lower-case ASCII text, faster."""
(
    NUMBER,
    TAIL,
    PLAIN_WORDS_END,
    SYMBOL_ENDS,
    STOP_ENDS,
    IMPLIED_ENDS,
    WORD_ENDS,
    POWER_ENDS,
) = range(1, 9)
OPERAND_FOLLOWS = re.compile(r"\s*[$€£¢(]*\s*(?:[\d(½⅓⅔¼¾]|\.\d|the \d)")
WORD_OPERAND_FOLLOWS = re.compile(
    rf"\s(?:by |by the |the )?(?:[$€£¢(]*[\d.(½⅓⅔¼¾]|(?:{'|'.join(NUMBER_WORDS)})\b)"
)
UNIT_FOLLOWS = re.compile(r"[^\W\d_]|\s[^\W\d_]{2}")
TOUCHES_OPERATOR = re.compile(r"[-+*/^=(].|.?[ai][-+*/^=)]")
