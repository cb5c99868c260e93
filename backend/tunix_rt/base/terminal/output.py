"""Tables, JSON, notes, progress bars; stderr that survives a broken pipe."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Literal, TextIO, cast

from rich.console import Console
from rich.markup import escape

from tunix_rt.base.errors import TunixRTError, error_fields
from tunix_rt.base.logs import redacted

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.progress import Progress


def printable(text: str) -> str:
    """The text without what would steer a terminal.

    Example:
        a bell or an escape sequence's first character -> �
    """
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)


class StandardError:
    """Standard error, as long as anybody takes it.

    What is said there is for people who watch. A log whose disk is full, or a reader that has left, must not
    end a training.
    """

    def write(self, text: str) -> int:
        """Say it, if possible."""
        stream = self._stream()
        try:
            return stream.write(text)
        except OSError:
            silence(stream)
            return len(text)

    def flush(self) -> None:
        """Send off what was said, if possible."""
        stream = self._stream()
        try:
            stream.flush()
        except OSError:
            silence(stream)

    def isatty(self) -> bool:
        """Whether a person looks."""
        return self._stream().isatty()

    def fileno(self) -> int:
        """Where it goes."""
        return self._stream().fileno()

    @property
    def encoding(self) -> str:
        """How characters become bytes."""
        return self._stream().encoding

    @staticmethod
    def _stream() -> TextIO:
        # A moving bar of rich puts itself there, and prints above itself what others write.
        stream: TextIO = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
        return stream


def silence(stream: TextIO) -> None:
    """Let a stream that fails lead nowhere. Python would try again, and fail, when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Console(Console):
    @property
    def is_terminal(self) -> bool:
        """Whether a person looks. Notebooks set FORCE_COLOR, and would keep every frame of a moving bar."""
        return self.file.isatty()

    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which ends in peace; rich would exit with 1."""
        raise  # what rich is handling: the BrokenPipeError


_WIDER_THAN_ANY_TABLE = 100_000

out = _Console(soft_wrap=True)
err = _Console(file=cast(IO[str], StandardError()), soft_wrap=True)


def print_json(value: "BaseModel | Any") -> None:
    """One JSON value on one line of standard output."""
    plain = value.model_dump(mode="json") if hasattr(value, "model_dump") else value
    sys.stdout.write(json.dumps(plain, ensure_ascii=False, allow_nan=False) + "\n")


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None
) -> None:
    """A table; cells are printed as text, never read as markup.

    Where nobody looks, it is as wide as it needs: other programs read a row from one line.
    """
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        # An id that is folded over two lines cannot be copied.
        table.add_column(column, overflow="fold", no_wrap=column == "id")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    console = out if out.is_terminal else _Console(width=_WIDER_THAN_ANY_TABLE, soft_wrap=True)
    console.print(table)


def _cell(value: object) -> str:
    return escape("–" if value is None else str(value))


def counted(number: int, thing: str) -> str:
    """So many of them.

    Example:
        1, "row" -> "1 row"; 2_000, "row" -> "2,000 rows"
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def say(message: str) -> None:
    """A line of text on standard output."""
    out.print(message, markup=False, highlight=False)


def note(message: str) -> None:
    """A line on standard error: what a person should know and a program should not parse."""
    err.print(message, markup=False, highlight=False)


def print_error(error: TunixRTError, *, as_json: bool) -> None:
    """The error and what to do next on standard error; as JSON in the one shape that the API has too."""
    detail = redacted(error.detail)
    if as_json:
        err.file.write(json.dumps(error_fields(error) | {"detail": detail}, ensure_ascii=False) + "\n")
    else:
        err.print(f"error: {detail}", markup=False, highlight=False, style="bold red")
        err.print(f"next:  {error.next_step}", markup=False, highlight=False)


@contextmanager
def progress_bar(description: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while something takes long; silent when nobody is looking.

    Yields a function that takes how many more are done.
    """
    with _bar("count") as bar:
        task = bar.add_task(description, total=total)
        yield lambda num_done: bar.advance(task, num_done)


@contextmanager
def counting_bar(description: str) -> Iterator[Callable[[int, int], None]]:
    """The same where the total is only known on the way; yields a function that takes both."""
    with _bar("count") as bar:
        task = bar.add_task(description, total=None)
        yield lambda num_done, num_all: bar.update(task, completed=num_done, total=num_all)


@contextmanager
def fraction_bar(description: str) -> Iterator[Callable[[float], None]]:
    """The same where only the share that is done is known; yields a function that takes it, 0 to 1."""
    with _bar("percentage") as bar:
        task = bar.add_task(description, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)


def _bar(kind: Literal["count", "percentage"]) -> "Progress":
    from rich import progress  # 0.02 s that only commands with a bar need

    done = progress.MofNCompleteColumn() if kind == "count" else progress.TaskProgressColumn()
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        done,
        progress.TimeRemainingColumn(),
    )
    return progress.Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
