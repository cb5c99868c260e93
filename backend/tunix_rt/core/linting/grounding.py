"""Where numbers and words come from: the prompt, earlier steps, or nowhere."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from tunix_rt.core.linting.claims import StepReading
from tunix_rt.core.linting.ratios import Ratio, apply, reduced
from tunix_rt.core.linting.tokens import Token, read_number
from tunix_rt.core.linting.vocabulary import FRACTION_WORDS, MULTIPLE_WORDS, NUMBER_WORDS

COUNTABLE = 12
"""Whole numbers up to here may be counted by the reader: names in a list, sides of a box, months."""
_COMMON_KNOWLEDGE = frozenset(
    {
        (n, 1)
        for n in (14, 15, 16, 18, 20, 24, 25, 28, 30, 31, 36, 48, 50, 52, 60, 90, 100, 180, 360, 365, 366)
    }
    | {(n, 1) for n in (1000, 1440, 1760, 2000, 3600, 5280, 10_000, 1_000_000)}
    | {(157, 50), (3927, 1250), (22, 7), (981, 100), (49, 5)}
    | {(1, n) for n in (2, 3, 4, 5, 8, 10, 20, 100)}
)
"""Units of time, length, money and percentage, and their usual fractions; pi and gravity."""
_QUANTITIES = NUMBER_WORDS | MULTIPLE_WORDS | FRACTION_WORDS
_QUANTITY_WORDS = frozenset(_QUANTITIES)
# It begins with a set of characters, so that the search skips all others at once.
_NUMBER = re.compile(
    r"([\d.](?:(?<=\.)\d{1,40}|(?<=\d)(?:\d{0,2}(?:,\d{3})+(?!\d)|\d{0,39})(?:\.\d{1,40})?))(?:/(\d{1,40}))?"
)
_WHOLE_BEFORE = re.compile(r"(?<!\d)(\d{1,6}) (?:and )?$")
_MAX_PAIRS = 40
MAX_UNEXPLAINED = 50
"""After this many in one trace, further numbers are not traced: the verdict is clear."""


class KnownNumbers:
    """The numbers that a step may use without explaining them."""

    def __init__(self, prompt: str, prompt_words: Iterable[str]) -> None:
        self.values: dict[Ratio, None] = dict.fromkeys(written_numbers(prompt))
        self.num_unexplained = 0
        # Sorted: the order of a set differs from one process to the next, and the latest numbers count more.
        for word in sorted(_QUANTITY_WORDS.intersection(prompt_words)):
            self.add(_QUANTITIES[word])

    def add(self, value: Ratio) -> None:
        """From here on, steps may use this number."""
        self.values[reduced(value)] = None

    def explains(self, token: Token) -> bool:
        """Whether a number was given, is common knowledge, or is one calculation away from known ones."""
        value = token.value
        if value in self.values or value in _COMMON_KNOWLEDGE or (value[1] == 1 and value[0] <= COUNTABLE):
            return True
        return any(other in self.values for other in _other_forms(value)) or self._is_one_operation_away(
            value
        )

    def _is_one_operation_away(self, value: Ratio) -> bool:
        """Mental arithmetic: `48 - 20` may be written as 28 without showing it."""
        for known in islice(reversed(self.values), _MAX_PAIRS):
            others = (apply("-", value, known), apply("+", value, known), apply("/", value, known))
            product = apply("*", value, known)
            if any(other is not None and reduced(other) in self.values for other in (*others, product)):
                return True
            if value[0] and known[0] and reduced((known[0] * value[1], known[1] * value[0])) in self.values:
                return True
        return False


def written_numbers(text: str) -> Iterator[Ratio]:
    """The numbers of a text, cheaply: only digits, and quotients of neighbours (`3/4`, `1 1/2`)."""
    for match in _NUMBER.finditer(text):
        value = read_number(match[1])[0]
        yield value
        if match[2] and match[2].strip("0"):
            share = reduced((value[0], value[1] * int(match[2])))
            yield share
            whole = _WHOLE_BEFORE.search(text, max(match.start() - 8, 0), match.start())
            if whole:
                yield reduced((int(whole[1]) * share[1] + share[0], share[1]))


def _other_forms(value: Ratio) -> Iterable[Ratio]:
    """20 % may be written 0.2, 0.8 (what is left) or 1.2 (with what is added); dollars as cents."""
    numerator, denominator = value
    yield reduced((numerator * 100, denominator))
    yield reduced((numerator, denominator * 100))
    yield reduced((100 * denominator - numerator, denominator))
    yield reduced((100 * (denominator - numerator), denominator))
    yield reduced((100 * (numerator - denominator), denominator))
    if numerator > 0:
        yield denominator, numerator


def unexplained_numbers(reading: StepReading, known: KnownNumbers) -> list[Token]:
    """The numbers of a step that come from nowhere; `known` learns the numbers of the step.

    Results of the step's own claims are explained by these claims.
    """
    computed = {reduced(claim.result): None for claim in reading.claims if claim.result is not None}
    unexplained = []
    values = known.values
    for token in reading.numbers:
        value = token.value
        if value not in values:
            is_open = known.num_unexplained < MAX_UNEXPLAINED and value not in computed
            if is_open and not known.explains(token):
                unexplained.append(token)
                known.num_unexplained += 1
            values[value] = None
    values.update(computed)
    return unexplained
