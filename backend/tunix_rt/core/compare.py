"""Two traces side by side, step by step."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tunix_rt.core.trace import Trace, TraceStep

MAX_PAIRS_TO_MATCH = 40_000
"""Above this many pairs in one gap, steps are paired by position: matching them all would take seconds."""
SIMILAR_FROM = 0.3

_WORD = re.compile(r"\w+")


class AlignedStep(BaseModel):
    """One line of the comparison; a side is None where the other trace has no such step."""

    model_config = ConfigDict(frozen=True)
    kind: Literal["same", "changed", "added", "removed"]
    base: TraceStep | None
    other: TraceStep | None
    similarity: float
    """Shared words of the two steps, 0 to 1."""


class TraceComparison(BaseModel):
    """What two traces share and where they part."""

    model_config = ConfigDict(frozen=True)
    same_prompt: bool
    same_answer: bool
    num_same_steps: int
    first_difference: int | None
    """Line of `steps` where they part; None when all steps are the same."""
    steps: tuple[AlignedStep, ...]


def compare_traces(base: Trace, other: Trace) -> TraceComparison:
    """Align the steps of two traces and say where they part."""
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
    """Pair equal steps first, then the most similar ones between them, never crossing.

    Example:
        [A, B, C] against [A, B', D, C] -> A=A, B~B', +D, C=C
    """
    matcher = SequenceMatcher(None, [_text(step) for step in base], [_text(step) for step in other], False)
    lines: list[AlignedStep] = []
    for tag, base_from, base_to, other_from, other_to in matcher.get_opcodes():
        left, right = base[base_from:base_to], other[other_from:other_to]
        if tag == "equal":
            lines += [_line(a, b) for a, b in zip(left, right, strict=True)]
        else:
            lines += _align_gap(left, right)
    return lines


def _align_gap(left: Sequence[TraceStep], right: Sequence[TraceStep]) -> list[AlignedStep]:
    if len(left) * len(right) > MAX_PAIRS_TO_MATCH:
        shared = min(len(left), len(right))
        paired = [_line(a, b) for a, b in zip(left, right, strict=False)]
        return paired + [_line(a, None) for a in left[shared:]] + [_line(None, b) for b in right[shared:]]
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
