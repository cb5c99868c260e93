"""Texts that say almost the same: candidates by MinHash, the verdict by exact Jaccard similarity."""

from array import array
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from rensa import RMinHash

from tunix_rt.core.similarity import jaccard

NUM_PERMUTATIONS = 128
MAX_BUCKET = 32
"""Texts remembered per band value. Thousands of rows of one template share the bands of its fixed words;
the bands that hold their own words still tell which of them are alike."""
_SEED = 1
_ROWS_PER_BAND = (8, 4, 2)
_MISS_RATE = 1e-4
# Four standard deviations of the MinHash estimate at 0.8, sqrt(0.16 / 128): a match is not lost to it.
_ESTIMATE_SLACK = 0.15


class NearDuplicateIndex:
    """Remembers texts by their shingles and finds one that is similar enough.

    The work per text is bounded, whatever the others look like.

    Args:
        threshold: Jaccard similarity from which two texts match.
        shingles_of: the shingles of a remembered text by its key; called for candidates only, so that
            the index itself holds 128 numbers a text and no text.
    """

    def __init__(self, threshold: float, shingles_of: Callable[[int], set[str]]) -> None:
        self._threshold = threshold
        self._shingles_of = shingles_of
        self._num_bands = num_bands(threshold)
        self._signatures: dict[int, Any] = {}
        self._buckets: defaultdict[tuple[int, bytes], list[int]] = defaultdict(list)

    def find(self, shingles: set[str]) -> tuple[int, float] | None:
        """The lowest key whose text is similar enough, and how similar it is."""
        signature = _signature(shingles)
        return self._find(signature, self._bands(signature), shingles)

    def find_or_add(self, key: int, shingles: set[str]) -> tuple[int, float] | None:
        """The match of a text, or None after remembering it under `key`."""
        signature = _signature(shingles)
        bands = self._bands(signature)
        match = self._find(signature, bands, shingles)
        if match is None:
            self._signatures[key] = signature
            for band in bands:
                if len(self._buckets[band]) < MAX_BUCKET:
                    self._buckets[band].append(key)
        return match

    def _bands(self, signature: Any) -> list[tuple[int, bytes]]:
        digest = array("I", signature.digest()).tobytes()
        width = len(digest) // self._num_bands
        return [(band, digest[band * width : (band + 1) * width]) for band in range(self._num_bands)]

    def _find(
        self, signature: Any, bands: list[tuple[int, bytes]], shingles: set[str]
    ) -> tuple[int, float] | None:
        candidates = {key for band in bands for key in self._buckets.get(band, ())}
        for key in sorted(candidates):
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
