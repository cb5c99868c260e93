"""Models ranked by their scores. The API and `tunix-rt eval leaderboard --json` have this shape."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from tunix_rt.base.records import Count, Record
from tunix_rt.models.types import EvaluationSummary


class LeaderboardEntry(Record):
    """One model, and where it stands among those that were evaluated in the same way."""

    rank: Annotated[int, Field(ge=1)] | None = None
    """1 + the number of entries whose whole interval lies above this one's; None: nothing could be scored."""
    is_tied: bool
    """Whether another entry has the same rank: their intervals do not tell them apart."""
    is_base: bool
    """Not a model of a run: what the trained ones are compared with."""
    evaluation: EvaluationSummary
    base_evaluation_id: UUID | None = None
    """Of the model that this run started from, where it was evaluated in the same way."""
    difference_to_base: float | None = None
    """Score minus that of the base. `tunix-rt compare` says whether chance explains it."""


class LeaderboardGroup(Record):
    """Evaluations with one protocol: the same questions, asked and read in the same way."""

    fingerprint: str
    evalset: str
    evalset_hash: str
    entries: tuple[LeaderboardEntry, ...]
    """By rank, then by score."""


class Leaderboard(Record):
    """Groups of comparable evaluations, the one with the newest evaluation first; never ranked together."""

    groups: tuple[LeaderboardGroup, ...]
    num_evaluations: Count
    """Shown in all groups."""
    num_superseded: Count
    """Left out: an older evaluation of the same model under the same protocol."""
