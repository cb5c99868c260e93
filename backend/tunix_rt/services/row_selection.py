"""From the rows that the filters matched to the rows of the dataset, with a reason for each that went."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tunix_rt.core.dataset import Removal, RemovedPair
from tunix_rt.core.dataset_rows import RowFacts
from tunix_rt.core.dataset_spec import DatasetSpec
from tunix_rt.core.splitting import unit_hash
from tunix_rt.services.contamination import Match
from tunix_rt.services.deduplication import MAX_EXAMPLES, exact_duplicates, near_duplicates, removal


@dataclass(frozen=True)
class Selection:
    """The indexes of the rows that stay, in trace id order, and why the others went."""

    kept: list[int]
    removals: list[Removal]


def select_rows(
    spec: DatasetSpec,
    rows: Sequence[RowFacts],
    matches: Mapping[int, Match],
    row_json: Callable[[int], bytes],
) -> Selection:
    """Apply the spec: contaminated rows, duplicates, rows per question, limit.

    The result depends on the rows alone, not on the order in which they came.
    """
    kept = sorted(range(len(rows)), key=lambda index: rows[index].id)
    removals: list[Removal] = []
    if spec.remove_contaminated:
        removals.append(_contaminated(rows, [index for index in kept if index in matches], matches))
        kept = _without(kept, matches)
    if spec.dedup != "none":
        duplicates = exact_duplicates(rows, kept)
        kept = _without(kept, duplicates)
        removals.append(removal("exact-duplicate", rows, duplicates))
    if spec.dedup == "near":
        duplicates = near_duplicates(kept, threshold=spec.near_threshold, row_json=row_json)
        kept = _without(kept, duplicates)
        removals.append(removal("near-duplicate", rows, duplicates))
    for reason, cut in (("max-per-prompt", _first_per_question), ("limit", _within_limit)):
        shorter = cut(spec, rows, kept)
        removals.append(Removal.model_validate({"reason": reason, "num_rows": len(kept) - len(shorter)}))
        kept = shorter
    return Selection(kept, [entry for entry in removals if entry.num_rows])


def _without(kept: Iterable[int], gone: Mapping[int, object]) -> list[int]:
    return [index for index in kept if index not in gone]


def _contaminated(rows: Sequence[RowFacts], gone: Sequence[int], matches: Mapping[int, Match]) -> Removal:
    examples = tuple(
        RemovedPair(
            trace_id=rows[index].id,
            because_of=f"{matches[index].evalset}/{matches[index].item_id}",
            similarity=matches[index].similarity,
        )
        for index in gone[:MAX_EXAMPLES]
    )
    return Removal(reason="contaminated", num_rows=len(gone), examples=examples)


def _first_per_question(spec: DatasetSpec, rows: Sequence[RowFacts], kept: list[int]) -> list[int]:
    if spec.max_per_prompt is None:
        return kept
    seen: Counter[bytes] = Counter()
    chosen = []
    for index in kept:
        seen[rows[index].question_key] += 1
        if seen[rows[index].question_key] <= spec.max_per_prompt:
            chosen.append(index)
    return chosen


def _within_limit(spec: DatasetSpec, rows: Sequence[RowFacts], kept: list[int]) -> list[int]:
    if spec.limit is None or len(kept) <= spec.limit:
        return kept
    if spec.selection_strategy == "random":
        # A hash per row in place of a shuffle: the sample of a larger store changes as little as it can.
        ranked = sorted(kept, key=lambda index: unit_hash(str(rows[index].id), seed=spec.seed))
    else:
        ranked = sorted(kept, key=lambda index: (rows[index].created_at, rows[index].id), reverse=True)
    return sorted(ranked[: spec.limit], key=lambda index: rows[index].id)
