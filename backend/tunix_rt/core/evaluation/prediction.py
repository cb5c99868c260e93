"""What a model wrote for one eval item, and what was made of it.

generation   text, token counts, or a typed failure     written while the model runs; never changes
judgement    answer, rule, verdict, checked steps       computed from the text; re-scoring computes it again
"""

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from tunix_rt.base.records import Count, Record, Text
from tunix_rt.core.evaluation.protocol import ExtractionRule
from tunix_rt.datasets.types import CheckerName
from tunix_rt.engines.types import FailureCode

Verdict = Literal["correct", "wrong", "no-answer", "unscored"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
StepVerdict = Literal["confirmed", "broken", "unchecked"]


class GenerationFailure(Record):
    """Why there is no text."""

    code: FailureCode
    detail: str


class Generation(Record):
    """What the model did with one item, one sample."""

    item_id: str
    sample: Count = 0
    """Which of the item's samples, from 0."""
    text: str | None = None
    """The completion without control tokens. None: there is none, and `failure` says why."""
    finish: Literal["end-of-turn", "cut-off"] | None = None
    """How the text ended: by itself, or at max_new_tokens."""
    num_prompt_tokens: Count = 0
    num_new_tokens: Count = 0
    """Tokens written, the end of the turn included."""
    num_reasoning_tokens: Count = 0
    """Those of them before the answer; all of them where no answer can be told apart."""
    failure: GenerationFailure | None = None

    @model_validator(mode="after")
    def _text_or_failure(self) -> "Generation":
        if (self.text is None) == (self.failure is None):
            raise ValueError("a generation has either a text or a failure")
        if (self.text is None) != (self.finish is None):
            raise ValueError("a text has a finish, a failure has none")
        return self


class CheckedStep(Record):
    """A step of the shown work, and what the linter says about its arithmetic."""

    text: str
    verdict: StepVerdict
    """`broken`: at least one calculation is wrong. `confirmed`: at least one is right, none wrong.
    `unchecked`: there is none that can be read."""


class Judgement(Record):
    """What a completion says, and whether its answer is right."""

    verdict: Verdict
    """`no-answer` is a wrong answer for which no rule found any text; `unscored` is no verdict at all."""
    is_well_formed: bool
    """The whole text has exactly the form that training teaches."""
    steps: tuple[CheckedStep, ...] = ()
    answer: str | None = None
    rule: ExtractionRule | None = None
    """The rule that found the answer."""
    is_lenient: bool = False
    """Found by a lenient rule: counted apart."""
    checker: CheckerName | None = None
    explanation: str
    """In words: `18 equals 18`, `no rule found an answer`."""
    canonical: str | None = None
    """The answer in the form in which equal answers are equal texts; votes are counted by it."""

    @property
    def is_correct(self) -> bool:
        """Right, and found by a rule that counts."""
        return self.verdict == "correct" and not self.is_lenient

    @property
    def is_scored(self) -> bool:
        """Whether it counts at all."""
        return self.verdict != "unscored"

    @property
    def has_broken_step(self) -> bool:
        """Whether the shown work has a calculation that is wrong."""
        return any(step.verdict == "broken" for step in self.steps)


class Prediction(Record):
    """One line of `predictions.jsonl`: the item, what was written, and what was made of it."""

    item_id: Annotated[Text, Field(max_length=128)]
    sample: Count = 0
    prompt: str
    expected_answer: str
    section: Annotated[Text, Field(max_length=64)]
    category: Annotated[Text, Field(max_length=64)]
    difficulty: Annotated[Text, Field(max_length=64)]
    generation: Generation
    judgement: Judgement
