"""Rubric, grades, usage, report.

Grades never affect the accuracy: they are another model's opinion, separate from checked answers.
"""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, model_validator

from tunix_rt.base.records import Count, Record, Text
from tunix_rt.evaluation.types import json_hash

ShownField = Literal["question", "expected_answer", "work", "answer"]
GradeFailureCode = Literal[
    "no-text", "text-too-long", "timeout", "rate-limited", "server-error", "refused", "too-large", "nonsense"
]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]


class Criterion(Record):
    """One question to the judge, answered with an integer."""

    name: Name
    question: Annotated[Text, Field(max_length=2_000)]
    lowest: Annotated[int, Field(ge=0, le=100)] = 1
    highest: Annotated[int, Field(ge=1, le=100)] = 5
    guide: Annotated[Text, Field(max_length=10_000)]
    """What the scores mean."""

    @model_validator(mode="after")
    def _has_a_scale(self) -> "Criterion":
        if self.lowest >= self.highest:
            raise ValueError(f"the scale of {self.name} ends at {self.highest}, before it begins")
        return self


class Rubric(Record):
    """What a judge is asked about every completion."""

    name: Name
    version: Annotated[str, Field(min_length=1, max_length=32)]
    sees: Annotated[tuple[ShownField, ...], Field(min_length=1)]
    """What the judge sees, in this order. `work`: the whole completion. `answer`: the extracted answer."""
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
        """SHA-256 of the rubric: grades by equal rubrics are comparable."""
        return json_hash(self.to_json())


class JudgeModel(Record):
    """The judge. It has no field for a key, which is read from the environment and never stored."""

    model: Annotated[str, Field(min_length=1, max_length=256)]
    base_url: str
    """Base URL of the endpoint, e.g. `http://127.0.0.1:8000/v1`."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    max_tokens: Annotated[int, Field(ge=16)] = 4_096
    """Of one reply, including the reasoning of a reasoning model."""


class Prices(Record):
    """Price per million tokens, in the user's currency."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]


class JudgeUsage(Record):
    """Requests and tokens used."""

    num_requests: Count = 0
    """Billed replies, including repairs but not refused requests."""
    num_without_usage: Count = 0
    """Replies without token counts from the endpoint; the sums exclude them."""
    num_input_tokens: Count = 0
    num_output_tokens: Count = 0

    def __add__(self, other: "JudgeUsage") -> "JudgeUsage":
        return JudgeUsage(**{name: number + getattr(other, name) for name, number in self})

    def cost(self, prices: Prices | None) -> float | None:
        """The cost of the counted tokens; None without prices."""
        if prices is None:
            return None
        return (self.num_input_tokens * prices.input + self.num_output_tokens * prices.output) / 1_000_000


class CriterionGrade(Record):
    """The judge's answer to one criterion; the reason comes first so that it precedes the score."""

    reason: Annotated[str, Field(max_length=10_000)]
    score: Annotated[int, Field(strict=True)]


class CachedGrade(Record):
    """A valid reply as stored in the cache."""

    criteria: dict[str, CriterionGrade]
    usage: JudgeUsage


class GradeFailure(Record):
    """Why a completion has no grades."""

    code: GradeFailureCode
    detail: str


class Grade(Record):
    """The grades of one completion, or why there are none."""

    item_id: str
    sample: Count = 0
    criteria: dict[str, CriterionGrade] = Field(default_factory=dict)
    failure: GradeFailure | None = None
    is_cached: bool = False
    """Taken from an earlier run, which paid for its tokens."""
    usage: JudgeUsage = JudgeUsage()
    cost: float | None = None
    """Absent without prices."""

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
    """Completions that were graded."""
    num_items: Count
    """Items of these completions; the interval is a bootstrap over items."""
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
    """Hash of the predictions that were judged."""
    judge: JudgeModel
    parameters_left_out: tuple[str, ...] = ()
    """Parameters that the endpoint rejected, e.g. `response_format`: then only the prompt asks for JSON."""
    rubric: Rubric
    rubric_hash: str
    prompts_hash: str
    """SHA-256 of all messages behind these grades, in order."""
    num_texts: Count
    num_graded: Count
    failures: dict[str, Count]
    """Failure code -> completions; the means exclude them."""
    criteria: dict[str, MeanGrade]
    usage: JudgeUsage
    """Of all grades in the report, whenever they were paid for."""
    usage_of_this_run: JudgeUsage
    """Of this run only; the rest came from the cache."""
    prices: Prices | None = None
    cost: float | None = None
    cost_of_this_run: float | None = None
    grades: tuple[Grade, ...]
