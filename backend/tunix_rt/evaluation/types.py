"""Protocol, Prediction, Evaluation, scores, filters and pages.

generation   text, token counts, or a typed failure     written while the model runs; never changes
judgement    answer, rule, verdict, checked steps       computed from the text; re-scoring computes it again
"""

import hashlib
import json
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal, get_args
from uuid import UUID

from pydantic import BeforeValidator, Field, model_validator

from tunix_rt.base.records import Count, Record, Text, Word, flat
from tunix_rt.datasets.types import CheckerName
from tunix_rt.engines.types import Decoding, FailureCode
from tunix_rt.models.types import EvaluatedModel, EvaluationSummary
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

ExtractionRule = Literal["answer-tag", "after-think", "boxed", "hash", "answer-phrase", "last-number"]
EXTRACTION_RULES: tuple[ExtractionRule, ...] = get_args(ExtractionRule)

RULE_OF_MARKUP: dict[MarkupStyle, ExtractionRule] = {
    "reasoning": "answer-tag",
    "counted": "answer-tag",
    "think": "after-think",
    "boxed": "boxed",
    "hash": "hash",
}
"""The rule that reads the answer of a completion in the markup that the model was asked for."""


class Extraction(Record):
    """Which rules may find the answer in a completion, in order; the first that finds one wins."""

    rules: tuple[ExtractionRule, ...]
    """The rule of the markup first, then alternates."""
    lenient_rules: tuple[ExtractionRule, ...] = ()
    """Tried last. What they find is judged and counted apart: it never raises the accuracy."""

    @model_validator(mode="after")
    def _each_once(self) -> "Extraction":
        both = self.rules + self.lenient_rules
        if not self.rules or len(set(both)) < len(both):
            raise ValueError("name at least one extraction rule, and each of them once")
        return self


def default_extraction(markup: MarkupStyle, *, is_lenient: bool = False) -> Extraction:
    """The rule of the markup, then the other markups' own; with leniency, phrases and the last number."""
    first = RULE_OF_MARKUP[markup]
    marked: tuple[ExtractionRule, ...] = ("answer-tag", "boxed", "hash")
    rules = (first, *(rule for rule in marked if rule != first))
    if markup == "think":
        # It takes whatever follows, so marks in a longer text come first; no other model is asked for it.
        rules = ("answer-tag", "boxed", "after-think", "hash")
    lenient: tuple[ExtractionRule, ...] = ("answer-phrase", "last-number") if is_lenient else ()
    return Extraction(rules=rules, lenient_rules=lenient)


