"""Numbers in English words as digits: `twenty-one eggs` -> `21 eggs`."""

import re
from fractions import Fraction

_SMALL = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
        " sixteen seventeen eighteen nineteen".split()
    )
}
_TENS = {
    word: 10 * value
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_DIGIT = "|".join(word for word, value in _SMALL.items() if 0 < value < 10)
_BELOW_100 = rf"(?:(?:{'|'.join(_TENS)})(?:[ -](?:{_DIGIT}))?|(?:{'|'.join(_SMALL)}))\b"
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
"""Read only as a whole answer."""


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
        if word in _SMALL or word in _TENS:
            group += _SMALL.get(word, 0) + _TENS.get(word, 0)
        elif word == "hundred":
            group *= 100
        elif word in SCALES:
            total, group = total + group * SCALES[word], 0
    return total + group
