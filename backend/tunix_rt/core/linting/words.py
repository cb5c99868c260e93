"""Content words: what ties a step to its prompt, and what tells language from letter soup."""

import re

_WORD = re.compile(r"[^\W\d_]{3,}")
_ASCII_WORD = re.compile(r"[a-z]{3,}")
_STEM_CHARS = 5
MIN_LETTERS_TO_JUDGE = 40
MIN_WORDS_TO_JUDGE = 20
_LONGEST_WORD = 25
_LONGEST_RUN = re.compile(r"(.)\1{19,}", re.DOTALL)
_UNPRONOUNCEABLE = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}")

_COMMON_WORDS = frozenset(
    """the and that this with for are was were has have had will would can could should from they them their there
    then than these those which what when where who how many much more most some any all each every other another
    into onto over under about after before because since also only just very not but you your our his her its she
    him one two three four five six seven eight nine ten get gets got make makes made take takes took give gives
    gave use used using now out off per let need needs says said being been does did find first second next last
    total number answer step therefore thus hence""".split()
)


def content_words(text: str) -> set[str]:
    """The stems of the words that carry meaning.

    Example:
        "The clips that Natalia sold" -> {"clips", "natal", "sold"}
    """
    words = _WORD.findall(text.lower())
    return {word[:_STEM_CHARS] for word in words if word not in _COMMON_WORDS}


def num_words(text: str) -> int:
    """How many words of three letters or more a text has."""
    return len(_WORD.findall(text))


def is_gibberish(text: str) -> bool:
    """Whether a text is no language: one character over and over, the same few words, or letter soup.

    Example:
        "aaaa…" and "xkcd qwrt zzpf …" -> True; "Dog, cat and bird: three animals." -> False
    """
    if len(text) < MIN_LETTERS_TO_JUDGE:
        return False
    if _repeats_one_character(text):
        return True
    words = _ASCII_WORD.findall(text.lower())
    if len(words) >= MIN_WORDS_TO_JUDGE and len(set(words)) < len(words) / 5:
        return True
    return _is_letter_soup(words)


def _repeats_one_character(text: str) -> bool:
    longest = max((match.end() - match.start() for match in _LONGEST_RUN.finditer(text)), default=0)
    return longest * 2 > len(text)


def _is_letter_soup(words: list[str]) -> bool:
    letters = "".join(words)
    if len(letters) < MIN_LETTERS_TO_JUDGE:
        return False
    num_odd = sum(
        len(word) > _LONGEST_WORD or (_UNPRONOUNCEABLE.search(word) is not None and len(word) > 4)
        for word in words
    )
    # English and its neighbours have 35 to 45 % vowels; letters drawn at random have 19 %.
    vowel_share = sum(map(letters.count, "aeiouy")) / len(letters)
    return num_odd * 3 > len(words) or vowel_share < 0.27
