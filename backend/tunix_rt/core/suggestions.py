"""Did you mean …?"""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that offers the nearest known word, else lists all of them.

    Example:
        "reasonning", ["reasoning", "think"] -> "Did you mean 'reasoning'?"
    """
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    return f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(names)}."
