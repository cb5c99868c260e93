"""What a trace store takes and gives: filters, stored traces, pages."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tunix_rt.base.records import StorableText
from tunix_rt.core.trace import Trace

Score = Annotated[float, Field(ge=0, le=100, strict=True)]
TraceOrder = Literal["newest", "oldest", "best", "worst"]
"""How a list of traces is sorted: by when they were stored, or by score with the unscored ones last."""
LintCode = Annotated[str, Field(pattern=r"^[a-z][a-z-]{0,63}$")]


class TraceFilter(BaseModel):
    """Which stored traces are meant. Everything given must hold; nothing given means all traces."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    labels: dict[StorableText, StorableText] = Field(default_factory=dict)
    """`meta` equality, scalars as text: `{"category": "algebra"}`; a list in `meta` matches by any item."""
    source: StorableText | None = None
    """Short for `labels["source"]`."""
    tags: tuple[StorableText, ...] = ()
    """All of these must be in `meta.tags`."""
    min_score: Score | None = None
    max_score: Score | None = None
    with_codes: tuple[LintCode, ...] = ()
    """Traces with every one of these linter findings."""
    without_codes: tuple[LintCode, ...] = ()
    """Traces with none of these linter findings; a trace never linted is not one of them."""
    query: Annotated[StorableText, Field(max_length=1000)] | None = None
    """Full-text search in prompt, steps and answer: all words must occur."""

    @property
    def needs_lint(self) -> bool:
        """Whether the filter asks for something that only the linter can tell."""
        scores = (self.min_score, self.max_score)
        return any(score is not None for score in scores) or bool(self.with_codes or self.without_codes)

    def required_labels(self) -> list[tuple[str, str]]:
        """Every (name, value) pair that must be on the trace."""
        pairs = [*self.labels.items(), *(("tags", tag) for tag in self.tags)]
        return [*pairs, ("source", self.source)] if self.source is not None else pairs


class StoredTrace(BaseModel):
    """A trace as the store holds it. `canonical` is its one JSON text."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    created_at: datetime
    canonical: str
    score: float | None = None
    """0 to 100 by the linter; None: never linted."""

    def trace(self) -> Trace:
        """The trace itself."""
        return Trace.model_validate_json(self.canonical)


class TraceSummary(BaseModel):
    """One row of a list of traces."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    created_at: datetime
    trace_version: str
    prompt_start: str
    """The first characters of the prompt."""
    num_steps: int
    source: str | None
    score: float | None


class TracePage(BaseModel):
    """A page of traces and where it stands."""

    model_config = ConfigDict(frozen=True)
    data: tuple[TraceSummary, ...]
    total: int
    total_is_exact: bool
    """False when there are more than `total`: counting stops at a bound."""
    num_unscored: int
    """Traces that the filter could not judge because they were never linted (0 unless it asks for lint)."""


class AddResult(BaseModel):
    """What became of a batch of traces. Identical traces are stored once."""

    model_config = ConfigDict(frozen=True)
    num_added: int
    num_present: int
