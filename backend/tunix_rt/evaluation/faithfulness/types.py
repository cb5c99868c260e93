"""Trials, arms, the report.

One trial takes the model's own completion of an item, changes its work in several ways (the arms), lets the
model go on from there and compares the answer with its own. docs/faithfulness.md explains every number.
"""

from datetime import datetime
from typing import Annotated, Literal, get_args

from pydantic import Field

from tunix_rt.base.records import Count, Record
from tunix_rt.engines.types import Decoding
from tunix_rt.evaluation.types import Estimate, GenerationFailure
from tunix_rt.models.types import EvaluatedModel
from tunix_rt.traces.types import CorruptionKind, MarkupStyle

Arm = Literal[
    "control", "corrupted", "all-steps", "removed", "early", "no-steps", "check-clean", "check-corrupted"
]
ARMS: tuple[Arm, ...] = get_args(Arm)
CONTROL_OF: dict[Arm, Arm] = {
    "corrupted": "control",
    "removed": "all-steps",
    "early": "all-steps",
    "no-steps": "all-steps",
    "check-corrupted": "check-clean",
}
"""The arm in which the same is done to unchanged work: what flips there is noise of the method."""

Exclusion = Literal["no-text", "cut-off", "not-well-formed", "broken-work", "nothing-to-corrupt"]
Outcome = Literal["same", "flipped", "no-answer", "failed"]
CheckVerdict = Literal["holds", "mistake", "nothing"]
Depth = Literal["early", "late"]
ExampleKind = Literal[
    "follows-the-error",
    "recovers-in-silence",
    "reports-the-error",
    "keeps-its-answer-without-steps",
    "needs-the-removed-step",
    "calls-wrong-work-right",
    "finds-the-error-when-asked",
]


class Continuation(Record):
    """What the model wrote from a given beginning of its completion."""

    beginning: str
    text: str | None = None
    """What followed; None: there is none, and `failure` says why."""
    failure: GenerationFailure | None = None
    outcome: Outcome
    """Whether the answer is the model's own one. `no-answer`: none could be read."""
    answer: str | None = None
    is_implied: bool = False
    """The answer is the one that the planted error leads to."""
    reports_mistake: bool = False
    """Says that something is wrong, or states the right result in place of the planted one."""
    check: CheckVerdict | None = None
    """In the check arms: what the model says about the work."""


class FaithfulnessTrial(Record):
    """One item: the model's own work, the planted error, and what came of it."""

    item_id: str
    prompt: str
    own_text: str
    own_answer: str
    is_own_right: bool | None = None
    """Left out where the checker could not tell."""
    step: Annotated[int, Field(ge=1)]
    """The changed step, counted from 1."""
    num_steps: Annotated[int, Field(ge=1)]
    depth: Depth
    """Whether it is in the first half of the steps."""
    kind: CorruptionKind
    original: str
    replaced: str
    """The result that the step stated, and the wrong one put in its place."""
    implied_answer: str | None = None
    """What the error leads to when every later step is right. Left out: it does not reach the answer."""
    arms: dict[Arm, Continuation]


class ArmScores(Record):
    """How often the answer changed in one arm."""

    num_trials: Count
    num_no_answer: Count
    num_failed: Count
    flip: Estimate | None = None
    """Answers other than the model's own, among those that could be read."""
    control: Arm | None = None
    """The arm to compare with; left out for the controls themselves."""
    num_only_here: Count = 0
    """Trials that flipped here and not in the control."""
    num_only_in_control: Count = 0
    p_value: float | None = None
    """Exact McNemar test against the control."""


class ErrorScores(Record):
    """What became of the planted error when the model went on from it.

    The first four are over trials whose error implies another answer, and share them out between them.
    """

    follows: Estimate | None = None
    """The answer that the error implies."""
    silent_recovery: Estimate | None = None
    """Own answer all the same, without a word about the error."""
    reported_recovery: Estimate | None = None
    """Own answer, and the error reported."""
    third_answer: Estimate | None = None
    """Neither."""
    detection: Estimate | None = None
    """Continuations that report a mistake, over all trials."""
    false_alarm: Estimate | None = None
    """The same on the unchanged work."""
    detection_p_value: float | None = None
    """Exact McNemar test of the two."""


class CheckScores(Record):
    """What the model says when it is made to begin a check of finished work."""

    num_silent_on_clean: Count
    num_silent_on_corrupted: Count
    """Checks that say neither; they are in no rate."""
    holds_on_clean: Estimate | None = None
    ritual: Estimate | None = None
    """Says that the work holds, on work with the error in it."""
    p_value: float | None = None
    """Exact McNemar test of the two."""


class GroupFaithfulness(Record):
    """All rates over a group of trials. What has no n is left out."""

    num_trials: Count
    arms: dict[Arm, ArmScores]
    error: ErrorScores
    check: CheckScores


class ExampleRef(Record):
    """Where to look: a trial and one of its arms."""

    item_id: str
    arm: Arm


class FaithfulnessSetup(Record):
    """What was measured, and how."""

    model: EvaluatedModel
    evalset: str
    evalset_hash: str
    template_hash: str
    markup: MarkupStyle
    decoding: Decoding
    check_text: str
    """What the check arms make the model begin with."""
    is_check_split: bool
    """It ends within a token, so these beginnings are unlike any text that the model has seen."""
    detector_version: str
    engine: str
    device: str
    precision: str
    seed: Count
    """Of the draw of items and errors."""


class FaithfulnessReport(Record):
    """Everything that was measured, with every text."""

    report_version: Literal["1"] = "1"
    created_at: datetime
    tunix_rt_version: str
    setup: FaithfulnessSetup
    num_items: Count
    """Items that were drawn and asked."""
    excluded: dict[Exclusion, Count]
    """Why an item gave no trial -> items."""
    overall: GroupFaithfulness
    by_depth: dict[Depth, GroupFaithfulness]
    examples: dict[ExampleKind, ExampleRef]
    trials: tuple[FaithfulnessTrial, ...]
