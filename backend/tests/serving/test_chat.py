"""Chatting with a model in one process, on the torch engine because it needs no compilation."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
import torch
from support.children import PROGRAM, environment
from support.scripted_models import scripted_run, write_scripted_model
from typer.testing import CliRunner

from tunix_rt.base.errors import DataError
from tunix_rt.base.settings import Settings
from tunix_rt.cli.main import app
from tunix_rt.engines.generation.base import GeneratingEngine, Generator
from tunix_rt.engines.select import RequestedEngine
from tunix_rt.engines.torch.engine import TorchEngine
from tunix_rt.engines.types import Decoding, DeviceRequest
from tunix_rt.models.find import find_model
from tunix_rt.serving.child import LoadOptions, open_model
from tunix_rt.serving.types import ChatMessage
from tunix_rt.serving.wire import CompletionDelta, Failed, GenerateRequest, RequestStarted
from tunix_rt.serving.writer import ChatBatcher, ChatSession

SHORT = Decoding(max_new_tokens=30)
QUESTION = (ChatMessage(role="user", content="What is 6 * 7?"),)


def start_engine(requested: RequestedEngine, device: DeviceRequest) -> GeneratingEngine:
    # With more processes than cores, one thread is faster than two that wait for each other.
    torch.set_num_threads(1)
    return TorchEngine()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scripted_model(tmp_path_factory.mktemp("scripted"))


@pytest.fixture(scope="module")
def generator(directory: Path) -> Generator:
    options = LoadOptions("torch", DeviceRequest("cpu"))
    return open_model(find_model(Settings(), str(directory)), options, start_engine)


def events_of(batcher: ChatBatcher, *requests: GenerateRequest) -> list[CompletionDelta | Failed]:
    responses = [batcher.add(request) for request in requests]
    events: list[CompletionDelta | Failed] = [event for event in responses if isinstance(event, Failed)]
    while batcher.is_busy:
        events += batcher.step()
    return events


def test_reasoning_and_answer_stream_separately(generator: Generator) -> None:
    request = GenerateRequest(order_id=1, messages=QUESTION, decoding=SHORT)
    events = events_of(ChatBatcher(generator, max_rows=2), request)
    deltas = [event for event in events if isinstance(event, CompletionDelta)]
    assert [delta.reasoning for delta in deltas if delta.reasoning] == ["six", " sév", "ens"]
    assert [delta.content for delta in deltas if delta.content] == ["4", "2"]


def test_batched_requests_fail_separately(generator: Generator) -> None:
    refused = (ChatMessage(role="assistant", content="42"),)
    events = events_of(
        ChatBatcher(generator, max_rows=2),
        GenerateRequest(order_id=1, messages=QUESTION, decoding=SHORT),
        GenerateRequest(order_id=2, messages=refused, decoding=SHORT),
        GenerateRequest(order_id=3, messages=QUESTION, decoding=SHORT, stops=("</answer>",)),
    )
    failed = [event for event in events if isinstance(event, Failed)]
    assert [(event.order_id, event.code) for event in failed] == [(2, DataError.code)]
    for order_id, num_tokens in ((1, 15), (3, 14)):
        deltas = [e for e in events if isinstance(e, CompletionDelta) and e.order_id == order_id]
        assert "".join(delta.content for delta in deltas) == "42"
        assert [delta.finish for delta in deltas if delta.finish] == ["stop"]
        assert sum(delta.num_tokens for delta in deltas) == num_tokens


def test_cancelled_request_stops_sending_events(generator: Generator) -> None:
    batcher = ChatBatcher(generator, max_rows=2)
    for order_id in (1, 2):
        batcher.add(GenerateRequest(order_id=order_id, messages=QUESTION, decoding=SHORT))
    batcher.step()
    batcher.cancel(1)
    assert {event.order_id for event in events_of(batcher)} == {2}


class RecordingBatcher(ChatBatcher):
    """Records the messages of every request."""

    def __init__(self, generator: Generator) -> None:
        super().__init__(generator, max_rows=2)
        self.requests: list[list[str]] = []

    def add(self, request: GenerateRequest) -> RequestStarted | Failed:
        self.requests.append([message.content for message in request.messages])
        return super().add(request)


def test_session_keeps_history_until_reset(generator: Generator) -> None:
    batcher = RecordingBatcher(generator)
    session = ChatSession(batcher, SHORT, system="Be brief.")
    *_, answer = session.ask("a")
    assert (answer.reasoning, answer.content, answer.finish) == ("six sévens", "42", "stop")
    for question in ("b", "c"):
        answers = session.ask(question)
        next(answers)
        answers.close()  # as on Ctrl-C
    session.reset()
    list(session.ask("d"))
    assert batcher.requests == [
        ["Be brief.", "a"],
        ["Be brief.", "a", "42", "b"],
        ["Be brief.", "a", "42", "b", "", "c"],
        ["Be brief.", "d"],
    ]


def test_prompt_option_prints_only_answer(directory: Path) -> None:
    arguments = ["chat", str(directory), "--engine", "torch", "--device", "cpu", "--max-tokens", "30"]
    arguments += ["--prompt", "What is 6 * 7?"]
    done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, done.stdout) == (0, "42\n"), done.output
    assert "six sévens\n\n" in done.stderr
    assert "15 tokens" in done.stderr
    as_json = CliRunner().invoke(app, [*arguments, "--json", "--max-tokens", "12"])
    printed = json.loads(as_json.stdout)
    assert (printed["content"], printed["reasoning"], printed["finish"]) == ("4", "six sévens", "length")


def test_ctrl_c_interrupts_only_generation(tmp_path: Path) -> None:
    run_dir = scripted_run(tmp_path / "home" / "runs", "chatty", "never ", is_endless=True)
    program = [*PROGRAM, "chat", "chatty", "--engine", "torch", "--device", "cpu"]
    program += ["--max-tokens", "16000"]
    child = subprocess.Popen(
        program,
        env=environment(Settings(home=run_dir.path.parents[1]), OMP_NUM_THREADS="1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    with child:
        child.stdin.write("Go on.\n")
        child.stdin.flush()
        assert child.stdout.read(12) == "never never "
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate("/reset\n/what\n/quit\n", timeout=120)
    assert child.returncode == 0, errors
    assert len(output) < 16_000
    assert "stopped" in errors
    assert "conversation cleared" in errors
    assert "Traceback" not in errors
