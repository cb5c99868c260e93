"""Exact and near duplicates: MinHash candidates, verified by exact Jaccard similarity."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from pydantic_core import from_json
from rensa import RMinHash

from tunix_rt.datasets.rows import RowFacts, jaccard, numbers_key, shingles, solution_text, words
from tunix_rt.datasets.types import Removal, RemovalReason, RemovedPair

NUM_PERMUTATIONS = 128
MAX_BUCKET = 32
"""Texts indexed per band value. Thousands of rows from one template share the bands of its fixed words; the
bands of their distinct words still separate them."""
_SEED = 1
_ROWS_PER_BAND = (8, 4, 2)
_MISS_RATE = 1e-4
# Four standard deviations of the MinHash estimate at 0.8, sqrt(0.16 / 128), so that no match is lost.
_ESTIMATE_SLACK = 0.15


class NearDuplicateIndex:
    """Indexes texts by their shingles and finds a sufficiently similar one, with bounded work per text.

    Args:
        threshold: minimum Jaccard similarity of a match.
        shingles_of: returns the shingles of an indexed text by its key. It is called for candidates only,
            so the index stores 128 numbers per text and no text.
    """

    def __init__(self, threshold: float, shingles_of: Callable[[int], set[str]]) -> None:
        self._threshold = threshold
        self._shingles_of = shingles_of
        self._num_bands = num_bands(threshold)
        self._signatures: dict[int, Any] = {}
        self._buckets: defaultdict[tuple[int, bytes], list[int]] = defaultdict(list)

    def find(self, shingles: set[str]) -> tuple[int, float] | None:
        """The lowest key with a sufficiently similar text, and the similarity."""
        signature = _signature(shingles)
        return self._find(signature, self._bands(signature), shingles)

    def find_or_add(self, key: int, shingles: set[str]) -> tuple[int, float] | None:
        """The match of a text, or None after indexing it under `key`."""
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


MAX_EXAMPLES = 20
_CACHED_SHINGLES = 256

Reasons = dict[int, tuple[str, float]]
"""Removed row -> (what it repeats, similarity)."""


def exact_duplicates(rows: Sequence[RowFacts], order: Iterable[int]) -> Reasons:
    """Rows with the question, steps and answer of an earlier row, whatever their metadata."""
    first: dict[bytes, int] = {}
    duplicates: Reasons = {}
    for index in order:
        kept = first.setdefault(rows[index].content_key, index)
        if kept != index:
            duplicates[index] = (str(rows[kept].id), 1.0)
    return duplicates


def near_duplicates(
    rows: Sequence[RowFacts], order: Iterable[int], *, threshold: float, row_json: Callable[[int], bytes]
) -> Reasons:
    """Rows that nearly repeat an earlier row.

    Rows with different numbers or answers are never duplicates, so only rows that agree in both are compared.
    """

    @lru_cache(maxsize=_CACHED_SHINGLES)
    def shingles_at(index: int) -> set[str]:
        trace = from_json(row_json(index))
        return shingles(words(f"{trace['prompt']}\n{solution_text(trace)}"))

    groups: defaultdict[bytes, list[int]] = defaultdict(list)
    for index in order:
        groups[numbers_key(from_json(row_json(index)))].append(index)
    duplicates: Reasons = {}
    for group in groups.values():
        if len(group) > 1:
            near = NearDuplicateIndex(threshold, shingles_at)
            for index in group:
                if (match := near.find_or_add(index, shingles_at(index))) is not None:
                    kept, similarity = match
                    duplicates[index] = (str(rows[kept].id), similarity)
    return duplicates


def removal(reason: RemovalReason, rows: Sequence[RowFacts], removed: Reasons) -> Removal:
    """The report of removed rows, with the first examples in id order."""
    shown = sorted((rows[index].id, *why) for index, why in removed.items())[:MAX_EXAMPLES]
    examples = tuple(
        RemovedPair(trace_id=trace_id, because_of=because_of, similarity=round(similarity, 4))
        for trace_id, because_of, similarity in shown
    )
    return Removal(reason=reason, num_rows=len(removed), examples=examples)
