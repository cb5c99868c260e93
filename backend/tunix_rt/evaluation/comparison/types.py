"""Comparison, gate rule and verdict, leaderboard."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from tunix_rt.base.records import Count, Pagination, Record
from tunix_rt.evaluation.types import ExtractionRule, Verdict
from tunix_rt.models.types import EvaluationSummary


class PairedDifference(Record):
    """How the second differs from the first on the items that are scored in both."""

    n: Count
    """Items scored in both."""
    num_unscored: Count
    """Items that are unscored in either; they are excluded."""
    num_both_right: Count
    num_both_wrong: Count
    """With several samples: all of them correct, or none, in both."""
    num_lost: Count
    """Correct -> wrong. With several samples: items with a lower share of correct ones."""
    num_gained: Count
    base: float
    other: float
    """Mean score of each, over these items."""
    difference: float
    """other - base."""
    low: float
    high: float
    """95 % interval of the difference: paired bootstrap over items."""
    p_value: Annotated[float, Field(ge=0, le=1)]
    """Exact McNemar (the sign test on lost and gained), two-sided."""


class FlipSide(Record):
    """The completion of one side; of several samples, one that shows the change."""

    verdict: Verdict
    explanation: str
    """Why the verdict was given."""
    share_right: Annotated[float, Field(ge=0, le=1)] | None = None
    """Correct samples among the scored ones; None: none could be scored."""
    text: str | None = None
    answer: str | None = None
    rule: ExtractionRule | None = None


FlipDirection = Literal["lost", "unscored", "gained"]
"""`unscored`: correct in the base, without a verdict in the other."""


class Flip(Record):
    """An item whose verdict changed."""

    item_id: str
    direction: FlipDirection
    section: str
    category: str
    difficulty: str
    prompt: str
    expected_answer: str
    base: FlipSide
    other: FlipSide


class Comparison(Record):
    """`compare A B`: A is the base."""

    base_id: UUID
    other_id: UUID
    base_name: str
    other_name: str
    evalset: str
    """Name of the eval set; both names if they differ."""
    is_same_protocol: bool
    protocol_differences: tuple[str, ...]
    """How the protocols differ; the value of the base comes first."""
    num_paired: Count
    """Items with the same question and expected answer in both."""
    num_only_base: Count
    num_only_other: Count
    """Items without a counterpart."""
    num_other_unscored: Count
    """Paired items with an unscored sample in the other."""
    overall: PairedDifference | None = None
    """Absent if no item is scored in both."""
    by_section: dict[str, PairedDifference]
    flips: tuple[Flip, ...]
    """Lost, then unscored, then gained items; each in the order of the eval set."""


class GateRule(Record):
    """What a new evaluation must not do."""

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """A loss with a smaller p-value fails the gate."""
    protected_sections: tuple[str, ...] = ()
    protected_categories: tuple[str, ...] = ()
    protected_items: tuple[str, ...] = ()
    """A protected item that was correct and no longer is fails the gate, significant or not. With several
    samples an item is correct if at least half of them are."""
    max_unscored: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Largest share of items with an unscored sample: failures must not hide losses."""


BASELINE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"


class Baseline(Record):
    """A named evaluation with its rule."""

    name: Annotated[str, Field(pattern=BASELINE_PATTERN)]
    evaluation_id: UUID
    rule: GateRule = GateRule()
    created_at: datetime


class GateVerdict(Record):
    """Whether a new evaluation passes the rule of the baseline."""

    passed: bool
    reasons: tuple[str, ...]
    """Why it failed, one line each; empty if it passed."""
    baseline: str
    """Name or directory of the baseline."""
    rule: GateRule
    comparison: Comparison


class GateCheck(Record):
    """One entry in the history of a baseline. It is kept when either evaluation is deleted."""

    checked_at: datetime
    baseline_name: str
    baseline_evaluation_id: UUID
    evaluation_id: UUID
    model_name: str
    """Name of the checked model."""
    run_id: str | None = None
    evalset: str
    passed: bool
    reasons: tuple[str, ...]
    rule: GateRule
    """The rule at that time."""
    overall: PairedDifference | None = None
    """Left out where no item is scored in both."""


class GateCheckList(BaseModel):
    """A page of gate verdicts, newest first."""

    model_config = ConfigDict(frozen=True)
    data: tuple[GateCheck, ...]
    pagination: Pagination


class LeaderboardEntry(Record):
    """One model and its rank among those evaluated with the same protocol."""

    rank: Annotated[int, Field(ge=1)] | None = None
    """1 + the number of entries whose whole interval lies above this one; None: nothing could be scored."""
    is_tied: bool
    """Whether another entry has the same rank because their intervals overlap."""
    is_base: bool
    """A model that was not trained here, as a reference for the trained ones."""
    evaluation: EvaluationSummary
    base_evaluation_id: UUID | None = None
    """The evaluation of the run's base model under the same protocol, if there is one."""
    difference_to_base: float | None = None
    """Score minus the score of the base. `tunix-rt compare` tests whether chance explains it."""


class LeaderboardGroup(Record):
    """Evaluations with the same protocol."""

    fingerprint: str
    evalset: str
    evalset_hash: str
    entries: tuple[LeaderboardEntry, ...]
    """By rank, then by score."""


class Leaderboard(Record):
    """Groups of comparable evaluations, ranked separately; the one with the newest evaluation comes first."""

    groups: tuple[LeaderboardGroup, ...]
    num_evaluations: Count
    """Shown in all groups."""
    num_superseded: Count
    """Evaluations left out in favor of a newer one of the same model and protocol."""
