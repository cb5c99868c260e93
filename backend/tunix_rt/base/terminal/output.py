"""Tables, JSON, notes, progress bars; stderr that survives a broken pipe."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Literal, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment

from tunix_rt.base.errors import TunixRTError, error_fields
from tunix_rt.base.logs import CONTROLS, redacted, visible

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.progress import Progress


def printable(text: str) -> str:
    """Replace characters that could control a terminal or reorder a line; newlines and tabs stay.

    Example:
        a bell or an escape sequence's first character -> �
    """
    return CONTROLS.sub(lambda match: match.group() if match.group() in "\n\t" else "�", text)


class StandardError:
    """Standard error that never fails.

    A full disk under the log or a closed pipe must not stop a training run.
    """

    def write(self, text: str) -> int:
        """Write if possible."""
        stream = self._stream()
        try:
            return stream.write(text)
        except OSError:
            silence(stream)
            return len(text)

    def flush(self) -> None:
        """Flush if possible."""
        stream = self._stream()
        try:
            stream.flush()
        except OSError:
            silence(stream)

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._stream().isatty()

    def fileno(self) -> int:
        """The file descriptor."""
        return self._stream().fileno()

    @property
    def encoding(self) -> str:
        """The text encoding."""
        return self._stream().encoding

    @staticmethod
    def _stream() -> TextIO:
        # While a progress bar is shown, rich replaces sys.stderr to print other output above the bar.
        stream: TextIO = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
        return stream


def silence(stream: TextIO) -> None:
    """Redirect a failing stream to /dev/null; otherwise Python fails again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Console(Console):
    @property
    def is_terminal(self) -> bool:
        """Whether it is a terminal; ignores FORCE_COLOR, with which notebooks keep every frame of a bar."""
        return self.file.isatty()

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of anything that is printed, none of which can control the terminal."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))

    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which exits cleanly; rich would exit with 1."""
        raise  # the BrokenPipeError that rich is handling


_WIDER_THAN_ANY_TABLE = 100_000

out = _Console(soft_wrap=True)
err = _Console(file=cast(IO[str], StandardError()), soft_wrap=True)


def print_json(value: "BaseModel | Any") -> None:
    """One JSON value on one line of standard output."""
    plain = value.model_dump(mode="json") if hasattr(value, "model_dump") else value
    sys.stdout.write(visible(json.dumps(plain, ensure_ascii=False, allow_nan=False)) + "\n")


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str | None = None
) -> None:
    """Print a table; cells are plain text, never markup.

    Without a terminal the width is unlimited, so that programs can read each row from one line.
    """
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        # An id that wraps onto two lines cannot be copied.
        table.add_column(column, overflow="fold", no_wrap=column == "id")
    for row in rows:
        table.add_row(*(escape("–" if value is None else visible(str(value))) for value in row))
    console = out if out.is_terminal else _Console(width=_WIDER_THAN_ANY_TABLE, soft_wrap=True)
    console.print(table)


def counted(number: int, thing: str) -> str:
    """A number with its noun.

    Example:
        1, "row" -> "1 row"; 2_000, "row" -> "2,000 rows"
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def say(message: str) -> None:
    """Print a line to standard output."""
    out.print(message, markup=False, highlight=False)


def note(message: str) -> None:
    """Print a line to standard error: for users, not for programs to parse."""
    err.print(message, markup=False, highlight=False)


def print_error(error: TunixRTError, *, as_json: bool) -> None:
    """Print the error and its next step to standard error; as JSON in the shape that the API uses."""
    detail = redacted(error.detail)
    if as_json:
        fields = error_fields(error) | {"detail": detail}
        err.file.write(visible(json.dumps(fields, ensure_ascii=False)) + "\n")
    else:
        err.print(f"error: {detail}", markup=False, highlight=False, style="bold red")
        err.print(f"next:  {error.next_step}", markup=False, highlight=False)


@contextmanager
def progress_bar(description: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error if that is a terminal.

    Yields a function that takes the number of newly completed items.
    """
    with _bar("count") as bar:
        task = bar.add_task(description, total=total)
        yield lambda num_done: bar.advance(task, num_done)


@contextmanager
def counting_bar(description: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar whose total is known later; yields a function of completed and total items."""
    with _bar("count") as bar:
        task = bar.add_task(description, total=None)
        yield lambda num_done, num_all: bar.update(task, completed=num_done, total=num_all)


@contextmanager
def fraction_bar(description: str) -> Iterator[Callable[[float], None]]:
    """A progress bar in percent; yields a function of the completed fraction, 0 to 1."""
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
