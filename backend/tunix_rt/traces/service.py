"""Add, get, list and compare stored traces; lint stored traces and files."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from itertools import starmap, zip_longest
from typing import Literal
from uuid import UUID

from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError, NotFoundError, did_you_mean
from tunix_rt.base.records import Pagination, explain_validation_error
from tunix_rt.traces.linter.findings import CODES, LintCode, LintReport
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import Frozen, Trace, TraceFilter, TraceOrder, TraceStep, TraceSummary, prepared

MAX_PAIRS_TO_MATCH = 40_000
"""Above this many pairs in one gap, steps are paired by position, because matching would take seconds."""
SIMILAR_FROM = 0.3

_WORD = re.compile(r"\w+")


class AlignedStep(Frozen):
    """One line of the comparison. A side is None if that trace has no such step."""

    kind: Literal["same", "changed", "added", "removed"]
    base: TraceStep | None
    other: TraceStep | None
    similarity: float
    """Word overlap of the two steps, 0 to 1."""


class TraceComparison(Frozen):
    """The result of comparing two traces."""

    same_prompt: bool
    same_answer: bool
    num_same_steps: int
    first_difference: int | None
    """Index in `steps` of the first difference; None when all steps are equal."""
    steps: tuple[AlignedStep, ...]


def compare_traces(base: Trace, other: Trace) -> TraceComparison:
    """Align the steps of two traces and find the first difference."""
    steps = align_steps(base.steps, other.steps)
    differences = [line for line, step in enumerate(steps) if step.kind != "same"]
    return TraceComparison(
        same_prompt=base.prompt.strip() == other.prompt.strip(),
        same_answer=base.final_answer.strip() == other.final_answer.strip(),
        num_same_steps=len(steps) - len(differences),
        first_difference=differences[0] if differences else None,
        steps=tuple(steps),
    )


def align_steps(base: Sequence[TraceStep], other: Sequence[TraceStep]) -> list[AlignedStep]:
    """Pair equal steps first, then the most similar steps between them, without crossing.

    Example:
        [A, B, C] against [A, B', D, C] -> A=A, B~B', +D, C=C
    """
    matcher = SequenceMatcher(None, [_text(step) for step in base], [_text(step) for step in other], False)
    lines: list[AlignedStep] = []
    for tag, base_from, base_to, other_from, other_to in matcher.get_opcodes():
        left, right = base[base_from:base_to], other[other_from:other_to]
        if tag == "equal":
            lines += map(_line, left, right)
        else:
            lines += _align_gap(left, right)
    return lines


def _align_gap(left: Sequence[TraceStep], right: Sequence[TraceStep]) -> list[AlignedStep]:
    if len(left) * len(right) > MAX_PAIRS_TO_MATCH:
        return list(starmap(_line, zip_longest(left, right)))
    best = _best_totals(left, right)
    lines: list[AlignedStep] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if best[i][j] == best[i + 1][j]:
            lines.append(_line(left[i], None))
            i += 1
        elif best[i][j] == best[i][j + 1]:
            lines.append(_line(None, right[j]))
            j += 1
        else:
            lines.append(_line(left[i], right[j]))
            i, j = i + 1, j + 1
    return lines + [_line(a, None) for a in left[i:]] + [_line(None, b) for b in right[j:]]


def _best_totals(left: Sequence[TraceStep], right: Sequence[TraceStep]) -> list[list[float]]:
    """The greatest total similarity of left[i:] against right[j:], for every i and j."""
    left_words, right_words = [_words(step) for step in left], [_words(step) for step in right]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in reversed(range(len(left))):
        for j in reversed(range(len(right))):
            similarity = _similarity(left_words[i], right_words[j])
            pair = similarity + best[i + 1][j + 1] if similarity >= SIMILAR_FROM else 0.0
            best[i][j] = max(pair, best[i + 1][j], best[i][j + 1])
    return best


def _line(base: TraceStep | None, other: TraceStep | None) -> AlignedStep:
    if base is None or other is None:
        kind: Literal["added", "removed"] = "added" if base is None else "removed"
        return AlignedStep(kind=kind, base=base, other=other, similarity=0.0)
    if _text(base) == _text(other):
        return AlignedStep(kind="same", base=base, other=other, similarity=1.0)
    similarity = round(_similarity(_words(base), _words(other)), 3)
    return AlignedStep(kind="changed", base=base, other=other, similarity=similarity)


def _text(step: TraceStep) -> str:
    return " ".join(step.content.split())


def _words(step: TraceStep) -> frozenset[str]:
    return frozenset(_WORD.findall(step.content.casefold()))


def _similarity(left: frozenset[str], right: frozenset[str]) -> float:
    union = len(left | right)
    return len(left & right) / union if union else 0.0


class TraceReceipt(Frozen):
    """The response to storing a trace."""

    id: UUID
    created_at: datetime
    trace_version: str
    created: bool
    """False when the same trace was already stored."""


class BatchReceipt(Frozen):
    """The response to storing a batch, in the order of the request."""

    created_count: int
    traces: tuple[TraceReceipt, ...]


class TraceDetail(Frozen):
    """A stored trace with its score and linter findings."""

    id: UUID
    created_at: datetime
    trace_version: str
    score: float | None
    lint_codes: tuple[str, ...]
    payload: Trace


class TraceList(Frozen):
    """A page of traces."""

    data: tuple[TraceSummary, ...]
    pagination: Pagination
    num_unscored: int
    """Traces left out because the filter asks for scores and they were never linted."""


class CodeList(Frozen):
    """Every kind of finding."""

    data: tuple[LintCode, ...]


class StoredComparison(Frozen):
    """Two stored traces with their aligned steps."""

    base: TraceDetail
    other: TraceDetail
    comparison: TraceComparison


def add_trace(traces: TraceRepository, trace: Trace) -> TraceReceipt:
    """Store a trace."""
    return add_batch(traces, [trace]).traces[0]


def add_batch(traces: TraceRepository, batch: Sequence[Trace]) -> BatchReceipt:
    """Store a batch, all or none."""
    entries = [prepared(trace) for trace in batch]
    ids = [UUID(hex=entry.id_hex) for entry in entries]
    new = traces.add_prepared(entries)
    created_at = traces.created_at(ids)
    now = datetime.now(UTC)
    firsts = {key: position for position, key in reversed(list(enumerate(ids)))}
    receipts = tuple(
        TraceReceipt(
            id=key,
            # Missing if another client has just deleted it.
            created_at=created_at.get(key, now),
            trace_version=trace.trace_version,
            created=key in new and firsts[key] == position,
        )
        for position, (trace, key) in enumerate(zip(batch, ids, strict=True))
    )
    return BatchReceipt(created_count=len(new), traces=receipts)


def get_trace(traces: TraceRepository, key: UUID) -> TraceDetail:
    """A stored trace."""
    stored = traces.get(key)
    payload = stored.trace()
    return TraceDetail(
        id=stored.id,
        created_at=stored.created_at,
        trace_version=payload.trace_version,
        score=stored.score,
        lint_codes=traces.lint_codes(key),
        payload=payload,
    )


def list_traces(
    traces: TraceRepository,
    criteria: TraceFilter,
    *,
    limit: int,
    offset: int,
    order: TraceOrder = "newest",
) -> TraceList:
    """A page of the traces that `criteria` selects."""
    page = traces.list(criteria, limit=limit, offset=offset, order=order)
    end = offset + len(page.data)
    is_last = len(page.data) < limit or (page.total_is_exact and end >= page.total)
    return TraceList(
        data=page.data,
        pagination=Pagination(
            limit=limit,
            offset=offset,
            next_offset=None if is_last else end,
            total=page.total,
            total_is_exact=page.total_is_exact,
        ),
        num_unscored=page.num_unscored,
    )


def list_codes() -> CodeList:
    """All linter findings."""
    return CodeList(data=tuple(CODES.values()))


def get_report(traces: TraceRepository, key: UUID) -> LintReport:
    """The last lint report of a stored trace; NotFoundError if it was never linted."""
    report = traces.get_report(traces.get(key).id)
    if report is None:
        raise NotFoundError(
            f"Trace {key} was never linted.", next_step=f"Lint it: POST /api/traces/{key}/score"
        )
    return report


def compare_stored(traces: TraceRepository, base: UUID, other: UUID) -> StoredComparison:
    """Compare two stored traces."""
    left, right = get_trace(traces, base), get_trace(traces, other)
    return StoredComparison(base=left, other=right, comparison=compare_traces(left.payload, right.payload))


def build_filter(
    *,
    source: str | None = None,
    meta: Sequence[str] = (),
    tags: Sequence[str] = (),
    min_score: float | None = None,
    max_score: float | None = None,
    codes: Sequence[str] = (),
    without_codes: Sequence[str] = (),
    query: str | None = None,
) -> TraceFilter:
    """Build a filter from user input; `meta` holds `key=value` pairs.

    Raises:
        InvalidInputError: a pair without `=`, an unknown linter finding, or text that no trace can contain.
    """
    labels: dict[str, str] = {}
    for pair in meta:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise InvalidInputError(
                f"{pair!r} is not of the form key=value.", next_step="For example: category=algebra"
            )
        labels[key] = value
    for code in (*codes, *without_codes):
        if code not in CODES:
            raise InvalidInputError(
                f"The linter has no finding {code!r}.", next_step=did_you_mean(code, CODES)
            )
    try:
        return TraceFilter(
            source=source,
            labels=labels,
            tags=tuple(tags),
            min_score=min_score,
            max_score=max_score,
            with_codes=tuple(codes),
            without_codes=tuple(without_codes),
            query=query,
        )
    except ValidationError as error:
        raise InvalidInputError(
            f"This filter can match nothing: {explain_validation_error(error)}.",
            next_step="Correct the filter; /docs and `tunix-rt traces list --help` describe it.",
        ) from error
