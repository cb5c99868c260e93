"""Protocol, Prediction, Evaluation, scores, filters and pages.

generation   text, token counts, or a typed failure     written while the model runs; never changes
judgement    answer, rule, verdict, checked steps       computed from the text; re-scoring computes it again
"""

import hashlib
import json
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tunix_rt.base.records import Count, Pagination, Record, Text, Word, flat
from tunix_rt.datasets.types import CheckerName
from tunix_rt.engines.types import Decoding, FailureCode
from tunix_rt.models.types import EvaluatedModel, EvaluationSummary
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

ExtractionRule = Literal["answer-tag", "after-think", "boxed", "hash", "answer-phrase", "last-number"]

RULE_OF_MARKUP: dict[MarkupStyle, ExtractionRule] = {
    "reasoning": "answer-tag",
    "counted": "answer-tag",
    "think": "after-think",
    "boxed": "boxed",
    "hash": "hash",
}
"""The extraction rule of each markup."""


class Extraction(Record):
    """The rules that may find the answer in a completion, in order; the first match wins."""

    rules: tuple[ExtractionRule, ...]
    """The rule of the markup first, then alternates."""
    lenient_rules: tuple[ExtractionRule, ...] = ()
    """Tried last. Their answers are judged but counted separately: they never raise the accuracy."""

    @model_validator(mode="after")
    def _each_once(self) -> "Extraction":
        both = self.rules + self.lenient_rules
        if not self.rules or len(set(both)) < len(both):
            raise ValueError("name at least one extraction rule, and each of them once")
        return self


def default_extraction(markup: MarkupStyle, *, is_lenient: bool = False) -> Extraction:
    """The rule of the markup, then those of the others; if lenient, also phrases and the last number."""
    first = RULE_OF_MARKUP[markup]
    marked: tuple[ExtractionRule, ...] = ("answer-tag", "boxed", "hash")
    rules = (first, *(rule for rule in marked if rule != first))
    if markup == "think":
        # `after-think` takes whatever follows, so explicit marks come first; no other markup uses it.
        rules = ("answer-tag", "boxed", "after-think", "hash")
    lenient: tuple[ExtractionRule, ...] = ("answer-phrase", "last-number") if is_lenient else ()
    return Extraction(rules=rules, lenient_rules=lenient)


def json_hash(value: object) -> str:
    """SHA-256 of a JSON value, independent of the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class Protocol(Record):
    """Everything besides the model that determines a score."""

    evalset_hash: str
    """SHA-256 of the items, in order."""
    template_hash: str
    """SHA-256 of the chat template's source."""
    markup: MarkupStyle = DEFAULT_MARKUP
    decoding: Decoding = Decoding()
    extraction: Extraction
    max_answer_chars: int
    """Longer answers are wrong without being checked."""
    versions: dict[str, str]
    """Versions of extractor, checkers and linter, by name."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the protocol: equal fingerprints mean comparable scores."""
        return json_hash(self.to_json())

    def differences(self, other: "Protocol") -> tuple[str, ...]:
        """How two protocols differ, one line each: `decoding.temperature: 0.0 / 0.7`."""
        mine, theirs = flat(self.to_json()), flat(other.to_json())
        keys = [key for key in sorted(mine.keys() | theirs.keys()) if mine.get(key) != theirs.get(key)]
        return tuple(f"{key}: {mine.get(key, '-')} / {theirs.get(key, '-')}" for key in keys)


Verdict = Literal["correct", "wrong", "no-answer", "unscored"]
StepVerdict = Literal["confirmed", "broken", "unchecked"]


class GenerationFailure(Record):
    """Why a completion is missing."""

    code: FailureCode
    detail: str


