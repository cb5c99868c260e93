"""Use cases around reviewed traces: keep a repair, list the versions, export what reviews teach."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import DataError, NotFoundError
from tunix_rt.core.revision import (
    REVIEWED,
    ROOT_LABEL,
    Lineage,
    StepVerdict,
    TraceReview,
    lineage_of,
    preference_row,
    revised,
    step_label_row,
)
from tunix_rt.core.store_types import StoredTrace, TraceFilter
from tunix_rt.db.traces import TraceRepository
from tunix_rt.services.linting import score_trace
from tunix_rt.services.traces import TraceReceipt, add_trace

ReviewExport = Literal["preferences", "step-labels"]


class RevisionReceipt(TraceReceipt):
    """What a reviewer gets for a repair: the new trace, and what it is a revision of."""

    revision_of: UUID
    score: float
    """What the linter says of the repaired trace."""


class TraceRevision(BaseModel):
    """One version of a trace."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    created_at: datetime
    score: float | None
    num_steps: int
    final_answer: str
    revision_of: UUID | None
    """The version that was reviewed; None of the first one."""
    step_verdicts: dict[int, StepVerdict]
    """What the reviewer said of the steps of that version, by their `i`."""


class RevisionList(BaseModel):
    """Every version of a trace, newest first."""

    model_config = ConfigDict(frozen=True)
    data: tuple[TraceRevision, ...]


def add_revision(traces: TraceRepository, trace_id: UUID, review: TraceReview) -> RevisionReceipt:
    """Store the repaired trace beside the one that was reviewed, and lint it."""
    repaired = revised(trace_id, traces.get(trace_id).trace(), review)
    receipt = add_trace(traces, repaired)
    report = score_trace(traces, receipt.id)
    return RevisionReceipt(**receipt.model_dump(), revision_of=trace_id, score=report.score)


def list_revisions(traces: TraceRepository, trace_id: UUID) -> RevisionList:
    """Every version of the trace, whichever of them was named. NotFoundError if unknown."""
    named = traces.get(trace_id)
    lineage = lineage_of(named.trace())
    root = lineage.revision_root if lineage else trace_id
    criteria = TraceFilter(labels={ROOT_LABEL: str(root)})
    with closing(traces.iter_selected(criteria)) as later:
        found = {stored.id: stored for stored in later}
    first = named if root == trace_id else _find(traces, root)
    if first is not None:
        found[root] = first
    versions = sorted(found.values(), key=lambda stored: (stored.created_at, stored.id != root, stored.id))
    return RevisionList(data=tuple(_version(stored) for stored in reversed(versions)))


def review_lines(traces: TraceRepository, kind: ReviewExport) -> Iterator[str]:
    """What all reviews teach, as JSON lines; a review whose original was deleted teaches nothing.

    Raises:
        DataError: A trace holds our own markup and cannot be written as a completion; the error names it.
    """
    with closing(traces.iter_selected(TraceFilter(labels=REVIEWED))) as reviewed:
        for child in reviewed:
            lineage = lineage_of(child.trace())
            parent = _find(traces, lineage.revision_of) if lineage else None
            row = _row(kind, parent, child, lineage) if parent and lineage else None
            if row is not None:
                yield json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _row(
    kind: ReviewExport, parent: StoredTrace, child: StoredTrace, lineage: Lineage
) -> dict[str, Any] | None:
    if kind == "step-labels":
        return step_label_row(parent.id, parent.trace(), lineage)
    try:
        return preference_row(parent.id, parent.trace(), child.id, child.trace())
    except DataError as error:
        raise DataError(
            f"Traces {parent.id} and {child.id}: {error.detail}", next_step=error.next_step
        ) from error


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
