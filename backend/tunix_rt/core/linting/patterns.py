"""The patterns that find numbers, operators, equalities and words in a text."""

import re
from collections.abc import Iterable

from tunix_rt.core.linting.ratios import Ratio, reduced
from tunix_rt.core.linting.vocabulary import CONJUNCTIONS, FRACTION_WORDS, NUMBER_WORDS, OPERATOR_WORDS

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
_SPECIAL_WORDS = (
    NUMBER_WORDS.keys() | OPERATOR_WORDS.keys() | FRACTION_WORDS.keys() | COMPOUNDS.keys()
    | CONJUNCTIONS | {"of", "twice", "double", "triple"}
)  # fmt: skip

_IMPLYING = "is|are|was|were|gives?|makes?|leaves?|totals?|totaling|total of|or|gets?"
_ABBREVIATIONS = "ft|sq|lbs?|oz|hrs?|mins?|yds?"


def _any_of(words: Iterable[str]) -> str:
    """A pattern for any of the words that looks at the first letter once: it runs at every word of a text."""
    by_letter: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        by_letter.setdefault(word[0], []).append(word[1:])
    return "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())


_LETTERS = r"[^\W\d_]"
_REST_OF_WORD = rf"(?:['’&]{_LETTERS}+|-{_LETTERS}{{2,}})*+"
_WORDS_WITH_MEANING = _any_of(_SPECIAL_WORDS | set(_IMPLYING.split("|")) | set(_ABBREVIATIONS.split("|")))
_GROUPS = (
    # A run of plain words, in one match because most of a text is that.
    rf"((?:(?!(?:{_WORDS_WITH_MEANING})\b){_LETTERS}{{2,}}+{_REST_OF_WORD}\s?)++)",
    # A number, and what is attached to it: percent, a time or ratio, a decimal comma, an ordinal, a version.
    r"((?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e[+-]?\d{1,3}(?![\da-z]))?|\.\d+)"
    r"((?:\.\.\.|…)?\s?%(?!\s?\d)|\.\.\.|…|\spercent\b|:\d+(?::\d+)*|,\d[\d.,]*"
    r"|(?:st|nd|rd|th)s?\b|\.\d[\d.,]*)?",
    r"([-+/^()=≈≅~×✕·⋅∙∗÷−–√½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞\x1e\x1f]|\*(?!\*))",
    r"([.,;:!?\n|\[\]{}\"“”…—→⇒>])",
    # An implied equality: "is" and the like, right before a number.
    rf"((?:{_IMPLYING})\b(?=\s(?:only\s|just\s|about\s|you\s|us\s)?[$€£¢]?[\d.]))",
    # Any other word; an abbreviated unit keeps its dot, so that it does not end the expression.
    rf"((?:{_ABBREVIATIONS})\.(?=\s*[*/+=x×÷)\-a-z])|{_LETTERS}+{_REST_OF_WORD})",
    r"((?<=[\d)])\*\*(?=[\d(]))",
    # Markdown and tags say nothing.
    r"\*\*+|</?\w[^<>]{0,40}>",
)
SCANNER = re.compile("|".join(_GROUPS))
(
    GROUP_PLAIN_WORDS,
    GROUP_NUMBER,
    GROUP_TAIL,
    GROUP_SYMBOL,
    GROUP_STOP,
    GROUP_IMPLIED,
    GROUP_WORD,
    GROUP_POWER,
) = range(1, 9)
OPERAND_FOLLOWS = re.compile(r"\s*[$€£¢(]*\s*(?:[\d(½⅓⅔¼¾]|\.\d|the \d)")
WORD_OPERAND_FOLLOWS = re.compile(
    rf"\s(?:by |by the |the )?(?:[$€£¢(]*[\d.(½⅓⅔¼¾]|(?:{'|'.join(NUMBER_WORDS)})\b)"
)
UNIT_FOLLOWS = re.compile(r"[^\W\d_]|\s[^\W\d_]{2}")
TOUCHES_OPERATOR = re.compile(r"[-+*/^=(].|.?[ai][-+*/^=)]")
