"""What a person sees of a chat: the reasoning dimmed and apart from the answer, as it is written."""

import sys
import time
from collections.abc import Iterator
from typing import Protocol

from rich.console import Console

from tunix_rt.base.terminal.output import err, note, out, print_json, printable
from tunix_rt.services.serving.chatting import Answer

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