class Generation(Record):
    """The completion of one sample of one item."""

    item_id: str
    sample: Count = 0
    """Index of the sample, from 0."""
    text: str | None = None
    """The completion without control tokens. None: generation failed, and `failure` says why."""
    finish: Literal["end-of-turn", "cut-off"] | None = None
    """How the completion ended: by itself, or at max_new_tokens."""
    num_prompt_tokens: Count = 0
    num_new_tokens: Count = 0
    """Generated tokens, including the end of the turn."""
    num_reasoning_tokens: Count = 0
    """Generated tokens before the answer; all of them if no answer can be located."""
    failure: GenerationFailure | None = None

    @model_validator(mode="after")
    def _text_or_failure(self) -> "Generation":
        if (self.text is None) == (self.failure is None):
            raise ValueError("a generation has either a text or a failure")
        if (self.text is None) != (self.finish is None):
            raise ValueError("a text has a finish, a failure has none")
        return self


class CheckedStep(Record):
    """A reasoning step and the linter's verdict on its arithmetic."""

    text: str
    verdict: StepVerdict
    """`broken`: at least one calculation is wrong. `confirmed`: at least one is correct, none wrong.
    `unchecked`: there is no calculation that can be parsed."""


class Judgement(Record):
    """The extracted answer of a completion and its verdict."""

    verdict: Verdict
    """`no-answer` counts as wrong: no rule found an answer. `unscored` is not counted at all."""
    is_well_formed: bool
    """The completion has exactly the form that training teaches."""
    steps: tuple[CheckedStep, ...] = ()
    answer: str | None = None
    rule: ExtractionRule | None = None
    """The rule that found the answer."""
    is_lenient: bool = False
    """Found by a lenient rule, so counted separately."""
    checker: CheckerName | None = None
    explanation: str
    """For example `18 equals 18`, `no rule found an answer`."""
    canonical: str | None = None
    """The answer in canonical form, in which equal answers are equal texts; used to count votes."""

    @property
    def is_correct(self) -> bool:
        """Correct, and not found by a lenient rule."""
        return self.verdict == "correct" and not self.is_lenient

    @property
    def is_scored(self) -> bool:
        """Whether there is a verdict."""
        return self.verdict != "unscored"

    @property
    def has_broken_step(self) -> bool:
        """Whether a step has a wrong calculation."""
        return any(step.verdict == "broken" for step in self.steps)


class Prediction(Record):
    """One line of `predictions.jsonl`: the item, the completion and its judgement."""

    item_id: Annotated[Text, Field(max_length=128)]
    sample: Count = 0
    prompt: str
    expected_answer: str
    section: Annotated[Text, Field(max_length=64)]
    category: Annotated[Text, Field(max_length=64)]
    difficulty: Annotated[Text, Field(max_length=64)]
    generation: Generation
    judgement: Judgement


class Estimate(Record):
    """A mean in [0, 1] with its 95 % interval."""

    value: Annotated[float, Field(ge=0, le=1)]
    low: Annotated[float, Field(ge=0, le=1)]
    high: Annotated[float, Field(ge=0, le=1)]
    n: Count
    """The number of items, predictions or steps."""
    method: Literal["wilson", "bootstrap-by-item", "wilson-by-item"]
    """Method of the interval. `wilson-by-item`: all items agree, so resampling gives no interval."""

    def __str__(self) -> str:
        return f"{self.value:.1%} (95 % {self.low:.1%}–{self.high:.1%}, n = {self.n:,})"


class Spread(Record):
    """Distribution of a quantity over predictions."""

    mean: float
    median: float
    p90: float
    n: Count


