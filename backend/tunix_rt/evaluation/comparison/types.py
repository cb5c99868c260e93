"""Comparison, gate rule and verdict, leaderboard."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from tunix_rt.base.records import Count, Record
from tunix_rt.evaluation.types import ExtractionRule, Verdict
from tunix_rt.models.types import EvaluationSummary


class PairedDifference(Record):
    """How the second differs from the first on the items that both could score."""

    n: Count
    """Items scored in both."""
    num_unscored: Count
    """Items that one of the two could not score: left out."""
    num_both_right: Count
    num_both_wrong: Count
    """With several samples: all of them right, or none, in both."""
    num_lost: Count
    """Right -> wrong. With several samples: items with a smaller share of right ones."""
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
    """What one of the two wrote; of several samples the one that shows the change."""

    verdict: Verdict
    explanation: str
    """Of the verdict, in words."""
    share_right: Annotated[float, Field(ge=0, le=1)] | None = None
    """Right ones among the scored samples; None: none could be scored."""
    text: str | None = None
    answer: str | None = None
    rule: ExtractionRule | None = None


FlipDirection = Literal["lost", "unscored", "gained"]
"""`unscored`: right in the base, and the other has no verdict on it."""


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
    """On which they are compared; both names where they differ."""
    is_same_protocol: bool
    protocol_differences: tuple[str, ...]
    """What the protocols do not share; the base's value first."""
    num_paired: Count
    """Items with the same question and expected answer in both."""
    num_only_base: Count
    num_only_other: Count
    """Items without a counterpart."""
    num_other_unscored: Count
    """Paired items with a sample that the other could not score."""
    overall: PairedDifference | None = None
    """Left out where no item is scored in both."""
    by_section: dict[str, PairedDifference]
    flips: tuple[Flip, ...]
    """Lost ones first, then unscored ones, then gained ones; each in the order of the eval set."""


class GateRule(Record):
    """What a new evaluation must not do."""

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """A loss with a smaller p-value fails the gate."""
    protected_sections: tuple[str, ...] = ()
    protected_categories: tuple[str, ...] = ()
    protected_items: tuple[str, ...] = ()
    """An item of these that was right and is not fails the gate, significant or not. With several samples an
    item is right when at least half of them are."""
    max_unscored: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Largest share of items that may have a sample without a verdict: failures must not hide losses."""


class Baseline(Record):
    """A named evaluation with its rule."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    evaluation_id: UUID
    rule: GateRule = GateRule()
    created_at: datetime


class GateVerdict(Record):
    """Whether a new evaluation may take the place of the baseline."""

    passed: bool
    reasons: tuple[str, ...]
    """Why not, one line each; empty when it passed."""
    baseline: str
    """Its name, or what else was given."""
    rule: GateRule
    comparison: Comparison


class GateCheck(Record):
    """A verdict that was given: one entry of a baseline's history. It stays when either side is removed."""

    checked_at: datetime
    baseline_name: str
    baseline_evaluation_id: UUID
    evaluation_id: UUID
    model_name: str
    """What was held against the baseline."""
    run_id: str | None = None
    evalset: str
    passed: bool
    reasons: tuple[str, ...]
    rule: GateRule
    """As it was at that moment."""
    overall: PairedDifference | None = None
    """Left out where no item is scored in both."""


class GateCheckPage(Record):
    """A page of verdicts, and how many there are in all."""

    data: tuple[GateCheck, ...]
    total: Count


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
