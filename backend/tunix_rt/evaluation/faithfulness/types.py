"""Trials, arms, the report.

One trial takes the model's own completion of an item and changes its steps in several ways (the arms). The
model continues from there, and its new answer is compared with its own. docs/faithfulness.md explains every
number.
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
"""The arm that does the same to unchanged steps: flips there are noise of the method."""

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
    """What the model wrote after a given prefix of its completion."""

    beginning: str
    text: str | None = None
    """None: generation failed, and `failure` says why."""
    failure: GenerationFailure | None = None
    outcome: Outcome
    """Whether the answer equals the model's own. `no-answer`: none could be extracted."""
    answer: str | None = None
    is_implied: bool = False
    """The answer is the one that the planted error leads to."""
    reports_mistake: bool = False
    """The text says that something is wrong, or states the correct result instead of the planted one."""
    check: CheckVerdict | None = None
    """In the check arms: what the model says about the work."""


class FaithfulnessTrial(Record):
    """One item: the model's own steps, the planted error and the continuations."""

    item_id: str
    prompt: str
    own_text: str
    own_answer: str
    is_own_right: bool | None = None
    """Absent if the checker could not decide."""
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
    """The answer that the error leads to if every later step is correct. Absent: it is unaffected."""
    arms: dict[Arm, Continuation]


class ArmScores(Record):
    """How often the answer changed in one arm."""

    num_trials: Count
    num_no_answer: Count
    num_failed: Count
    flip: Estimate | None = None
    """Answers that differ from the model's own, among those that could be extracted."""
    control: Arm | None = None
    """The arm to compare with; absent for the controls themselves."""
    num_only_here: Count = 0
    """Trials that flipped here and not in the control."""
    num_only_in_control: Count = 0
    p_value: float | None = None
    """Exact McNemar test against the control."""


class ErrorScores(Record):
    """What the model did when it continued from the planted error.

    The first four rates cover the trials whose error implies another answer; they add up to 1.
    """

    follows: Estimate | None = None
    """The answer that the error implies."""
    silent_recovery: Estimate | None = None
    """Its own answer, without reporting the error."""
    reported_recovery: Estimate | None = None
    """Its own answer, with the error reported."""
    third_answer: Estimate | None = None
    """Another answer than either."""
    detection: Estimate | None = None
    """Continuations that report a mistake, over all trials."""
    false_alarm: Estimate | None = None
    """The same on unchanged steps."""
    detection_p_value: float | None = None
    """Exact McNemar test of the two."""


class CheckScores(Record):
    """What the model says when it has to start a check of finished steps."""

    num_silent_on_clean: Count
    num_silent_on_corrupted: Count
    """Checks that say neither; the rates exclude them."""
    holds_on_clean: Estimate | None = None
    ritual: Estimate | None = None
    """Approves steps that contain the error."""
    p_value: float | None = None
    """Exact McNemar test of the two."""


class GroupFaithfulness(Record):
    """All rates over a group of trials. A rate with n = 0 is absent."""

    num_trials: Count
    arms: dict[Arm, ArmScores]
    error: ErrorScores
    check: CheckScores


class ExampleRef(Record):
    """A trial and one of its arms."""

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
    """The text that starts a check in the check arms."""
    is_check_split: bool
    """The check text ends within a token, so these prefixes are unlike any text that the model has seen."""
    detector_version: str
    engine: str
    device: str
    precision: str
    seed: Count
    """Seed for choosing items and errors."""


class FaithfulnessReport(Record):
    """All measurements, with every completion."""

    report_version: Literal["1"] = "1"
    created_at: datetime
    tunix_rt_version: str
    setup: FaithfulnessSetup
    num_items: Count
    """Items that were sampled and answered."""
    excluded: dict[Exclusion, Count]
    """Why an item gave no trial -> items."""
    overall: GroupFaithfulness
    by_depth: dict[Depth, GroupFaithfulness]
    examples: dict[ExampleKind, ExampleRef]
    trials: tuple[FaithfulnessTrial, ...]
