"""The OpenAI client against a real server with a tiny model that always generates the same text."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam
from support.children import LiveServer, live_server
from support.scripted_models import scripted_run

from tunix_rt.base.home import open_home
from tunix_rt.base.settings import Settings
from tunix_rt.models.register import register_run
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import ModelReference

QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "What is 6 * 7?"}]
DEADLINE_S = 60
MODEL = "adder@best"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, registered as `adder:1` with the alias `best`."""
    settings = Settings(home=tmp_path_factory.mktemp("home"))
    scripted_run(settings.runs_dir, "sums")
    store = open_home(settings)
    register_run(store, "adder", "sums")
    ModelRepository(store.database).set_alias(ModelReference("adder", version=1), "best")
    store.close()
    return settings.home_dir


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[LiveServer]:
    on_cpu = {"TUNIX_RT_SERVING_ENGINE": "jax", "TUNIX_RT_SERVING_DEVICE": "cpu", "OMP_NUM_THREADS": "1"}
    with live_server(Settings(home=home), **on_cpu) as started:
        yield started
    assert not pids_of(home)


@pytest.fixture(scope="module")
def client(server: LiveServer) -> Iterator[OpenAI]:
    # Retries would hide the 503 of a crash.
    no_key = "none"  # pragma: allowlist secret
    with OpenAI(base_url=f"{server.url}/v1", api_key=no_key, max_retries=0) as opened:
        yield opened


def pids_of(home: Path) -> list[int]:
    """The model processes of this home directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command, environ = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:  # the process has exited since the directory was listed
            continue
        if b"tunix_rt.serving.child" in command and f"TUNIX_RT_HOME={home}".encode() in environ.split(b"\0"):
            found.append(int(process.name))
    return found


def wait_for_process(home: Path) -> int:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if found := pids_of(home):
            return found[0]
        time.sleep(0.01)
    raise AssertionError("no process was started")


def test_crash_returns_503_then_recovers(client: OpenAI, home: Path) -> None:
    def ask() -> str | None:
        return client.chat.completions.create(model=MODEL, messages=QUESTION).choices[0].message.content

    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(ask)  # blocks on loading, until the process is killed
        os.kill(wait_for_process(home), signal.SIGKILL)
        with pytest.raises(
            openai.InternalServerError, match=r"stopped \(signal 9\).*Send the request again"
        ) as caught:
            first.result(timeout=DEADLINE_S)
    assert caught.value.status_code == 503
    assert ask() == "42"
    assert client.models.retrieve("adder:1").model_dump()["is_loaded"]


def test_models_are_listed_and_retrieved(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["adder:1", "adder@best", "sums"]
    assert client.models.retrieve(MODEL).model_dump()["root"] == "adder:1"
    with pytest.raises(openai.NotFoundError, match="no model 'missing' to serve"):
        client.models.retrieve("missing")


def test_reasoning_is_separate_field(client: OpenAI) -> None:
    completion = client.chat.completions.create(model=MODEL, messages=QUESTION, temperature=0)
    [choice] = completion.choices
    assert (choice.message.content, choice.finish_reason) == ("42", "stop")
    assert choice.message.reasoning_content == "six sévens"  # type: ignore[attr-defined]
    assert completion.usage is not None
    # Four tags, eight word tokens, two digits and the end-of-turn token.
    assert completion.usage.completion_tokens == 15
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + 15


def test_stream_has_same_text(client: OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model=MODEL, messages=QUESTION, stream=True, stream_options={"include_usage": True}
        )
    )
    deltas = [choice.delta.model_dump() for chunk in chunks for choice in chunk.choices]
    assert "".join(delta.get("reasoning_content") or "" for delta in deltas) == "six sévens"
    assert "".join(delta.get("content") or "" for delta in deltas) == "42"
    assert sum(bool(delta.get("reasoning_content")) for delta in deltas) > 1
    assert [c.finish_reason for chunk in chunks for c in chunk.choices if c.finish_reason] == ["stop"]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 15


def test_limits_stops_and_choices_are_respected(client: OpenAI) -> None:
    ask = client.chat.completions.create
    [truncated] = ask(model=MODEL, messages=QUESTION, max_completion_tokens=4).choices
    assert (truncated.finish_reason, truncated.message.content) == ("length", "")
    [stopped] = ask(model=MODEL, messages=QUESTION, stop=["vens</reason"]).choices
    assert (stopped.finish_reason, stopped.message.content) == ("stop", "")
    assert stopped.message.reasoning_content == "six sé"  # type: ignore[attr-defined]
    choices = ask(model=MODEL, messages=QUESTION, n=3, seed=7).choices
    assert [(choice.index, choice.message.content) for choice in choices] == [(0, "42"), (1, "42"), (2, "42")]


def test_assistant_message_can_be_resent(client: OpenAI) -> None:
    first = client.chat.completions.create(model=MODEL, messages=QUESTION)
    history = [
        {"role": "system", "content": [{"type": "text", "text": "Think first."}]},
        *QUESTION,
        first.choices[0].message,
        {"role": "user", "content": "And 42 / 7?"},
    ]
    second = client.chat.completions.create(model=MODEL, messages=history)  # type: ignore[arg-type]
    assert second.choices[0].message.content == "42"
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.prompt_tokens > first.usage.prompt_tokens


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"logprobs": True}, "logprobs"),
        ({"temperature": 0, "n": 2}, "needs a temperature above 0"),
        ({"max_tokens": 1, "max_completion_tokens": 2}, "are aliases"),
        ({"messages": [{"role": "user", "content": "word " * 16_384}]}, "the model takes 16384"),
        ({"messages": [{"role": "assistant", "content": "42"}]}, "Turns must alternate"),
        ({"messages": [{"role": "user", "content": "?", "name": "Ada"}]}, "name"),
    ],
)
def test_unsupported_requests_are_rejected(client: OpenAI, fields: dict[str, object], problem: str) -> None:
    request: dict[str, object] = {"model": MODEL, "messages": QUESTION, **fields}
    for stream in (False, True):
        with pytest.raises(openai.UnprocessableEntityError, match=problem) as caught:
            client.chat.completions.create(**request, stream=stream)  # type: ignore[call-overload]
        error = caught.value.body
        assert isinstance(error, dict)
        assert error["type"] == "invalid_request_error"
        assert error["message"] == f"{error['detail']} {error['next_step']}"


@pytest.mark.parametrize("name", ["missing", "../runs/sums", "sums/../sums", ".", "..", "adder@worst"])
def test_unknown_models_are_not_found(client: OpenAI, name: str) -> None:
    with pytest.raises(openai.NotFoundError, match="not a registered model or a finished run"):
        client.chat.completions.create(model=name, messages=QUESTION)