class GroupScores(Record):
    """The scores of a group of items. A score with n = 0 (no scored item, no step) is absent."""

    num_items: Count
    num_predictions: Count
    num_scored: Count
    num_unscored: Count
    """Predictions without a verdict, as generation or a checker failed; excluded from all means."""
    num_no_answer: Count
    num_lenient: Count
    """Answers that only a lenient rule found."""
    num_cut_off: Count
    """Completions that did not end their turn."""
    num_steps: Count
    """Reasoning steps."""
    accuracy: Estimate | None = None
    """Correct answers among the scored ones; an answer found by a lenient rule counts as wrong. With several
    samples: the mean over items of the share of correct ones."""
    lenient_accuracy: Estimate | None = None
    """The same including lenient rules; absent if the protocol allows none."""
    format_adherence: Estimate | None = None
    """Completions in exactly the form that training teaches."""
    reasoning_tokens: Spread | None = None
    reasoning_steps: Spread | None = None
    step_correctness: Estimate | None = None
    """Steps with confirmed arithmetic, among the steps with checkable arithmetic."""
    right_by_wrong_work: Estimate | None = None
    """Correct answers with a broken step, among the correct answers."""
    pass_at: dict[int, Estimate] = Field(default_factory=dict)
    """k -> the probability that at least one of k samples is correct; empty with one sample per item."""
    majority_at: dict[int, Estimate] = Field(default_factory=dict)
    """k -> the probability that the most frequent answer of k samples is correct; ties broken at random."""


class Scores(Record):
    """All scores of an evaluation."""

    primary_score: Annotated[float, Field(ge=0, le=1)] | None = None
    """The accuracy. None: nothing could be scored."""
    overall: GroupScores
    by_section: dict[str, GroupScores]
    by_category: dict[str, GroupScores]
    by_difficulty: dict[str, GroupScores]
    failures: dict[str, Count]
    """Failure code -> predictions without a verdict; `checker`: the answer could not be checked."""
    rules: dict[str, Count]
    """Extraction rule -> answers found by it."""


class GenerationFigures(Record):
    """How the completions were generated."""

    engine: str
    device: str
    precision: str
    batch_size: Count | None = None
    """Batch size, if it was requested; otherwise the engine chose."""
    num_new_tokens: Count
    seconds: Annotated[float, Field(ge=0)]
    """Generation time, over every resume."""
    tokens_per_s: Annotated[float, Field(ge=0)]


class Evaluation(Record):
    """The record of an evaluation. Anyone can rescore it from `predictions.jsonl`."""

    evaluation_version: Literal["1"] = "1"
    evaluation_id: UUID
    created_at: datetime
    tunix_rt_version: str
    model: EvaluatedModel
    evalset: str
    """Name of the eval set."""
    num_items: Count
    protocol: Protocol
    fingerprint: str
    """Of the protocol."""
    scores: Scores
    generation: GenerationFigures | None = None
    """Absent for external predictions."""
    predictions_hash: str
    """SHA-256 of `predictions.jsonl`."""
    rescored_from: UUID | None = None
    """The evaluation whose completions were rescored."""


class EvaluationStart(Record):
    """Content of `request.json`: a resumed evaluation must have the same."""

    request_version: Literal["1"] = "1"
    evaluation_id: UUID
    created_at: datetime
    model: EvaluatedModel
    evalset: str
    protocol: Protocol
    rescored_from: UUID | None = None
    """The evaluation whose completions are rescored."""

    def differences(self, other: "EvaluationStart") -> tuple[str, ...]:
        """How the two differ, one line each; empty if one may resume the other."""
        # `weights_hash` covers the files, which older requests do not have.
        pairs = [
            (f"model.{name}", mine, getattr(other.model, name))
            for name, mine in self.model
            if name != "weight_files"
        ]
        pairs.append(("rescored_from", self.rescored_from, other.rescored_from))
        changed = (f"{name}: {mine} / {theirs}" for name, mine, theirs in pairs if mine != theirs)
        return (*self.protocol.differences(other.protocol), *changed)


class FinishedBatch(Record):
    """A line of `batches.jsonl`: where and how fast a batch of completions was generated."""

    engine: str
    device: str
    precision: str
    batch_size: Count | None = None
    """Batch size, if it was requested."""
    num_generations: Count
    num_new_tokens: Count
    seconds: Annotated[float, Field(ge=0)]