class Protocol(Record):
    """Everything that decides a score, apart from the model."""

    evalset_hash: str
    """SHA-256 of the items that were asked, in their order."""
    template_hash: str
    """SHA-256 of the chat template's source."""
    markup: MarkupStyle = DEFAULT_MARKUP
    decoding: Decoding = Decoding()
    extraction: Extraction
    max_answer_chars: int
    """A longer answer is wrong without being read."""
    versions: dict[str, str]
    """Of extractor, checkers and linter, by name."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all of it: equal fingerprints mean comparable scores."""
        text = json.dumps(self.to_json(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    def differences(self, other: "Protocol") -> tuple[str, ...]:
        """What the two do not share, one line each: `decoding.temperature: 0.0 / 0.7`."""
        mine, theirs = flat(self.to_json()), flat(other.to_json())
        keys = [key for key in sorted(mine.keys() | theirs.keys()) if mine.get(key) != theirs.get(key)]
        return tuple(f"{key}: {mine.get(key, '-')} / {theirs.get(key, '-')}" for key in keys)


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


class Estimate(Record):
    """A mean in [0, 1] with its 95 % interval."""

    value: Annotated[float, Field(ge=0, le=1)]
    low: Annotated[float, Field(ge=0, le=1)]
    high: Annotated[float, Field(ge=0, le=1)]
    n: Count
    """Of what it is the mean: items, predictions or steps."""
    method: Literal["wilson", "bootstrap-by-item", "wilson-by-item"]
    """How the interval was made. `wilson-by-item`: all items agree, so that resampling them says nothing."""

    def __str__(self) -> str:
        return f"{self.value:.1%} (95 % {self.low:.1%}–{self.high:.1%}, n = {self.n:,})"


class Spread(Record):
    """How large something is, over predictions."""

    mean: float
    median: float
    p90: float
    n: Count


class GroupScores(Record):
    """The scores of a group of items. What has no n (no scored item, no step) is left out."""

    num_items: Count
    num_predictions: Count
    num_scored: Count
    num_unscored: Count
    """Predictions without a verdict, by a failure of generation or of a checker: in no mean."""
    num_no_answer: Count
    num_lenient: Count
    """Answers that only a lenient rule found."""
    num_cut_off: Count
    """Completions that did not end their turn."""
    num_steps: Count
    """Steps of the work shown."""
    accuracy: Estimate | None = None
    """Right answers among the scored; what a lenient rule found counts as wrong. With several samples: the
    mean over items of the share of right ones."""
    lenient_accuracy: Estimate | None = None
    """The same with lenient rules; left out where the protocol allows none."""
    format_adherence: Estimate | None = None
    """Completions in exactly the form that training teaches."""
    reasoning_tokens: Spread | None = None
    reasoning_steps: Spread | None = None
    step_correctness: Estimate | None = None
    """Steps whose arithmetic is confirmed, among the steps with arithmetic that can be checked."""
    right_by_wrong_work: Estimate | None = None
    """Right answers with a broken step in the work shown, among the right answers."""
    pass_at: dict[int, Estimate] = Field(default_factory=dict)
    """k -> the chance that at least one of k samples is right; empty when one sample was drawn."""
    majority_at: dict[int, Estimate] = Field(default_factory=dict)
    """k -> the chance that the most frequent answer of k samples is right, ties drawn by lot."""


class Scores(Record):
    """All scores of an evaluation."""

    primary_score: Annotated[float, Field(ge=0, le=1)] | None = None
    """The accuracy. None: nothing could be scored."""
    overall: GroupScores
    by_section: dict[str, GroupScores]
    by_category: dict[str, GroupScores]
    by_difficulty: dict[str, GroupScores]
    failures: dict[str, Count]
    """Failure code -> predictions without a verdict; `checker`: there is a text that could not be checked."""
    rules: dict[str, Count]
    """Extraction rule -> answers that it found."""


class GenerationFigures(Record):
    """How the texts were made."""

    engine: str
    device: str
    precision: str
    batch_size: Count | None = None
    """Texts written at a time, where that was asked for; else the engine chose."""
    num_new_tokens: Count
    seconds: Annotated[float, Field(ge=0)]
    """Spent generating, over every resume."""
    tokens_per_s: Annotated[float, Field(ge=0)]


class Evaluation(Record):
    """The record that anyone can re-score from `predictions.jsonl`."""

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
    """Left out where the texts came from elsewhere."""
    predictions_hash: str
    """SHA-256 of `predictions.jsonl`."""
    rescored_from: UUID | None = None
    """The evaluation whose texts were scored again."""


class EvaluationStart(Record):
    """Content of `request.json`: whoever goes on with an evaluation must ask for the same."""

    request_version: Literal["1"] = "1"
    evaluation_id: UUID
    created_at: datetime
    model: EvaluatedModel
    evalset: str
    protocol: Protocol
    rescored_from: UUID | None = None
    """The evaluation whose texts are scored again."""

    def differences(self, other: "EvaluationStart") -> tuple[str, ...]:
        """What the two do not share, one line each; empty when one may go on with the other."""
        differences = list(self.protocol.differences(other.protocol))
        for name, mine in self.model:
            theirs = getattr(other.model, name)
            if mine != theirs:
                differences.append(f"model.{name}: {mine} / {theirs}")
        if self.rescored_from != other.rescored_from:
            differences.append(f"rescored_from: {self.rescored_from} / {other.rescored_from}")
        return tuple(differences)


class FinishedBatch(Record):
    """A line of `batches.jsonl`: texts that ended together, where they were written and how fast."""

    engine: str
    device: str
    precision: str
    batch_size: Count | None = None
    """Texts to be written at a time, where that was asked for."""
    num_generations: Count
    num_new_tokens: Count
    seconds: Annotated[float, Field(ge=0)]


def generation_figures(batches: list[FinishedBatch], *, num_new_tokens: int) -> GenerationFigures | None:
    """How the texts were made; None when none were made here.

    Args:
        batches: of every process that took part, in order.
        num_new_tokens: of all texts. A process that is killed loses the line of a batch, never its texts.
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
"""`best`: highest primary score first, the newer of two equal ones first, those without a score last."""
_DAY_CHARS = len("2026-11-15")
_LAST_YEAR = 9998  # a day later must still be a date


def _read_moment(value: object) -> object:
    """A day or a moment from its ISO text; a moment without a time zone is in UTC."""
    if isinstance(value, str):
        value = date.fromisoformat(value) if len(value) == _DAY_CHARS else datetime.fromisoformat(value)
    if isinstance(value, date) and not 1 < value.year <= _LAST_YEAR:
        raise ValueError(f"give a year from 2 to {_LAST_YEAR}")
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value


DayOrMoment = Annotated[date | datetime, BeforeValidator(_read_moment)]


class EvaluationFilter(Record):
    """Which evaluations are meant. Everything given must hold; nothing given means all of them."""

    dataset: Word | None = None
    """What the run was trained on."""
    model: Word | None = None
    """Stands in the name of the model or of its base model, whatever the case."""
    recipe: Word | None = None
    """Stands in the name of the recipe, whatever the case."""
    evalset: Word | None = None
    run_id: Word | None = None
    date_from: DayOrMoment | None = None
    """Not before; a day means its beginning in UTC."""
    date_to: DayOrMoment | None = None
    """Not after; a day is meant to its end in UTC."""

    @property
    def start(self) -> datetime | None:
        """The first moment that fits."""
        return None if self.date_from is None else _beginning(self.date_from)

    @property
    def end(self) -> datetime | None:
        """The first moment after the last that fits."""
        if self.date_to is None:
            return None
        step = timedelta(microseconds=1) if isinstance(self.date_to, datetime) else timedelta(days=1)
        return _beginning(self.date_to) + step


def _beginning(day: date | datetime) -> datetime:
    return day if isinstance(day, datetime) else datetime.combine(day, time(), UTC)


class PredictionFilter(Record):
    """Which predictions of an evaluation are meant. Everything given must hold."""

    verdict: Verdict | None = None
    section: Word | None = None
    category: Word | None = None
    difficulty: Word | None = None
    rule: ExtractionRule | None = None
    """The rule that found the answer."""
    text: Word | None = None
    """Stands in the prompt, the expected answer or the completion, whatever the case."""


class EvaluationPage(Record):
    """A page of evaluations, and how many there are in all."""

    data: tuple[EvaluationSummary, ...]
    total: Count


class PredictionPage(Record):
    """A page of predictions, and how many there are in all."""

    data: tuple[Prediction, ...]
    total: Count


def summary_of(evaluation: Evaluation) -> EvaluationSummary:
    """What lists and leaderboards show of an evaluation."""
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
