"""`tunix-rt chat MODEL`: talk to a model, here in this process."""

import signal
from contextlib import closing
from typing import Annotated

import typer

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.settings import load_settings
from tunix_rt.base.signals import stop_requests
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import note, print_error
from tunix_rt.cli.chat_view import ChatView, JsonView, Stopwatch, TerminalView, typed_lines
from tunix_rt.core.chat.request import DEFAULT_MAX_TOKENS
from tunix_rt.engines.commands import EngineOption
from tunix_rt.engines.generation.base import GeneratingEngine
from tunix_rt.engines.load import WritingEngine, chosen_engine
from tunix_rt.engines.select import AskedEngine
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.evaluation.commands import (
    Device,
    Markup,
    Model,
    Revision,
    Template,
    TopP,
    WeightsOption,
    WeightsSeed,
    decoding_of,
)
from tunix_rt.models.find import find_model
from tunix_rt.services.serving.chatting import Answer, Chat
from tunix_rt.services.serving.opening import Place, open_model
from tunix_rt.services.serving.writing import ChatWriter

System = Annotated[str | None, typer.Option(metavar="TEXT", help="Instruction that stands first.")]
PromptOption = Annotated[
    str | None, typer.Option("--prompt", metavar="TEXT", help="Ask this, print the answer and end.")
]
Temperature = Annotated[float, typer.Option(min=0, max=10, help="0 takes the most likely token.")]
Seed = Annotated[int, typer.Option(min=0, help="Decides every draw.")]
MaxTokens = Annotated[int, typer.Option(min=1, help="An answer that reaches it is cut off.")]

HELP = "/reset begins anew, /quit ends (so does Ctrl-D), Ctrl-C stops an answer"


def chat(
    model: Model,
    prompt: PromptOption = None,
    system: System = None,
    temperature: Temperature = 0.0,
    top_p: TopP = 1.0,
    seed: Seed = 0,
    max_tokens: MaxTokens = DEFAULT_MAX_TOKENS,
    engine: EngineOption = "auto",
    device: Device = "auto",
    markup: Markup = None,
    chat_template: Template = None,
    weights: WeightsOption = "pretrained",
    weights_seed: WeightsSeed = 0,
    revision: Revision = None,
    as_json: JsonFlag = False,
) -> None:
    """Talk to a model. Its reasoning goes to standard error, dimmed, its answers to standard output."""
    decoding = decoding_of(temperature, top_p, 1, seed, max_tokens)
    found = find_model(load_settings(), model, weights=weights, seed=weights_seed, revision=revision)
    place = Place(engine, DeviceRequest(device), chat_template=chat_template, markup=markup)
    generator = open_model(found, place, _start_engine)
    note(f"{found.model.name} on {generator.device}, {generator.precision}")
    talk = Chat(ChatWriter(generator, max_rows=1), decoding, system=system)
    view: ChatView = JsonView() if as_json else TerminalView()
    if prompt is not None:
        _answer(talk, prompt, view)
    else:
        _converse(talk, view)


def _start_engine(asked: AskedEngine, device: DeviceRequest) -> GeneratingEngine:
    choice = chosen_engine(asked, device.name)
    note(str(choice))
    return WritingEngine(choice.name)


def _converse(talk: Chat, view: ChatView) -> None:
    note(HELP)
    for line in typed_lines():
        if line == "/quit":
            return
        if line == "/reset":
            talk.forget()
            note("begun anew")
        elif line.startswith("/"):
            note(HELP)
        else:
            _answer_or_say_why(talk, line, view)


def _answer_or_say_why(talk: Chat, question: str, view: ChatView) -> None:
    try:
        _answer(talk, question, view)
    except TunixRTError as error:
        print_error(error, as_json=isinstance(view, JsonView))


def _answer(talk: Chat, question: str, view: ChatView) -> None:
    """Ask and show. A signal is noted and looked at between two pieces: the device must not be torn off."""
    answer, watch = Answer(), Stopwatch()
    with stop_requests() as stop, stop.finishing_steps(), closing(talk.ask(question)) as growing:
        for answer in growing:
            watch.look(answer.num_tokens)
            view.show(answer)
            if stop.signal_number is not None:
                break
    view.finish(answer, watch)
    # Ctrl-C stops the answer, the others the program.
    if stop.signal_number not in (None, signal.SIGINT):
        raise typer.Exit(128 + stop.signal_number)
