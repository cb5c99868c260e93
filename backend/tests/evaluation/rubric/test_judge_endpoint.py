"""Judging over real HTTP: retries, limits, malformed replies and the cache."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from support.children import free_port
from support.evaluations import make_evaluation, make_predictions, write_evaluation
from support.judge_server import (
    JudgeServer,
    answers,
    breaks,
    grades,
    hang,
    judge_server,
    reply_with,
    trickle,
)
from typer.testing import CliRunner, Result

from tunix_rt.base.errors import InvalidInputError, JudgeError
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.cli.main import app
from tunix_rt.evaluation.rubric.endpoint import (
    MAX_REPLY_BYTES,
    ChatEndpoint,
    NoReplyError,
    RequestRefusedError,
    RetryPolicy,
)
from tunix_rt.evaluation.rubric.judge import (
    JudgingOptions,
    judge_api_key,
    judge_base_url,
    judge_evaluation,
    load_rubric,
)
from tunix_rt.evaluation.rubric.types import JudgeModel, Prices, RubricReport
from tunix_rt.evaluation.store import EvaluationRepository

SHOWN_WORK = load_rubric("shown_work")
FAST = RetryPolicy(timeout_s=0.3, max_tries=3, first_backoff_s=0.01)
SECRET = "sk-do-not-write-me-down"  # pragma: allowlist secret
BODY: dict[str, Any] = {"model": "judge-1", "messages": [{"role": "system", "content": '"follows"'}]}


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with judge_server() as started:
        yield started


@pytest.fixture
def endpoint(server: JudgeServer) -> Iterator[ChatEndpoint]:
    opened = ChatEndpoint(server.url, SecretStr(SECRET), FAST)
    yield opened
    opened.close()


@pytest.fixture
def store(tmp_path: Path, sqlite_template: Path) -> Iterator[Home]:
    shutil.copy(sqlite_template, tmp_path / "tunix_rt.db")
    opened = open_home(Settings(home=tmp_path))
    yield opened
    opened.close()


@pytest.fixture
def judged(
    tmp_path: Path, store: Home, server: JudgeServer, endpoint: ChatEndpoint
) -> Callable[..., RubricReport]:
    """A function that judges a stored evaluation of six items; the sixth has no text."""
    predictions = make_predictions("11110?")
    evaluation = make_evaluation(predictions)
    EvaluationRepository(store.database).add(evaluation, predictions)

    def judge(**options: Any) -> RubricReport:
        model = JudgeModel(model="judge-1", base_url=server.url)
        reference = str(evaluation.evaluation_id)
        judging = JudgingOptions(**{"concurrency": 2} | options)
        report, path = judge_evaluation(store, reference, endpoint, model, SHOWN_WORK, judging)
        assert path == tmp_path / "evaluations" / reference / "judgements" / "shown_work" / "judge-1.json"
        assert RubricReport.model_validate_json(path.read_bytes()) == report
        return report

    return judge


def test_reply_includes_token_usage(server: JudgeServer, endpoint: ChatEndpoint) -> None:
    reply = endpoint.complete(BODY)
    assert '"follows"' in reply.text
    assert (reply.usage.num_input_tokens, reply.usage.num_output_tokens) == (100, 20)
    assert server.keys == [f"Bearer {SECRET}"]


@pytest.mark.parametrize(
    "failure",
    [
        answers(429, "slow down", Retry_After="0"),
        answers(500, "oops"),
        answers(503, "warming up", Retry_After="0.01"),
        hang,
        trickle,
        breaks,
    ],
    ids=["429", "500", "503", "hangs", "trickles", "breaks"],
)
def test_transient_failure_is_retried(failure: Any, server: JudgeServer, endpoint: ChatEndpoint) -> None:
    server.script = [failure]
    assert '"follows"' in endpoint.complete(BODY).text
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (answers(429, "slow down", Retry_After="0"), "rate-limited"),
        (answers(500, "oops"), "server-error"),
        (hang, "timeout"),
        (trickle, "timeout"),
        (breaks, "server-error"),
    ],
    ids=["429", "500", "hangs", "trickles", "breaks"],
)
def test_persistent_failure_raises_typed_error(
    failure: Any, code: str, server: JudgeServer, endpoint: ChatEndpoint
) -> None:
    server.script = [failure] * 3
    with pytest.raises(NoReplyError, match="in 3 tries") as raised:
        endpoint.complete(BODY)
    assert raised.value.code == code


def test_long_retry_after_is_not_awaited(server: JudgeServer, endpoint: ChatEndpoint) -> None:
    server.script = [answers(429, "come back tomorrow", Retry_After="3600")]
    with pytest.raises(NoReplyError, match="in 1 tries"):
        endpoint.complete(BODY)


def test_oversized_reply_is_refused(server: JudgeServer, endpoint: ChatEndpoint) -> None:
    server.script = [reply_with("x" * (MAX_REPLY_BYTES + 1))]
    with pytest.raises(NoReplyError) as raised:
        endpoint.complete(BODY)
    assert raised.value.code == "too-large"


@pytest.mark.parametrize("page", ["<html>Welcome</html>", "{}", '{"choices": []}', "[1]"])
def test_invalid_completion_is_rejected(page: str, server: JudgeServer, endpoint: ChatEndpoint) -> None:
    server.script = [answers(200, page)]
    with pytest.raises(NoReplyError, match="did not send a chat completion"):
        endpoint.complete(BODY)


def test_missing_usage_is_counted(server: JudgeServer, endpoint: ChatEndpoint) -> None:
    server.script = [reply_with("hm", usage={})]
    assert endpoint.complete(BODY).usage.num_without_usage == 1


def test_bad_request_differs_from_bad_key(server: JudgeServer, endpoint: ChatEndpoint) -> None:
    server.script = [answers(400, "no such parameter: seed"), answers(401, f"bad key {SECRET}")]
    with pytest.raises(RequestRefusedError, match="no such parameter: seed"):
        endpoint.complete(BODY)
    with pytest.raises(JudgeError, match="TUNIX_RT_JUDGE_API_KEY") as raised:
        endpoint.complete(BODY)
    assert SECRET not in str(raised.value)


def test_redirect_is_not_followed(server: JudgeServer, endpoint: ChatEndpoint) -> None:
    server.script = [answers(307, Location=f"{server.url}/elsewhere")]
    with pytest.raises(RequestRefusedError, match="307"):
        endpoint.complete(BODY)
    assert len(server.bodies) == 1


def test_unreachable_endpoint_suggests_base_url() -> None:
    unreachable = ChatEndpoint(f"http://127.0.0.1:{free_port()}/v1", None, FAST)
    with pytest.raises(JudgeError, match=r"cannot be reached.*--base-url"):
        unreachable.complete(BODY)
    unreachable.close()


def test_grading_counts_failures_separately(server: JudgeServer, judged: Callable[..., RubricReport]) -> None:
    server.script = [reply_with("I love it!"), reply_with("I said I love it!")]
    report = judged(concurrency=1, prices=Prices(input=1.0, output=10.0))
    assert (report.num_texts, report.num_graded) == (6, 4)
    assert report.failures == {"no-text": 1, "nonsense": 1}
    assert {mean.n for mean in report.criteria.values()} == {4}
    assert report.usage.num_requests == 6
    assert report.cost == pytest.approx(6 * (100 * 1.0 + 20 * 10.0) / 1e6)
    assert report.rubric_hash == SHOWN_WORK.content_hash
    assert server.bodies[0]["response_format"]["json_schema"]["strict"] is True


def test_second_run_uses_cached_grades(server: JudgeServer, judged: Callable[..., RubricReport]) -> None:
    first, again = judged(), judged()
    assert len(server.bodies) == 5
    assert (first.usage_of_this_run.num_requests, again.usage_of_this_run.num_requests) == (5, 0)
    assert again.criteria == first.criteria
    assert again.usage == first.usage
    assert sum(grade.is_cached for grade in again.grades) == 5


def test_grades_survive_judge_failure(server: JudgeServer, judged: Callable[..., RubricReport]) -> None:
    server.script = [grades(), grades(), *[answers(401, "your trial has ended")] * 3]
    with pytest.raises(JudgeError, match="trial has ended"):
        judged(concurrency=1)
    server.script = []
    assert sum(grade.is_cached for grade in judged().grades) >= 2


def test_repeatedly_failing_judge_is_abandoned(
    server: JudgeServer, endpoint: ChatEndpoint, store: Home, tmp_path: Path
) -> None:
    server.script = [answers(500)] * 1000
    write_evaluation(tmp_path / "evaluation", "1" * 30)
    model = JudgeModel(model="judge-1", base_url=server.url)
    with pytest.raises(JudgeError, match="10 times in a row"):
        judge_evaluation(store, str(tmp_path / "evaluation"), endpoint, model, SHOWN_WORK, JudgingOptions())
    assert len(server.bodies) < 3 * 20


def test_grades_are_written_beside_evaluation(
    server: JudgeServer, endpoint: ChatEndpoint, store: Home, tmp_path: Path
) -> None:
    write_evaluation(tmp_path / "evaluation", "10")
    model = JudgeModel(model="org/judge:7b", base_url=server.url)
    _, path = judge_evaluation(
        store, str(tmp_path / "evaluation"), endpoint, model, SHOWN_WORK, JudgingOptions()
    )
    assert path == tmp_path / "evaluation" / "judgements" / "shown_work" / "org-judge-7b.json"


def test_item_subset_is_reproducible(judged: Callable[..., RubricReport]) -> None:
    first, again = (judged(max_items=3, seed=1) for _ in range(2))
    assert [grade.item_id for grade in first.grades] == [grade.item_id for grade in again.grades]
    assert len(first.grades) == 3


def test_api_key_is_never_written(judged: Callable[..., RubricReport], tmp_path: Path) -> None:
    judged()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 6
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


def test_judged_text_stays_in_user_message(server: JudgeServer, judged: Callable[..., RubricReport]) -> None:
    judged()
    for body in server.bodies:
        system, user = body["messages"]
        assert "9 + 9 = 18" in user["content"]
        assert "9 + 9 = 18" not in system["content"]


def test_missing_endpoint_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="TUNIX_RT_JUDGE_BASE_URL"):
        judge_base_url(Settings(), None)


@pytest.mark.parametrize(
    "url", ["judge:8000", "ftp://judge/v1", "http://key@judge/v1", "http://judge/v1?key=1"]
)
def test_invalid_base_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInputError, match="http"):
        judge_base_url(Settings(), url)


def test_flag_and_own_key_take_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The flag wins over the environment, TUNIX_RT_JUDGE_API_KEY over OPENAI_API_KEY."""
    monkeypatch.setenv("TUNIX_RT_JUDGE_BASE_URL", "http://environment/v1/")
    monkeypatch.setenv("OPENAI_API_KEY", "openai-key")
    assert judge_base_url(Settings(), None) == "http://environment/v1"
    assert judge_base_url(Settings(), "http://flag/v1") == "http://flag/v1"
    assert judge_api_key(Settings()) == SecretStr("openai-key")
    monkeypatch.setenv("TUNIX_RT_JUDGE_API_KEY", "own-key")
    assert judge_api_key(Settings()) == SecretStr("own-key")
    assert "own-key" not in repr(Settings())


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["eval", "judge", *map(str, arguments)])


