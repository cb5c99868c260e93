"""tunix-rt chat."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Annotated

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
    build_decoding,
)
from tunix_rt.models.find import find_model
from tunix_rt.serving.child import LoadOptions, open_model
from tunix_rt.serving.types import DEFAULT_MAX_TOKENS
from tunix_rt.serving.wire import PartialCompletion
from tunix_rt.serving.writer import ChatBatcher, ChatSession

PROMPT = "> "
_ENDINGS = {"stop": (), "length": ("cut off at --max-tokens",), None: ("stopped",)}


class Stopwatch:
    """Measures generation speed. The first delta is timed separately: it may include compilation."""

    def __init__(self) -> None:
        self._start_s = self._last_s = time.monotonic()
        self._first_s: float | None = None
        self._num_first = self._num_tokens = 0

    def record(self, num_tokens: int) -> None:
        """Record the number of tokens generated so far."""
        self._last_s, self._num_tokens = time.monotonic(), num_tokens
        if self._first_s is None and num_tokens:
            self._first_s, self._num_first = self._last_s, num_tokens

    @property
    def first_piece_s(self) -> float:
        """Seconds until the first tokens."""
        return (self._first_s or self._last_s) - self._start_s

    @property
    def tokens_per_s(self) -> float | None:
        """Speed after the first tokens; None if all arrived together."""
        seconds = self._last_s - (self._first_s or self._last_s)
        return (self._num_tokens - self._num_first) / seconds if seconds else None


class TerminalView:
    """Shows one answer as plain text. Only its content goes to standard output, so that it can be piped."""

    def __init__(self) -> None:
        self._num_reasoned = self._num_answered = 0

    def show(self, answer: PartialCompletion) -> None:
        """Print text that was added."""
        reasoning, content = answer.reasoning[self._num_reasoned :], answer.content[self._num_answered :]
        self._print(err, reasoning, style="dim")
        if content and self._num_reasoned and not self._num_answered:
            self._print(err, "\n\n")
        self._print(out, content)
        self._num_reasoned, self._num_answered = len(answer.reasoning), len(answer.content)

    def finish(self, answer: PartialCompletion, watch: Stopwatch) -> None:
        """End the line and print the speed."""
        self._print(out if answer.content else err, "\n")
        facts = [f"{answer.num_tokens:,} tokens", f"first after {watch.first_piece_s:.1f} s"]
        if watch.tokens_per_s is not None:
            facts.append(f"then {watch.tokens_per_s:,.0f} tokens/s")
        note(", ".join([*facts, *_ENDINGS[answer.finish]]))

    def _print(self, console: Console, text: str, style: str | None = None) -> None:
        if text:
            console.print(printable(text), end="", style=style, markup=False, highlight=False)
            console.file.flush()


def typed_lines() -> Iterator[str]:
    """Questions from the terminal or a pipe, one per line, until end of input."""
    is_typed = sys.stdin.isatty()
    if is_typed:
        with suppress(ImportError):  # line editing and history, where the system has it
            import readline  # noqa: F401
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


System = Annotated[
    str | None, typer.Option(metavar="TEXT", help="System message at the start of the conversation.")
]
PromptOption = Annotated[
    str | None, typer.Option("--prompt", metavar="TEXT", help="Ask one question, print the answer and exit.")
]
Temperature = Annotated[float, typer.Option(min=0, max=10, help="0 decodes greedily.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the sampling.")]
MaxTokens = Annotated[int, typer.Option(min=1, help="Longer answers are cut off.")]

HELP = "/reset clears the conversation, /quit or Ctrl-D exits, Ctrl-C stops an answer"


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
    """Chat with a model. Reasoning goes to standard error, dimmed, and answers to standard output."""
    decoding = build_decoding(temperature, top_p, 1, seed, max_tokens)
    found = find_model(load_settings(), model, weights=weights, seed=weights_seed, revision=revision)
    options = LoadOptions(engine, DeviceRequest(device), chat_template=chat_template, markup=markup)
    generator = open_model(found, options, _start_engine)
    note(f"{found.model.name} on {generator.device}, {generator.precision}")
    session = ChatSession(ChatBatcher(generator, max_rows=1), decoding, system=system)
    if prompt is not None:
        _answer(session, prompt, as_json=as_json)
    else:
        _converse(session, as_json=as_json)


def _start_engine(requested: RequestedEngine, device: DeviceRequest) -> GeneratingEngine:
    choice = chosen_engine(requested, device.name)
    note(str(choice))
    return LazyEngine(choice.name)


def _converse(session: ChatSession, *, as_json: bool) -> None:
    note(HELP)
    for line in typed_lines():
        if line == "/quit":
            return
        if line == "/reset":
            session.reset()
            note("conversation cleared")
        elif line.startswith("/"):
            note(HELP)
        else:
            try:
                _answer(session, line, as_json=as_json)
            except TunixRTError as error:
                print_error(error, as_json=as_json)


def _answer(session: ChatSession, question: str, *, as_json: bool) -> None:
    """Ask and show the answer. Signals are handled between deltas: a running step must not be interrupted."""
    answer, watch, view = PartialCompletion(), Stopwatch(), TerminalView()
    with stop_requests() as stop, stop.finishing_steps(), closing(session.ask(question)) as answers:
        for answer in answers:
            watch.record(answer.num_tokens)
            if not as_json:
                view.show(answer)
            if stop.signal_number is not None:
                break
    if as_json:
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
    else:
        view.finish(answer, watch)
    # Ctrl-C stops only the answer, any other signal the program.
    if stop.signal_number not in (None, signal.SIGINT):
        raise typer.Exit(128 + stop.signal_number)
