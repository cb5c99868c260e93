"""Human reviews: corrected traces, their lineage, and preference pairs.

A review does not change the reviewed trace. The corrected trace is stored as a new trace whose `meta` records
its lineage, so that exports, backups and other stores preserve it.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from itertools import takewhile
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tunix_rt.base.errors import DataError, InvalidInputError, NotFoundError
from tunix_rt.base.records import TEXT_PATTERN
from tunix_rt.traces.completion import render_completion
from tunix_rt.traces.scoring import score_trace
from tunix_rt.traces.service import TraceReceipt, add_trace
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import (
    MAX_ANSWER_CHARS,
    MAX_STEP_CHARS,
    MAX_STEPS,
    Frozen,
    StoredTrace,
    Trace,
    TraceFilter,
)

StepVerdict = Literal["accepted", "edited", "rejected"]

REVIEWED = {"reviewed": "true"}
"""The label of every revision, for filters."""
ROOT_LABEL = "revision_root"


class StepReview(BaseModel):
    """The verdict on one step."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    i: Annotated[int, Field(ge=0)]
    """`TraceStep.i` of the step."""
    verdict: StepVerdict
    content: Annotated[str, Field(max_length=MAX_STEP_CHARS, pattern=TEXT_PATTERN)] | None = None
    """The new text of the step; only with `edited`."""

    @model_validator(mode="after")
    def _an_edit_has_content(self) -> "StepReview":
        if (self.verdict == "edited") != (self.content is not None):
            raise ValueError("an edited step needs `content`; an accepted or rejected one takes none")
        return self


