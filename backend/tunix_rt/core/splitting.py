"""Which side of a dataset a question is on, decided by the question alone."""

import hashlib
from collections.abc import Mapping


def unit_hash(text: str, *, seed: int) -> float:
    """A number in [0, 1) that only the seed and the text decide, the same on every machine."""
    digest = hashlib.blake2b(f"{seed}:{text}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def split_of(question: str, splits: Mapping[str, float], *, seed: int) -> str:
    """The split that a question belongs to.

    Rows of the same question always share a split, and adding other rows later never moves a question.

    Args:
        question: the normalised prompt.
        splits: fractions that sum to 1, in the order in which they divide [0, 1).
        seed: another seed gives another division.

    Example:
        hash 0.93, {"train": 0.9, "validation": 0.1} -> "validation"
    """
    position = unit_hash(question, seed=seed)
    names = list(splits)
    upper = 0.0
    for name in names[:-1]:
        upper += splits[name]
        if position < upper:
            return name
    return names[-1]