def test_command_prints_means_and_cost(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUNIX_RT_JUDGE_BASE_URL", server.url)
    monkeypatch.setenv("TUNIX_RT_JUDGE_API_KEY", SECRET)
    write_evaluation(tmp_path / "evaluation", "11?")
    server.script = [grades(2, "It jumps.\x1b[2J")]
    command = [tmp_path / "evaluation", "--model", "judge-1", "--concurrency", "1"]
    shown = invoke(*command, "--price-in", "1", "--price-out", "10")
    assert shown.exit_code == 0, shown.output
    assert "3.00 of 5" in shown.stdout
    assert "n = 2" in shown.stdout
    assert "1 x no-text" in shown.stdout
    assert "readable 2: It jumps." in shown.stdout
    assert "\x1b" not in shown.stdout
    assert "cost 0.0006" in shown.stdout
    again = invoke(*command, "--json")
    assert json.loads(again.stdout)["usage_of_this_run"]["num_requests"] == 0
    assert "2 of 3 texts were graded earlier and cost nothing" in invoke(*command).stdout
    assert server.keys == [f"Bearer {SECRET}"] * 2


def test_ungraded_evaluation_exits_with_1(server: JudgeServer, tmp_path: Path) -> None:
    server.script = [reply_with("no idea")] * 4
    write_evaluation(tmp_path / "evaluation", "11")
    result = invoke(tmp_path / "evaluation", "--model", "judge-1", "--base-url", server.url)
    assert result.exit_code == 1
    assert "2 x nonsense" in result.stdout


def test_single_price_is_refused(tmp_path: Path) -> None:
    error = invoke(tmp_path, "--model", "judge-1", "--price-in", "1").exception
    assert isinstance(error, InvalidInputError)
    assert "--price-out" in error.next_step
