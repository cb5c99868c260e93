"""Texts that say almost the same: candidates by MinHash, the verdict by exact Jaccard similarity."""

from collections.abc import Callable
from typing import Any

from rensa import RMinHash, RMinHashLSH

from tunix_rt.core.similarity import jaccard

NUM_PERMUTATIONS = 128
_SEED = 1
_ROWS_PER_BAND = (8, 4, 2)
_MISS_RATE = 1e-4
# Four standard deviations of the MinHash estimate, sqrt(0.25 / 128): a match is never lost to it.
_ESTIMATE_SLACK = 0.18


class NearDuplicateIndex:
    """Remembers texts by their shingles and finds one that is similar enough.

    Args:
        threshold: Jaccard similarity from which two texts match.
        shingles_of: the shingles of a remembered text by its key; called for candidates only, so that
            the index itself holds 128 numbers a text and no text.
    """

    def __init__(self, threshold: float, shingles_of: Callable[[int], set[str]]) -> None:
        self._threshold = threshold
        self._shingles_of = shingles_of
        self._signatures: dict[int, Any] = {}
        self._bands = RMinHashLSH(
            threshold=threshold, num_perm=NUM_PERMUTATIONS, num_bands=num_bands(threshold)
        )

    def find(self, shingles: set[str]) -> tuple[int, float] | None:
        """The lowest key whose text is similar enough, and how similar it is."""
        return self._find(_signature(shingles), shingles)

    def find_or_add(self, key: int, shingles: set[str]) -> tuple[int, float] | None:
        """The match of a text, or None after remembering it under `key`."""
        signature = _signature(shingles)
        match = self._find(signature, shingles)
        if match is None:
            self._signatures[key] = signature
            self._bands.insert(key, signature)
        return match

    def _find(self, signature: Any, shingles: set[str]) -> tuple[int, float] | None:
        for key in sorted(self._bands.query(signature)):
            if signature.jaccard(self._signatures[key]) < self._threshold - _ESTIMATE_SLACK:
                continue
            similarity = jaccard(shingles, self._shingles_of(key))
            if similarity >= self._threshold:
                return key, similarity
        return None


def num_bands(threshold: float) -> int:
    """The fewest bands that miss less than one pair in 10,000 at the threshold.

    A pair of similarity s shares a band of r rows with probability s**r.
    """
    for rows in _ROWS_PER_BAND:
        bands = NUM_PERMUTATIONS // rows
        if (1 - threshold**rows) ** bands < _MISS_RATE:
            return bands
    return NUM_PERMUTATIONS


def _signature(shingles: set[str]) -> Any:
    signature = RMinHash(num_perm=NUM_PERMUTATIONS, seed=_SEED)
    signature.update(list(shingles))
    return signature
