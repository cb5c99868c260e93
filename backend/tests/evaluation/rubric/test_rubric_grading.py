"""Judge replies: strict parsing, one repair, caching, usage."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.evaluations import make_generation, make_prediction

from tunix_rt.evaluation.rubric.endpoint import (
    NoReplyError,
    RateLimit,
    Reply,
    RequestRefusedError,
    backoff_s,
    parse_retry_after,
)
from tunix_rt.evaluation.rubric.grading import Grader, InvalidReplyError, JudgeCache, parse_reply
from tunix_rt.evaluation.rubric.judge import criterion_means, failure_counts
from tunix_rt.evaluation.rubric.types import Criterion, Grade, JudgeModel, JudgeUsage, Prices, Rubric

CLEAR = Criterion(name="clear", question="Is it clear?", guide="5: yes. 1: no.")
RUBRIC = Rubric(name="small", version="1", sees=("work",), criteria=(CLEAR,))
JUDGE = JudgeModel(model="judge-1", base_url="http://judge.test/v1")
GOOD = '{"clear": {"reason": "All of it is.", "score": 5}}'
USAGE = JudgeUsage(num_requests=1, num_input_tokens=100, num_output_tokens=20)


class ScriptedChat:
    """Replies with one line per request, or raises it if it is an exception."""

    def __init__(self, *lines: str | Exception) -> None:
        self.lines = list(lines)
        self.bodies: list[dict[str, Any]] = []

    def complete(self, body: dict[str, Any]) -> Reply:
        self.bodies.append(body)
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return Reply(line, USAGE)


def grader(directory: Path, *lines: str | Exception, **options: Any) -> tuple[Grader, ScriptedChat]:
    chat = ScriptedChat(*lines)
    return Grader(chat, JUDGE, RUBRIC, JudgeCache(directory), **options), chat


@pytest.mark.parametrize(
    "reply",
    [GOOD, f"```json\n{GOOD}\n```", f"<think>\n{{maybe}} 3?\n</think>\n{GOOD}", f"Here it is: {GOOD}"],
)
def test_thinking_and_code_fences_are_ignored(reply: str) -> None:
    assert parse_reply(reply, [CLEAR])["clear"].score == 5


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "no JSON object"),
        ("Five out of five!", "no JSON object"),
        ('{"clear": {"reason": "yes", "score": 5}', "not JSON"),
        ('{"clear": 5}', "clear"),
        ('{"clear": {"reason": "yes", "score": "5"}}', "score"),
        ('{"clear": {"reason": "yes", "score": 4.5}}', "score"),
        ('{"clear": {"reason": "yes", "score": 6}}', "6, outside 1 to 5"),
        ('{"clear": {"reason": "yes", "score": NaN}}', "not JSON"),
        ('{"clear": {"score": 5}}', "reason"),
        ('{"clarity": {"reason": "yes", "score": 5}}', "keys are clarity, not clear"),
        ("{}", "keys are none"),
        ("[]", "no JSON object"),
    ],
)
def test_malformed_reply_is_rejected(reply: str, problem: str) -> None:
    with pytest.raises(InvalidReplyError, match=problem):
        parse_reply(reply, [CLEAR])


def test_malformed_reply_is_repaired_once(tmp_path: Path) -> None:
    judge, chat = grader(tmp_path, "Nice work!", GOOD)
    grade = judge.grade(make_prediction())
    assert grade.criteria["clear"].score == 5
    assert grade.usage == USAGE + USAGE
    [*_, first_reply, correction] = chat.bodies[1]["messages"]
    assert first_reply == {"role": "assistant", "content": "Nice work!"}
    assert "no JSON object" in correction["content"]


def test_second_malformed_reply_is_a_failure(tmp_path: Path) -> None:
    judge, chat = grader(tmp_path, "Nice work!", "Very nice!", GOOD, prices=Prices(input=1, output=10))
    grade = judge.grade(make_prediction())
    assert grade.failure is not None
    assert grade.failure.code == "nonsense"
    assert grade.criteria == {}
    assert grade.cost == pytest.approx((200 * 1 + 40 * 10) / 1e6)
    assert len(chat.bodies) == 2


def test_cached_grade_costs_nothing(tmp_path: Path) -> None:
    first = grader(tmp_path, GOOD)[0].grade(make_prediction())
    second_judge, chat = grader(tmp_path)
    second = second_judge.grade(make_prediction())
    assert chat.bodies == []
    assert second == first.model_copy(update={"is_cached": True})


def test_failures_are_not_cached(tmp_path: Path) -> None:
    assert grader(tmp_path, NoReplyError("timeout", "no reply"))[0].grade(make_prediction()).failure
    assert grader(tmp_path, GOOD)[0].grade(make_prediction()).failure is None


@pytest.mark.parametrize("change", ["judge", "rubric", "text"])
def test_changed_input_misses_the_cache(change: str, tmp_path: Path) -> None:
    grader(tmp_path, GOOD)[0].grade(make_prediction())
    judge = JUDGE.model_copy(update={"temperature": 0.5}) if change == "judge" else JUDGE
    rubric = RUBRIC.model_copy(update={"version": "2"}) if change == "rubric" else RUBRIC
    text = "another text" if change == "text" else make_prediction().generation.text
    chat = ScriptedChat(GOOD)
    prediction = make_prediction(generation=make_generation(text=text))
    grade = Grader(chat, judge, rubric, JudgeCache(tmp_path)).grade(prediction)
    assert len(chat.bodies) == 1
    assert not grade.is_cached


def test_damaged_cache_file_is_ignored(tmp_path: Path) -> None:
    grader(tmp_path, GOOD)[0].grade(make_prediction())
    [file] = tmp_path.rglob("*.json")
    file.write_text("{", encoding="utf-8")
    assert not grader(tmp_path, GOOD)[0].grade(make_prediction()).is_cached
    assert json.loads(file.read_text(encoding="utf-8"))["criteria"]["clear"]["score"] == 5


def test_unsupported_parameter_is_dropped(tmp_path: Path) -> None:
    refusal = RequestRefusedError("400: Unsupported value: 'temperature' does not support 0")
    judge, chat = grader(tmp_path, refusal, GOOD, GOOD)
    judge.grade(make_prediction("item-0"))
    judge.grade(make_prediction("item-1", generation=make_generation("item-1", text="other")))
    assert ["temperature" in body for body in chat.bodies] == [True, False, False]
    assert all("response_format" in body for body in chat.bodies)
    assert judge.unsupported == {"temperature"}


def test_missing_structured_output_falls_back(tmp_path: Path) -> None:
    judge, chat = grader(tmp_path, RequestRefusedError("400: bad request"), GOOD)
    assert judge.grade(make_prediction()).failure is None
    assert "response_format" not in chat.bodies[1]
    assert judge.unsupported == {"response_format"}


def test_refusal_by_endpoint_is_recorded(tmp_path: Path) -> None:
    refusal = RequestRefusedError("400: the context is too small")
    failure = grader(tmp_path, refusal, refusal)[0].grade(make_prediction()).failure
    assert failure is not None
    assert (failure.code, failure.detail) == ("refused", "400: the context is too small")


def test_ungradable_text_is_not_sent(tmp_path: Path) -> None:
    judge, _ = grader(tmp_path)
    no_text = judge.grade(make_prediction(verdict="unscored"))
    long_text = judge.grade(make_prediction(generation=make_generation(text="9" * 100_000)))
    assert [grade.failure and grade.failure.code for grade in (no_text, long_text)] == [
        "no-text",
        "text-too-long",
    ]


def graded(item_id: str, score: int, sample: int = 0) -> Grade:
    reply = parse_reply(f'{{"clear": {{"reason": "-", "score": {score}}}}}', [CLEAR])
    return Grade(item_id=item_id, sample=sample, criteria=reply)


def test_means_exclude_failures(tmp_path: Path) -> None:
    failed = grader(tmp_path, NoReplyError("timeout", "no reply"))[0].grade(make_prediction())
    grades = [graded("a", 5), graded("b", 1), graded("c", 3), failed]
    mean = criterion_means(RUBRIC, grades)["clear"]
    assert (mean.mean, mean.n, mean.num_items) == (3.0, 3, 3)
    assert 1 <= mean.low < 3 < mean.high <= 5
    assert failure_counts(grades) == {"timeout": 1}
    assert criterion_means(RUBRIC, [failed]) == {}


def test_repeated_samples_keep_interval_width() -> None:
    items = [graded(item, score) for item, score in (("a", 5), ("b", 1), ("c", 3))]
    samples = [grade.model_copy(update={"sample": sample}) for grade in items for sample in range(20)]
    single, repeated = (criterion_means(RUBRIC, grades)["clear"] for grades in (items, samples))
    assert (repeated.low, repeated.high) == (single.low, single.high)
    assert (repeated.n, repeated.num_items) == (60, 3)


def test_backoff_doubles_and_respects_minimum() -> None:
    assert [backoff_s(n, None) for n in (1, 2, 3, 4, 10)] == [1.0, 2.0, 4.0, 8.0, 30.0]
    assert backoff_s(1, 7.0) == 7.0
    assert backoff_s(4, 1.0) == 8.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        (None, None),
    ],
)
def test_retry_after_parses_seconds_and_dates(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header, datetime(2026, 1, 1, 12, tzinfo=UTC)) == seconds


def test_rate_limit_spaces_requests_evenly() -> None:
    limit = RateLimit(60)
    assert [limit.reserve(100.0) for _ in range(3)] == [0.0, 1.0, 2.0]
    assert limit.reserve(102.5) == 0.5
    assert limit.reserve(200.0) == 0.0
    assert [RateLimit(None).reserve(100.0) for _ in range(3)] == [0.0, 0.0, 0.0]
