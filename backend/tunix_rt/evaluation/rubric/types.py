"""Rubric, grades, usage, report.

A rubric's grades never touch the accuracy: they are another model's opinion, kept apart from checked answers.
"""

import hashlib
import json
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, model_validator

from tunix_rt.base.records import Count, Record, Text

ShownField = Literal["question", "expected_answer", "work", "answer"]
GradeFailureCode = Literal[
    "no-text", "text-too-long", "timeout", "rate-limited", "server-error", "refused", "too-large", "nonsense"
]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class Criterion(Record):
    """One question to the judge, answered by a whole number."""

    name: Name
    question: Annotated[Text, Field(max_length=2_000)]
    lowest: Annotated[int, Field(ge=0, le=100)] = 1
    highest: Annotated[int, Field(ge=1, le=100)] = 5
    guide: Annotated[Text, Field(max_length=10_000)]
    """What each number means."""

    @model_validator(mode="after")
    def _has_a_scale(self) -> "Criterion":
        if self.lowest >= self.highest:
            raise ValueError(f"the scale of {self.name} ends at {self.highest}, before it begins")
        return self


class Rubric(Record):
    """What a judge is asked about every text."""

    name: Name
    version: Annotated[str, Field(min_length=1, max_length=32)]
    sees: Annotated[tuple[ShownField, ...], Field(min_length=1)]
    """What the judge is shown, in this order. `work`: the whole text. `answer`: what was read from it."""
    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1, max_length=20)]

    @model_validator(mode="after")
    def _each_once(self) -> "Rubric":
        names = [criterion.name for criterion in self.criteria]
        if len(set(names)) < len(names) or len(set(self.sees)) < len(self.sees):
            raise ValueError("name every criterion and every shown field once")
        if "work" not in self.sees and "answer" not in self.sees:
            raise ValueError("the judge must see work or answer: there is nothing to judge otherwise")
        return self

    @property
    def content_hash(self) -> str:
        """SHA-256 of all of it: grades by equal rubrics can be compared."""
        return json_hash(self.to_json())


def json_hash(value: object) -> str:
    """SHA-256 of a JSON value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class JudgeModel(Record):
    """Who judges. There is no place for a key: it comes from the environment and goes nowhere."""

    model: Annotated[str, Field(min_length=1, max_length=256)]
    base_url: str
    """Of the endpoint, e.g. `http://127.0.0.1:8000/v1`."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    max_tokens: Annotated[int, Field(ge=16)] = 4_096
    """Of one reply, a reasoning model's thoughts included."""


class Prices(Record):
    """What a million tokens costs, in the currency of whoever asks."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]


class JudgeUsage(Record):
    """What asking took."""

    num_requests: Count = 0
    """Replies that were paid for: repairs included, refused requests not."""
    num_without_usage: Count = 0
    """Replies for which the endpoint did not say how many tokens they took; they are in no sum."""
    num_input_tokens: Count = 0
    num_output_tokens: Count = 0

    def __add__(self, other: "JudgeUsage") -> "JudgeUsage":
        return JudgeUsage(
            num_requests=self.num_requests + other.num_requests,
            num_without_usage=self.num_without_usage + other.num_without_usage,
            num_input_tokens=self.num_input_tokens + other.num_input_tokens,
            num_output_tokens=self.num_output_tokens + other.num_output_tokens,
        )

    def cost(self, prices: Prices) -> float:
        """What the counted tokens cost."""
        return (self.num_input_tokens * prices.input + self.num_output_tokens * prices.output) / 1_000_000


class CriterionGrade(Record):
    """The judge's answer to one criterion; the reason comes first, so that it is given before the number."""

    reason: Annotated[str, Field(max_length=10_000)]
    score: Annotated[int, Field(strict=True)]


class CachedGrade(Record):
    """A valid reply as the cache keeps it."""

    criteria: dict[str, CriterionGrade]
    usage: JudgeUsage


class GradeFailure(Record):
    """Why there are no grades."""

    code: GradeFailureCode
    detail: str


class Grade(Record):
    """What the judge said about one text, or why it said nothing."""

    item_id: str
    sample: Count = 0
    criteria: dict[str, CriterionGrade] = Field(default_factory=dict)
    failure: GradeFailure | None = None
    is_cached: bool = False
    """Taken from an earlier run: its tokens were paid for then."""
    usage: JudgeUsage = JudgeUsage()
    cost: float | None = None
    """Left out without prices."""

    @model_validator(mode="after")
    def _grades_or_failure(self) -> "Grade":
        if bool(self.criteria) == (self.failure is not None):
            raise ValueError("a grade has either criteria or a failure")
        return self


class MeanGrade(Record):
    """The mean of one criterion with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: Count
    """Texts that were graded."""
    num_items: Count
    """Items they belong to; the interval is a bootstrap over items."""
    lowest: int
    highest: int
    """The scale."""

    def __str__(self) -> str:
        return f"{self.mean:.2f} of {self.highest} (95 % {self.low:.2f}–{self.high:.2f}, n = {self.n:,})"


class RubricReport(Record):
    """All grades of an evaluation by one rubric and one judge."""

    report_version: Literal["1"] = "1"
    created_at: datetime
    tunix_rt_version: str
    evaluation_id: UUID
    predictions_hash: str
    """Of the texts that were judged."""
    judge: JudgeModel
    parameters_left_out: tuple[str, ...] = ()
    """What the endpoint refused to be sent, e.g. `response_format`: the prompt alone asked for JSON then."""
    rubric: Rubric
    rubric_hash: str
    prompts_hash: str
    """SHA-256 of every message that belongs to these grades, in order."""
    num_texts: Count
    num_graded: Count
    failures: dict[str, Count]
    """Failure code -> texts; they are in no mean."""
    criteria: dict[str, MeanGrade]
    usage: JudgeUsage
    """Of all grades here, whenever they were paid for."""
    usage_of_this_run: JudgeUsage
    """What was asked now; the rest came from the cache."""
    prices: Prices | None = None
    cost: float | None = None
    cost_of_this_run: float | None = None
    grades: tuple[Grade, ...]
