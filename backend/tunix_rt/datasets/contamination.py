"""Check whether rows overlap with the questions of eval sets."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tunix_rt.base.assets import shipped_evalset_names, shipped_evalset_path
from tunix_rt.base.errors import DataError
from tunix_rt.datasets.dedup import NearDuplicateIndex
from tunix_rt.datasets.evalsets import load_evalset
from tunix_rt.datasets.rows import Question, RowFacts, question_of, shingles, words
from tunix_rt.datasets.types import (
    CheckedEvalSet,
    ContaminationReport,
    DatasetSpec,
    EvalItem,
    Overlap,
    OverlapKind,
    evalset_hash,
)

NEAR_THRESHOLD = 0.8
RUN_WORDS = 13
"""Length of the word n-grams, as in the GPT-3 contamination study."""
CONTAINED_FROM = 0.5
"""Minimum share of the n-grams of an item for a match; a shared instruction alone stays below it."""
MAX_OVERLAPS_KEPT = 100
_MAX_SHOWN = 5


@dataclass(frozen=True)
class EvalSet:
    """An eval set to compare with."""

    name: str
    items: Sequence[EvalItem]
    sha256: str


@dataclass(frozen=True)
class Match:
    """The eval item that a question overlaps with."""

    evalset: str
    item_id: str
    kind: OverlapKind
    similarity: float


def load_evalsets(evalsets_dir: Path) -> list[EvalSet]:
    """All shipped eval sets and all eval sets of the user."""
    shipped = [(name, shipped_evalset_path(name)) for name in shipped_evalset_names()]
    own = [(path.stem, path) for path in sorted(evalsets_dir.glob("*.jsonl"))]
    loaded = [(name, load_evalset(path)) for name, path in shipped + own]
    return [EvalSet(name, items, evalset_hash(items)) for name, items in loaded]


class ContaminationChecker:
    """Finds the eval item that a training question overlaps with."""

    def __init__(self, evalsets: Sequence[EvalSet]) -> None:
        self.evalsets = evalsets
        self._items = [(evalset.name, item) for evalset in evalsets for item in evalset.items]
        questions = [question_of(item.prompt) for _, item in self._items]
        self._exact = {question.text: index for index, question in reversed(list(enumerate(questions)))}
        self._numbers = [question.numbers for question in questions]
        self._shingles = [shingles(words(question.text)) for question in questions]
        self._near: dict[tuple[str, ...], NearDuplicateIndex] = {}
        self._runs: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        self._num_runs: list[int] = []
        for index, question in enumerate(questions):
            if question.numbers not in self._near:
                self._near[question.numbers] = NearDuplicateIndex(NEAR_THRESHOLD, self._shingles.__getitem__)
            self._near[question.numbers].find_or_add(index, self._shingles[index])
            runs = set(_runs(question))
            self._num_runs.append(len(runs))
            for run in runs:
                self._runs[run].append(index)

    def match(self, question: Question) -> Match | None:
        """The item that this question repeats exactly, repeats nearly, or contains."""
        if (index := self._exact.get(question.text)) is not None:
            return self._match(index, "same-question", 1.0)
        near = self._near.get(question.numbers)
        if near is not None and (found := near.find(shingles(words(question.text)))) is not None:
            return self._match(found[0], "near-duplicate", found[1])
        return self._contained(question)

    def _contained(self, question: Question) -> Match | None:
        if self._runs.keys().isdisjoint(_runs(question)):
            return None
        hits = Counter(index for run in set(_runs(question)) for index in self._runs.get(run, ()))
        for index, num_hits in sorted(hits.items()):
            share = num_hits / self._num_runs[index]
            if share >= CONTAINED_FROM and _in_order(self._numbers[index], question.numbers):
                return self._match(index, "contained", min(share, 1.0))
        return None

    def _match(self, index: int, kind: OverlapKind, similarity: float) -> Match:
        evalset, item = self._items[index]
        return Match(evalset=evalset, item_id=item.id, kind=kind, similarity=round(similarity, 4))


def _in_order(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether `part` is a subsequence of `whole`; different numbers mean a different question."""
    remaining = iter(whole)
    return all(number in remaining for number in part)


def _runs(question: Question) -> Iterator[tuple[str, ...]]:
    """The n-grams of the words between spaces, which are fast to compute for every row."""
    text_words = question.text.split(" ")
    return zip(*(text_words[start:] for start in range(RUN_WORDS)), strict=False)


def judge_contamination(
    spec: DatasetSpec, evalsets: Sequence[EvalSet], rows: Sequence[RowFacts], matches: Mapping[int, Match]
) -> ContaminationReport:
    """Report the overlapping rows, or raise DataError if the spec neither allows nor removes them."""
    found = (Overlap(trace_id=rows[index].id, **asdict(match)) for index, match in matches.items())
    overlaps = sorted(found, key=lambda overlap: overlap.trace_id)
    if overlaps and not (spec.allow_contamination or spec.remove_contaminated):
        shown = "; ".join(
            f"trace {found.trace_id} is {found.evalset}/{found.item_id} ({found.kind})"
            for found in overlaps[:_MAX_SHOWN]
        )
        more = f"; and {len(overlaps) - _MAX_SHOWN} more" if len(overlaps) > _MAX_SHOWN else ""
        raise DataError(
            f"{len(overlaps)} rows repeat questions of an eval set: {shown}{more}.",
            next_step="Build with remove_contaminated (--remove-contaminated) to leave them out, "
            "or with allow_contamination (--allow-contamination) to keep and record them.",
        )
    return ContaminationReport(
        evalsets=tuple(
            CheckedEvalSet(name=evalset.name, num_items=len(evalset.items), sha256=evalset.sha256)
            for evalset in evalsets
        ),
        verdict="clean" if not overlaps else "allowed" if spec.allow_contamination else "removed",
        num_overlapping_rows=len(overlaps),
        overlaps=tuple(overlaps[:MAX_OVERLAPS_KEPT]),
    )
