"""What a trace is found by: the words of its text, and one token for each label of its `meta`.

The words are cut here, not by the databases, whose parsers disagree about numbers and punctuation: a search
has the same answers on all of them.
"""

import hashlib
import re
from functools import lru_cache

from tunix_rt.core.trace import Trace, labels_of

_WORD = re.compile(r"[^\W_]+")
_WORD_OR_PREFIX = re.compile(r"([^\W_]+)(\*?)")
_ASCII_SEPARATORS = bytes(code if code < 128 and chr(code).isalnum() else ord(" ") for code in range(256))
# A private-use character: SQLite takes it for a letter, and no word has it, so labels and words never meet.
_LABEL_MARK = "\ue000"
MAX_WORD_CHARS = 64
MAX_WORDS = 20_000
"""Distinct words beyond this many in one trace are not found by search (a tsvector has a limit)."""


def tokens_of(trace: Trace) -> list[str]:
    """The distinct words of prompt, steps and answer, and the labels."""
    parts = [trace.prompt, *[step.content for step in trace.steps], trace.final_answer]
    words = dict.fromkeys(_words("\n".join(parts).casefold()))
    tokens = [word if len(word) <= MAX_WORD_CHARS else word[:MAX_WORD_CHARS] for word in words]
    return tokens[:MAX_WORDS] + [label_token(name, value) for name, value in labels_of(trace)]


def query_tokens(query: str) -> list[str]:
    """The words that must all occur; a `*` right after a word makes it a prefix."""
    return [word[:MAX_WORD_CHARS] + star for word, star in _WORD_OR_PREFIX.findall(query.casefold())]


@lru_cache(maxsize=10_000)
def label_token(name: str, value: str) -> str:
    """A label as one token; names and values of any length and alphabet become 16 characters."""
    digest = hashlib.blake2b(f"{name}\0{value}".encode(), digest_size=8).hexdigest()
    return _LABEL_MARK + digest


def _words(folded: str) -> list[str]:
    if folded.isascii():
        # The same words three times faster, and most text is of this kind.
        return folded.encode().translate(_ASCII_SEPARATORS).decode().split()
    return _WORD.findall(folded)
