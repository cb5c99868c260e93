"""Talking to a model: in one process, as a person does it. The torch engine compiles nothing for it."""

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
from tunix_rt.serving.child import Place, open_model
from tunix_rt.serving.types import ChatMessage
from tunix_rt.serving.wire import Begun, Failed, Said, WriteOrder
from tunix_rt.serving.writer import Chat, ChatWriter

SHORT = Decoding(max_new_tokens=30)
QUESTION = (ChatMessage(role="user", content="What is 6 * 7?"),)


def start_engine(asked: RequestedEngine, device: DeviceRequest) -> GeneratingEngine:
    # Two threads that wait for each other on busy cores are slower than one.
    torch.set_num_threads(1)
    return TorchEngine()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scripted_model(tmp_path_factory.mktemp("scripted"))


@pytest.fixture(scope="module")
def generator(directory: Path) -> Generator:
    place = Place("torch", DeviceRequest("cpu"))
    return open_model(find_model(Settings(), str(directory)), place, start_engine)


def reports_of(writer: ChatWriter, *orders: WriteOrder) -> list[Said | Failed]:
    begun = [writer.begin(order) for order in orders]
    reports: list[Said | Failed] = [report for report in begun if isinstance(report, Failed)]
    while writer.is_busy:
        reports += writer.advance()
    return reports


def test_an_answer_comes_in_pieces_with_its_reasoning_apart(generator: Generator) -> None:
    order = WriteOrder(order_id=1, messages=QUESTION, decoding=SHORT)
    said = [
        piece for piece in reports_of(ChatWriter(generator, max_rows=2), order) if isinstance(piece, Said)
    ]
    assert [piece.reasoning for piece in said if piece.reasoning] == ["six", " sév", "ens"]
    assert [piece.content for piece in said if piece.content] == ["4", "2"]


def test_orders_that_come_together_are_carried_out_together(generator: Generator) -> None:
    writer = ChatWriter(generator, max_rows=2)
    refused = (ChatMessage(role="assistant", content="42"),)
    reports = reports_of(
        writer,
        WriteOrder(order_id=1, messages=QUESTION, decoding=SHORT),
        WriteOrder(order_id=2, messages=refused, decoding=SHORT),
        WriteOrder(order_id=3, messages=QUESTION, decoding=SHORT, stops=("</answer>",)),
    )
    failed = [report for report in reports if isinstance(report, Failed)]
    assert [(report.order_id, report.code) for report in failed] == [(2, DataError.code)]
    said = [report for report in reports if isinstance(report, Said)]
    for order_id, num_tokens in ((1, 15), (3, 14)):
        pieces = [piece for piece in said if piece.order_id == order_id]
        assert "".join(piece.content for piece in pieces) == "42"
        assert [piece.finish for piece in pieces if piece.finish] == ["stop"]
        assert sum(piece.num_tokens for piece in pieces) == num_tokens


def test_an_order_that_is_dropped_is_never_heard_of_again(generator: Generator) -> None:
    writer = ChatWriter(generator, max_rows=2)
    for order_id in (1, 2):
        writer.begin(WriteOrder(order_id=order_id, messages=QUESTION, decoding=SHORT))
    writer.advance()
    writer.drop(1)
    assert {report.order_id for report in reports_of(writer)} == {2}


class Listening(ChatWriter):
    """Remembers what it was asked."""

    def __init__(self, generator: Generator) -> None:
        super().__init__(generator, max_rows=2)
        self.heard: list[list[str]] = []

    def begin(self, order: WriteOrder) -> Begun | Failed:
        self.heard.append([message.text for message in order.messages])
        return super().begin(order)


def test_a_chat_remembers_until_it_is_told_to_forget(generator: Generator) -> None:
    writer = Listening(generator)
    chat = Chat(writer, SHORT, system="Be brief.")
    *_, answer = chat.ask("a")
    assert (answer.reasoning, answer.content, answer.finish) == ("six sévens", "42", "stop")
    for question in ("b", "c"):
        growing = chat.ask(question)
        next(growing)
        growing.close()  # somebody pressed Ctrl-C
    chat.forget()
    list(chat.ask("d"))
    assert writer.heard == [
        ["Be brief.", "a"],
        ["Be brief.", "a", "42", "b"],
        ["Be brief.", "a", "42", "b", "", "c"],
        ["Be brief.", "d"],
    ]


def test_one_question_prints_the_answer_alone(directory: Path) -> None:
    asked = ["chat", str(directory), "--engine", "torch", "--device", "cpu", "--max-tokens", "30"]
    asked += ["--prompt", "What is 6 * 7?"]
    done = CliRunner().invoke(app, asked)
    assert (done.exit_code, done.stdout) == (0, "42\n"), done.output
    assert "six sévens\n\n" in done.stderr
    assert "15 tokens" in done.stderr
    as_json = CliRunner().invoke(app, [*asked, "--json", "--max-tokens", "12"])
    said = json.loads(as_json.stdout)
    assert (said["content"], said["reasoning"], said["finish"]) == ("4", "six sévens", "length")


def test_ctrl_c_stops_the_answer_and_the_chat_goes_on(tmp_path: Path) -> None:
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
        shown, noted = child.communicate("/reset\n/what\n/quit\n", timeout=120)
    assert child.returncode == 0, noted
    assert len(shown) < 16_000
    assert "stopped" in noted
    assert "begun anew" in noted
    assert "Traceback" not in noted
