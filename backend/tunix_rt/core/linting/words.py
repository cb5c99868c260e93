"""Content words: what ties a step to its prompt, and what tells language from letter soup."""

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[^\W\d_]{3,}")
_ASCII_WORD = re.compile(r"[a-z]{3,}")
"""Finds the same in a lower-case ASCII text, in half the time."""
_STEM_CHARS = 5
MIN_LETTERS_TO_JUDGE = 40
MIN_WORDS_TO_JUDGE = 20
_LONG_OR_UNPRONOUNCEABLE = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}|[a-z]{26,}")
MIN_VOWEL_SHARE = 0.27
COMMON_VOWEL_SHARE = 0.33
"""English and its neighbours have 35 to 45 % vowels; letters drawn at random have 23 % (with y)."""

_COMMON_WORDS = frozenset(
    """the and that this with for are was were has have had will would can could should from they them
    their there then than these those which what when where who how many much more most some any all each
    every other another into onto over under about after before because since also only just very not but
    you your our his her its she him one two three four five six seven eight nine ten get gets got make
    makes made take takes took give gives gave use used using now out off per let need needs says said
    being been does did find first second next last total number answer step therefore thus hence""".split()
)


def words_of(text: str) -> list[str]:
    """The words of three letters or more, in lower case."""
    lowered = text.lower()
    return (_ASCII_WORD if lowered.isascii() else _WORD).findall(lowered)


def content_words(words: Iterable[str]) -> set[str]:
    """The stems of the words that carry meaning.

    Example:
        the words of "The clips that Natalia sold" -> {"clips", "natal", "sold"}
    """
    return {word[:_STEM_CHARS] for word in words if word not in _COMMON_WORDS}


class ContentWords:
    """The content words of some texts; their stems are cut only when somebody asks for them."""

    def __init__(self, *texts_words: Sequence[str]) -> None:
        self._pending = list(texts_words)
        self._stems: set[str] = set()

    def add(self, words: Sequence[str]) -> None:
        """Take the words of one more text."""
        self._pending.append(words)

    def num_shared(self, words: Sequence[str]) -> int:
        """How many content words of another text are among them."""
        for pending in self._pending:
            self._stems |= content_words(pending)
        self._pending.clear()
        return len(content_words(words) & self._stems)


def is_gibberish(text: str, words: Sequence[str]) -> bool:
    """Whether a text is no language: one character over and over, the same few words, or letter soup.

    Example:
        "aaaa…" and "xkcd qwrt zzpf …" -> True; "Dog, cat and bird: three animals." -> False
    """
    if len(text) < MIN_LETTERS_TO_JUDGE:
        return False
    distinct = set(words)
    if len(words) >= MIN_WORDS_TO_JUDGE and len(distinct) < len(words) / 5:
        return True
    return _is_letter_soup(distinct) or _repeats_one_character(text)


def _repeats_one_character(text: str) -> bool:
    """Whether one run of a character is more than half of the text: then it covers the middle."""
    middle = len(text) // 2
    character = text[middle]
    start, end = middle, middle
    while start > 0 and text[start - 1] == character:
        start -= 1
    while end < len(text) and text[end] == character:
        end += 1
    return 2 * (end - start) > len(text)


def _is_letter_soup(words: set[str]) -> bool:
    letters = "".join(words)
    if len(letters) < MIN_LETTERS_TO_JUDGE or not letters.isascii():
        return False
    vowel_share = sum(map(letters.count, "aeiouy")) / len(letters)
    if vowel_share > COMMON_VOWEL_SHARE:
        return False
    num_odd = sum(_LONG_OR_UNPRONOUNCEABLE.search(word) is not None for word in words)
    return vowel_share < MIN_VOWEL_SHARE or num_odd * 3 > len(words)
