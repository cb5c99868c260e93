"""Which rows of a dataset say the same thing as another one."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from pydantic_core import from_json

from tunix_rt.core.dataset import Removal, RemovalReason, RemovedPair
from tunix_rt.core.dataset_rows import RowFacts, numbers_key, solution_text
from tunix_rt.core.similarity import shingles, words
from tunix_rt.services.near_duplicates import NearDuplicateIndex

MAX_EXAMPLES = 20
_CACHED_SHINGLES = 256

Duplicates = dict[int, tuple[int, float]]
"""Row that goes -> (row that stays, similarity)."""


def exact_duplicates(rows: Sequence[RowFacts], order: Iterable[int]) -> Duplicates:
    """Rows whose question, steps and answer an earlier row has too, whatever their meta data."""
    first: dict[bytes, int] = {}
    found: Duplicates = {}
    for index in order:
        kept = first.setdefault(rows[index].content_key, index)
        if kept != index:
            found[index] = (kept, 1.0)
    return found


def near_duplicates(
    order: Iterable[int], *, threshold: float, row_json: Callable[[int], bytes]
) -> Duplicates:
    """Rows that an earlier row almost repeats.

    Two rows with other numbers or another answer are never duplicates, so only rows that agree in those
    are compared at all.
    """
    found: Duplicates = {}
    for group in _groups_with_same_numbers(order, row_json):
        found.update(_near_duplicates_in(group, threshold, row_json))
    return found


def _groups_with_same_numbers(order: Iterable[int], row_json: Callable[[int], bytes]) -> Iterable[list[int]]:
    groups: defaultdict[bytes, list[int]] = defaultdict(list)
    for index in order:
        groups[numbers_key(from_json(row_json(index)))].append(index)
    return (group for group in groups.values() if len(group) > 1)


def _near_duplicates_in(group: list[int], threshold: float, row_json: Callable[[int], bytes]) -> Duplicates:
    @lru_cache(maxsize=_CACHED_SHINGLES)
    def shingles_at(index: int) -> set[str]:
        return row_shingles(row_json(index))

    index = NearDuplicateIndex(threshold, shingles_at)
    matches = ((key, index.find_or_add(key, shingles_at(key))) for key in group)
    return {key: match for key, match in matches if match is not None}


def row_shingles(row: bytes) -> set[str]:
    """The word triples of the question and the solution of a row."""
    trace = from_json(row)
    return shingles(words(f"{trace['prompt']}\n{solution_text(trace)}"))


def removal(reason: RemovalReason, rows: Sequence[RowFacts], duplicates: Duplicates) -> Removal:
    """The report of rows that went, with the first examples in the order of the ids."""
    examples = sorted(duplicates, key=lambda index: rows[index].id)[:MAX_EXAMPLES]
    return Removal(
        reason=reason,
        num_rows=len(duplicates),
        examples=tuple(_pair(rows, index, *duplicates[index]) for index in examples),
    )


def _pair(rows: Sequence[RowFacts], index: int, kept: int, similarity: float) -> RemovedPair:
    return RemovedPair(
        trace_id=rows[index].id, because_of=str(rows[kept].id), similarity=round(similarity, 4)
    )