def generation_figures(batches: list[FinishedBatch], *, num_new_tokens: int) -> GenerationFigures | None:
    """How the completions were generated; None for external predictions.

    Args:
        batches: of all processes, in order.
        num_new_tokens: of all completions. A killed process may lose the line of a batch, never completions.
    """
    if not batches:
        return None
    seconds = sum(batch.seconds for batch in batches)
    num_timed_tokens = sum(batch.num_new_tokens for batch in batches)
    last = batches[-1]
    return GenerationFigures(
        engine=last.engine,
        device=last.device,
        precision=last.precision,
        batch_size=last.batch_size,
        num_new_tokens=num_new_tokens,
        seconds=round(seconds, 3),
        tokens_per_s=round(num_timed_tokens / seconds, 1) if seconds else 0.0,
    )


EvaluationOrder = Literal["newest", "best"]
"""`best`: highest primary score first, newer first among equal scores, those without a score last."""
_DAY_CHARS = len("2026-11-15")
_LAST_YEAR = 9998  # a day later must still be a date


def _parse_time(value: object) -> object:
    """Parse an ISO date or time; a time without a time zone is in UTC."""
    if isinstance(value, str):
        value = date.fromisoformat(value) if len(value) == _DAY_CHARS else datetime.fromisoformat(value)
    if isinstance(value, date) and not 1 < value.year <= _LAST_YEAR:
        raise ValueError(f"give a year from 2 to {_LAST_YEAR}")
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value


DayOrMoment = Annotated[date | datetime, BeforeValidator(_parse_time)]


class EvaluationFilter(Record):
    """Filters of evaluations; all of them must match."""

    dataset: Word | None = None
    """Dataset of the run."""
    model: Word | None = None
    """Part of the name of the model or of its base model, ignoring case."""
    recipe: Word | None = None
    """Part of the name of the recipe, ignoring case."""
    evalset: Word | None = None
    run_id: Word | None = None
    date_from: DayOrMoment | None = None
    """Not before; a date means its start in UTC."""
    date_to: DayOrMoment | None = None
    """Not after; a date is inclusive, in UTC."""

    @property
    def start(self) -> datetime | None:
        """The first matching time."""
        return None if self.date_from is None else _beginning(self.date_from)

    @property
    def end(self) -> datetime | None:
        """The end of the matching interval, exclusive."""
        if self.date_to is None:
            return None
        step = timedelta(microseconds=1) if isinstance(self.date_to, datetime) else timedelta(days=1)
        return _beginning(self.date_to) + step


def _beginning(day: date | datetime) -> datetime:
    return day if isinstance(day, datetime) else datetime.combine(day, time(), UTC)


class PredictionFilter(Record):
    """Filters of predictions; all of them must match."""

    verdict: Verdict | None = None
    section: Word | None = None
    category: Word | None = None
    difficulty: Word | None = None
    rule: ExtractionRule | None = None
    """The rule that found the answer."""
    text: Word | None = None
    """Part of the prompt, the expected answer or the completion, ignoring case."""


class EvaluationList(BaseModel):
    """A page of evaluations."""

    model_config = ConfigDict(frozen=True)
    data: tuple[EvaluationSummary, ...]
    pagination: Pagination


class PredictionList(BaseModel):
    """A page of the predictions of an evaluation, in the order of the eval set."""

    model_config = ConfigDict(frozen=True)
    data: tuple[Prediction, ...]
    pagination: Pagination


def summary_of(evaluation: Evaluation) -> EvaluationSummary:
    """The summary for lists and leaderboards."""
    overall = evaluation.scores.overall
    accuracy, adherence = overall.accuracy, overall.format_adherence
    return EvaluationSummary(
        evaluation_id=evaluation.evaluation_id,
        created_at=evaluation.created_at,
        model=evaluation.model,
        evalset=evaluation.evalset,
        evalset_hash=evaluation.protocol.evalset_hash,
        fingerprint=evaluation.fingerprint,
        num_items=evaluation.num_items,
        num_scored=overall.num_scored,
        num_unscored=overall.num_unscored,
        primary_score=evaluation.scores.primary_score,
        low=None if accuracy is None else accuracy.low,
        high=None if accuracy is None else accuracy.high,
        format_adherence=None if adherence is None else adherence.value,
        rescored_from=evaluation.rescored_from,
    )
