"""Grades one text: from the cache, or by asking, with one repair where the reply cannot be read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tunix_rt.core.evaluation.prediction import Prediction
from tunix_rt.core.evaluation.rubric import (
    Criterion,
    CriterionGrade,
    Grade,
    GradeFailure,
    JudgeModel,
    JudgeUsage,
    PaidGrade,
    Prices,
    Rubric,
    json_hash,
)
from tunix_rt.evals.rubric.chat import Chat, NoReplyError, RequestRefusedError
from tunix_rt.evals.rubric.prompts import (
    MAX_SHOWN_CHARS,
    Messages,
    criteria_order,
    grading_messages,
    repair_messages,
    reply_schema,
    shown_texts,
)
from tunix_rt.evals.rubric.replies import NonsenseError, read_reply
from tunix_rt.files.judge_cache import JudgeCache

OPTIONAL_PARAMETERS = ("response_format", "temperature", "max_tokens")
"""Not every endpoint takes these. The first goes first: without it the prompt alone asks for JSON."""


@dataclass
class Grader:
    """One judge, one rubric. Threads may share it."""

    chat: Chat
    judge: JudgeModel
    rubric: Rubric
    cache: JudgeCache
    prices: Prices | None = None
    left_out: set[str] = field(default_factory=set)
    """Parameters that the endpoint refused; not sent again."""

    def grade(self, prediction: Prediction) -> Grade:
        """What the judge says about a text. Never raises for one text alone."""
        problem = self._why_not_asked(prediction)
        if problem is not None:
            return self._failed(prediction, problem, JudgeUsage())
        messages = grading_messages(self.rubric, prediction)
        key = self.question_key(messages)
        paid = self.cache.get(key)
        if paid is not None:
            return self._graded(prediction, paid, is_cached=True)
        asking = _Asking(self, criteria_order(self.rubric, prediction.item_id))
        try:
            paid = asking.paid_grade(messages)
        except NoReplyError as error:
            return self._failed(prediction, GradeFailure(code=error.code, detail=error.detail), asking.usage)
        self.cache.put(key, paid)
        return self._graded(prediction, paid, is_cached=False)

    def question_key(self, messages: Messages) -> str:
        """What a reply is kept by: judge, rubric, messages and parameters."""
        question = {"judge": self.judge.to_json(), "rubric": self.rubric.content_hash, "messages": messages}
        return json_hash(question)

    def complete(self, messages: Messages, criteria: Sequence[Criterion]) -> tuple[str, JudgeUsage]:
        """One reply; a parameter that the endpoint does not know is left out from then on."""
        while True:
            parameters = self._parameters(criteria)
            try:
                reply = self.chat.complete({"model": self.judge.model, "messages": messages, **parameters})
                return reply.text, reply.usage
            except RequestRefusedError as refusal:
                refused = _refused_parameter(refusal.detail, [*parameters])
                if refused is None:
                    raise
                self.left_out.add(refused)

    def _parameters(self, criteria: Sequence[Criterion]) -> dict[str, Any]:
        schema = {"name": self.rubric.name, "strict": True, "schema": reply_schema(criteria)}
        parameters = {
            "response_format": {"type": "json_schema", "json_schema": schema},
            "temperature": self.judge.temperature,
            "max_tokens": self.judge.max_tokens,
        }
        return {name: value for name, value in parameters.items() if name not in self.left_out}

    def _why_not_asked(self, prediction: Prediction) -> GradeFailure | None:
        if prediction.generation.text is None:
            return GradeFailure(code="no-text", detail="the model wrote nothing that could be judged")
        num_chars = sum(map(len, shown_texts(self.rubric, prediction).values()))
        if num_chars > MAX_SHOWN_CHARS:
            detail = f"{num_chars:,} characters, and a judge is shown {MAX_SHOWN_CHARS:,} at most"
            return GradeFailure(code="text-too-long", detail=detail)
        return None

    def _graded(self, prediction: Prediction, paid: PaidGrade, *, is_cached: bool) -> Grade:
        # In the rubric's order, whatever order this item was asked in.
        criteria = {criterion.name: paid.criteria[criterion.name] for criterion in self.rubric.criteria}
        return Grade(
            item_id=prediction.item_id,
            sample=prediction.sample,
            criteria=criteria,
            is_cached=is_cached,
            usage=paid.usage,
            cost=self._cost(paid.usage),
        )

    def _failed(self, prediction: Prediction, failure: GradeFailure, usage: JudgeUsage) -> Grade:
        return Grade(
            item_id=prediction.item_id,
            sample=prediction.sample,
            failure=failure,
            usage=usage,
            cost=self._cost(usage),
        )

    def _cost(self, usage: JudgeUsage) -> float | None:
        return None if self.prices is None else usage.cost(self.prices)


@dataclass
class _Asking:
    """The one or two requests for a text, and what they took together."""

    grader: Grader
    criteria: tuple[Criterion, ...]
    usage: JudgeUsage = field(default_factory=JudgeUsage)

    def paid_grade(self, messages: Messages) -> PaidGrade:
        text = self._ask(messages)
        try:
            grades = read_reply(text, self.criteria)
        except NonsenseError as nonsense:
            repaired = self._ask(repair_messages(messages, text, str(nonsense)))
            grades = self._read_or_give_up(repaired)
        return PaidGrade(criteria=grades, usage=self.usage)

    def _ask(self, messages: Messages) -> str:
        text, usage = self.grader.complete(messages, self.criteria)
        self.usage += usage
        return text

    def _read_or_give_up(self, text: str) -> dict[str, CriterionGrade]:
        try:
            return read_reply(text, self.criteria)
        except NonsenseError as error:
            raise NoReplyError("nonsense", f"after a repair the reply is still no grade: {error}") from error


def _refused_parameter(said: str, sent: Sequence[str]) -> str | None:
    """Which parameter to leave out after a refusal: the one it names, else the form of the reply."""
    named = [name for name in sent if name in said]
    if named:
        return named[0]
    return "response_format" if "response_format" in sent else None
