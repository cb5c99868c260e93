"""tunix-rt chat."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Annotated, Protocol

import typer
from rich.console import Console

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.settings import load_settings
from tunix_rt.base.signals import stop_requests
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import err, note, out, print_error, print_json, printable
from tunix_rt.engines.commands import EngineOption
from tunix_rt.engines.generation.base import GeneratingEngine
from tunix_rt.engines.load import LazyEngine, chosen_engine
from tunix_rt.engines.select import RequestedEngine
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
from tunix_rt.serving.child import Place, open_model
from tunix_rt.serving.types import DEFAULT_MAX_TOKENS
from tunix_rt.serving.writer import Answer, Chat, ChatWriter

PROMPT = "> "
_ENDINGS = {"stop": (), "length": ("cut off at --max-tokens",), None: ("stopped",)}


class Stopwatch:
    """How fast an answer is written. The first piece is counted apart: a program may be compiled for it."""

    def __init__(self) -> None:
        self._start_s = self._last_s = time.monotonic()
        self._first_s: float | None = None
        self._num_first = self._num_tokens = 0

    def look(self, num_tokens: int) -> None:
        """So many tokens are there now."""
        self._last_s, self._num_tokens = time.monotonic(), num_tokens
        if self._first_s is None and num_tokens:
            self._first_s, self._num_first = self._last_s, num_tokens

    @property
    def first_piece_s(self) -> float:
        """How long the first piece took."""
        return (self._first_s or self._last_s) - self._start_s

    @property
    def tokens_per_s(self) -> float | None:
        """After the first piece; None when there is no other."""
        seconds = self._last_s - (self._first_s or self._last_s)
        return (self._num_tokens - self._num_first) / seconds if seconds else None


class ChatView(Protocol):
    """Shows answers."""

    def show(self, answer: Answer) -> None:
        """The answer has grown."""

    def finish(self, answer: Answer, watch: Stopwatch) -> None:
        """Nothing is added to it any more."""


class TerminalView:
    """Text for people. The answer alone is on standard output, so that it can be piped."""

    def __init__(self) -> None:
        self._num_reasoned = self._num_answered = 0

    def show(self, answer: Answer) -> None:
        """Print what has been added."""
        reasoning, content = answer.reasoning[self._num_reasoned :], answer.content[self._num_answered :]
        _print(err, reasoning, style="dim")
        if content and self._num_reasoned and not self._num_answered:
            _print(err, "\n\n")
        _print(out, content)
        self._num_reasoned, self._num_answered = len(answer.reasoning), len(answer.content)

    def finish(self, answer: Answer, watch: Stopwatch) -> None:
        """End the line, and say how fast it was."""
        _print(out if answer.content else err, "\n")
        facts = [f"{answer.num_tokens:,} tokens", f"first after {watch.first_piece_s:.1f} s"]
        if watch.tokens_per_s is not None:
            facts.append(f"then {watch.tokens_per_s:,.0f} tokens/s")
        note(", ".join([*facts, *_ENDINGS[answer.finish]]))
        self._num_reasoned = self._num_answered = 0


class JsonView:
    """One JSON object an answer."""

    def show(self, answer: Answer) -> None:
        """Wait for the end."""

    def finish(self, answer: Answer, watch: Stopwatch) -> None:
        """Print the whole answer."""
        print_json(
            {
                "reasoning": answer.reasoning,
                "content": answer.content,
                "finish": answer.finish or "stopped",
                "num_tokens": answer.num_tokens,
                "first_piece_s": watch.first_piece_s,
                "tokens_per_s": watch.tokens_per_s,
            }
        )


def typed_lines() -> Iterator[str]:
    """What a person types, or what is piped in: one question a line, until its end."""
    is_typed = sys.stdin.isatty()
    if is_typed:
        _edit_lines()
    while True:
        try:
            line = input(PROMPT if is_typed else "").strip()
        except EOFError:
            return
        except KeyboardInterrupt:
            if not is_typed:
                raise
            note("")
            continue
        if line:
            yield line


def _edit_lines() -> None:
    """Let arrow keys edit the line and bring back earlier ones, where the system can."""
    try:
        import readline  # noqa: F401
    except ImportError:
        return


def _print(console: Console, text: str, style: str | None = None) -> None:
    if text:
        console.print(printable(text), end="", style=style, markup=False, highlight=False)
        console.file.flush()


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


def _start_engine(asked: RequestedEngine, device: DeviceRequest) -> GeneratingEngine:
    choice = chosen_engine(asked, device.name)
    note(str(choice))
    return LazyEngine(choice.name)


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