class TraceReview(BaseModel):
    """Verdicts on steps, and optionally a new answer. Steps without a verdict are not changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    steps: Annotated[tuple[StepReview, ...], Field(max_length=MAX_STEPS)] = ()
    final_answer: Annotated[str, Field(max_length=MAX_ANSWER_CHARS, pattern=TEXT_PATTERN)] | None = None

    @model_validator(mode="after")
    def _each_step_has_one_verdict(self) -> "TraceReview":
        positions = [review.i for review in self.steps]
        if len(set(positions)) < len(positions):
            raise ValueError("a step has two verdicts; keep one")
        if not positions and self.final_answer is None:
            raise ValueError("the review is empty; judge at least one step")
        return self


class Lineage(Frozen):
    """The lineage of a corrected trace, as recorded in its `meta`."""

    reviewed: Literal[True] = True
    revision_of: UUID
    """The trace that was reviewed."""
    revision_root: UUID
    """The first version."""
    step_verdicts: dict[int, StepVerdict]
    """Verdicts on the steps of `revision_of`, by their `i`."""


def lineage_of(trace: Trace) -> Lineage | None:
    """The lineage of a trace; None if it is not a revision."""
    if "revision_of" not in trace.meta:
        return None
    try:
        return Lineage.model_validate(trace.meta)
    except ValidationError:
        # `meta` belongs to the user: a key of the same name may have another meaning.
        return None


def revised(parent_id: UUID, parent: Trace, review: TraceReview) -> Trace:
    """The corrected trace, without rejected steps and with the new text of edited steps.

    Example:
        steps A, B, C with A accepted, B edited to B', C rejected -> steps A, B'

    Raises:
        InvalidInputError: A verdict names an unknown step, or no step would remain.
    """
    reviews = {item.i: item for item in review.steps}
    by_position = {step.i: step for step in parent.steps}
    for i, step_review in reviews.items():
        if i not in by_position:
            raise InvalidInputError(
                f"The trace has no step {i}.", next_step="Judge steps by the `i` that the trace gives them."
            )
        if step_review.content == by_position[i].content:
            raise InvalidInputError(
                f"The edit of step {i} changes nothing.", next_step="Accept the step, or change its text."
            )
    steps = [
        step.model_copy(update={"content": item.content}) if item and item.content else step
        for step in parent.steps
        if (item := reviews.get(step.i)) is None or item.verdict != "rejected"
    ]
    if not steps:
        raise InvalidInputError(
            "Every step is rejected, so no step would remain.",
            next_step="Edit at least one step, or delete the trace.",
        )
    before = lineage_of(parent)
    lineage = Lineage(
        revision_of=parent_id,
        revision_root=before.revision_root if before else parent_id,
        step_verdicts={i: item.verdict for i, item in sorted(reviews.items())},
    )
    return Trace(
        prompt=parent.prompt,
        steps=tuple(steps),
        final_answer=review.final_answer or parent.final_answer,
        meta=parent.meta | lineage.model_dump(mode="json"),
    )


def preference_row(parent_id: UUID, parent: Trace, child_id: UUID, child: Trace) -> dict[str, Any] | None:
    """`{"prompt", "chosen", "rejected"}` for the trainers of TRL; None if nothing changed."""
    chosen, rejected = render_completion(child).text, render_completion(parent).text
    if chosen == rejected:
        return None
    return {
        "prompt": parent.prompt,
        "chosen": chosen,
        "rejected": rejected,
        "chosen_id": str(child_id),
        "rejected_id": str(parent_id),
    }


def step_label_row(parent_id: UUID, parent: Trace, lineage: Lineage) -> dict[str, Any] | None:
    """`{"prompt", "completions", "labels"}` for the stepwise trainer of TRL; None if there is no label.

    It ends before the first step without a verdict, because a label refers to a step and all steps before it.

    Example:
        A accepted, B edited, C not judged -> completions [A, B], labels [True, False]
    """
    verdicts = lineage.step_verdicts
    judged = list(takewhile(lambda step: step.i in verdicts, parent.steps))
    if not judged:
        return None
    return {
        "prompt": parent.prompt,
        "completions": [step.content for step in judged],
        "labels": [verdicts[step.i] == "accepted" for step in judged],
        "trace_id": str(parent_id),
    }


ReviewExport = Literal["preferences", "step-labels"]


class RevisionReceipt(TraceReceipt):
    """The response to a review: the new trace and the trace it revises."""

    revision_of: UUID
    score: float
    """Linter score of the corrected trace."""


class TraceRevision(Frozen):
    """One version of a trace."""

    id: UUID
    created_at: datetime
    score: float | None
    num_steps: int
    final_answer: str
    revision_of: UUID | None
    """The reviewed version; None for the first version."""
    step_verdicts: dict[int, StepVerdict]
    """Verdicts on the steps of that version, by their `i`."""


class RevisionList(Frozen):
    """Every version of a trace, newest first."""

    data: tuple[TraceRevision, ...]


def add_revision(traces: TraceRepository, trace_id: UUID, review: TraceReview) -> RevisionReceipt:
    """Store the corrected trace as a new version and lint it."""
    corrected = revised(trace_id, traces.get(trace_id).trace(), review)
    receipt = add_trace(traces, corrected)
    report = score_trace(traces, receipt.id)
    return RevisionReceipt(**receipt.model_dump(), revision_of=trace_id, score=report.score)


def list_revisions(traces: TraceRepository, trace_id: UUID) -> RevisionList:
    """Every version of a trace, given the id of any version. NotFoundError if unknown."""
    given = traces.get(trace_id)
    lineage = lineage_of(given.trace())
    root = lineage.revision_root if lineage else trace_id
    criteria = TraceFilter(labels={ROOT_LABEL: str(root)})
    with closing(traces.iter_selected(criteria)) as later:
        by_id = {stored.id: stored for stored in later}
    first = given if root == trace_id else _find(traces, root)
    if first is not None:
        by_id[root] = first
    versions = sorted(by_id.values(), key=lambda stored: (stored.created_at, stored.id != root, stored.id))
    return RevisionList(data=tuple(_version(stored) for stored in reversed(versions)))


def review_lines(traces: TraceRepository, kind: ReviewExport) -> Iterator[str]:
    """Export all reviews as JSON lines, except those whose original trace was deleted.

    Raises:
        DataError: A trace contains the markup and cannot be rendered as a completion; the error names it.
    """
    with closing(traces.iter_selected(TraceFilter(labels=REVIEWED))) as reviewed:
        for child in reviewed:
            lineage = lineage_of(child.trace())
            parent = _find(traces, lineage.revision_of) if lineage else None
            if lineage is None or parent is None:
                continue
            try:
                if kind == "step-labels":
                    row = step_label_row(parent.id, parent.trace(), lineage)
                else:
                    row = preference_row(parent.id, parent.trace(), child.id, child.trace())
            except DataError as error:
                raise DataError(
                    f"Traces {parent.id} and {child.id}: {error.detail}", next_step=error.next_step
                ) from error
            if row is not None:
                yield json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _find(traces: TraceRepository, trace_id: UUID) -> StoredTrace | None:
    try:
        return traces.get(trace_id)
    except NotFoundError:
        return None


def _version(stored: StoredTrace) -> TraceRevision:
    trace = stored.trace()
    lineage = lineage_of(trace)
    return TraceRevision(
        id=stored.id,
        created_at=stored.created_at,
        score=stored.score,
        num_steps=len(trace.steps),
        final_answer=trace.final_answer,
        revision_of=lineage.revision_of if lineage else None,
        step_verdicts=lineage.step_verdicts if lineage else {},
    )
