"""What a store of evaluations takes and gives: filters, orders, pages."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator

from tunix_rt.base.records import Count, Record, Word
from tunix_rt.core.evaluation.prediction import Prediction, Verdict
from tunix_rt.core.evaluation.protocol import ExtractionRule
from tunix_rt.core.evaluation.record import Evaluation
from tunix_rt.models.types import EvaluationSummary

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
