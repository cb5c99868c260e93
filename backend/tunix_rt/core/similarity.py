"""When two texts say the same: words, word triples, and the numbers they talk about."""

import re
from typing import NamedTuple

from tunix_rt.traces.types import normalised_prompt

SHINGLE_WORDS = 3

# Operators are words here: "12 + 30" and "12 - 30" are different questions.
_WORD = re.compile(r"\w+|[-+*/×÷=<>%^]")
_NUMBER = re.compile(r"\d[\d.,]*")


class Question(NamedTuple):
    """A prompt as it is compared with others."""

    text: str
    """Case and white space folded."""
    numbers: tuple[str, ...]
    """In reading order: "5 minus 3" is not "3 minus 5"."""


def question_of(prompt: str) -> Question:
    """The comparable form of a prompt."""
    text = normalised_prompt(prompt)
    return Question(text, tuple(numbers(text)))


def words(text: str) -> list[str]:
    """The words, numbers and operators of a text; case and other punctuation do not count.

    Example:
        "Tom has 3 apples, right?" -> ["tom", "has", "3", "apples", "right"]
    """
    return _WORD.findall(text.casefold())


def shingles(text_words: list[str], *, size: int = SHINGLE_WORDS) -> set[str]:
    """Every run of `size` words; a shorter text is one shingle.

    Example:
        ["a", "b", "c", "d"] -> {"a b c", "b c d"}
    """
    if len(text_words) <= size:
        return {" ".join(text_words)}
    columns = [text_words[start:] for start in range(size)]
    return set(map(" ".join, zip(*columns, strict=False)))


def jaccard(first: set[str], second: set[str]) -> float:
    """Shared part of two sets, from 0 (nothing) to 1 (equal)."""
    num_shared = len(first & second)
    num_all = len(first) + len(second) - num_shared
    return num_shared / num_all if num_all else 1.0


def numbers(text: str) -> list[str]:
    """The numbers of a text in reading order, without thousands separators.

    Example:
        "2 pens for $1,200.50" -> ["2", "1200.50"]
    """
    return [number.rstrip(".,").replace(",", "") for number in _NUMBER.findall(text)]
