"""Everything a run writes: metrics, events, log, progress."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from tunix_rt.base.files.atomic import storage_errors, write_atomically, write_json_atomically
from tunix_rt.base.files.jsonl import JsonLines, keep_json_lines, read_json_lines
from tunix_rt.base.logs import redacted
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import EventKind, MetricsLine, RunEvent, ValidationLine

PROGRESS_EVERY_S = 1.0


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    step: int
    num_steps: int
    loss: float
    learning_rate: float
    tokens_per_s: float | None
    seconds_left: float | None

    def __str__(self) -> str:
        parts = [
            f"step {self.step}/{self.num_steps}",
            f"loss {self.loss:.4f}",
            f"lr {self.learning_rate:.3g}",
        ]
        if self.tokens_per_s is not None:
            parts.append(f"{self.tokens_per_s:,.0f} tokens/s")
        if self.seconds_left is not None:
            parts.append(f"{duration_text(self.seconds_left)} left")
        return " | ".join(parts)


class View(Protocol):
    """Where a person looks."""

    def show_line(self, text: str) -> None:
        """Something to read."""

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        """A step is done. `is_due` is true now and then: for whoever shows progress as lines."""


class RunRecords:
    """The records of a run: metrics.jsonl, events.jsonl, log.txt, and who is watching.

    Nothing is written before `begin`: what is refused at once leaves no trace, and a run that is already
    there stays as it is.
    """

    def __init__(self, run_dir: RunDir, view: View) -> None:
        self._run_dir = run_dir
        self._view = view
        self._open: _OpenFiles | None = None
        self._buffered_log: list[str] = []
        self._last_progress_s = -PROGRESS_EVERY_S
        self.durations_s: dict[str, float] = {}
        self.is_forced = False
        """Whether the run went on although it should not fit."""
        self.peak_before_bytes: int | None = None
        """The most memory that the lines before a resume tell."""

    @property
    def has_begun(self) -> bool:
        """Whether this run has files."""
        return self._open is not None

    def begin(self, *, step: int) -> None:
        """Open the records after `step` steps; metrics of later ones will be written again."""
        self._run_dir.manifest.unlink(missing_ok=True)
        keep_json_lines(self._run_dir.metrics, lambda line: bool(line["step"] <= step))
        keep_json_lines(self._run_dir.events, lambda line: True)
        kept = read_json_lines(self._run_dir.metrics)
        peaks = [line["peak_memory_bytes"] for line in kept if "peak_memory_bytes" in line]
        self.peak_before_bytes = max(peaks, default=None)
        self._open = _OpenFiles(self._run_dir)
        for text in self._buffered_log:
            self._open.write_log(text)

    def metrics(self, line: MetricsLine | ValidationLine) -> None:
        """Append a line of metrics."""
        self._files.metrics.append(line.to_json())

    def event(self, kind: EventKind, message: str, **details: JsonValue) -> None:
        """Write down that something happened, and say so."""
        self.note(kind, message, **details)
        self._view.show_line(redacted(message))

    def note(self, kind: EventKind, message: str, **details: JsonValue) -> None:
        """Write down that something happened, which whoever is watching will be told elsewhere."""
        message = redacted(message)
        event = RunEvent(
            sequence=self._files.num_events,
            time=datetime.now(UTC),
            kind=kind,
            message=message,
            details=details,
        )
        self._files.events.append(event.to_json())
        self._files.num_events += 1
        self._files.write_log(message)

    def log(self, text: str) -> None:
        """Print to the log and to whoever is watching."""
        text = redacted(text)
        if self._open is None:
            self._buffered_log.append(text)
        else:
            self._open.write_log(text)
        self._view.show_line(text)

    def progress(self, progress: Progress) -> None:
        """Show how far the run is."""
        now_s = time.monotonic()
        is_last = progress.step == progress.num_steps
        is_due = is_last or now_s - self._last_progress_s >= PROGRESS_EVERY_S
        if is_due:
            self._last_progress_s = now_s
            self._files.write_log(str(progress))
        self._view.show_progress(progress, is_due=is_due)

    def write_json(self, name: str, value: dict[str, Any]) -> None:
        """Write a file of the run directory whole."""
        write_json_atomically(self._run_dir.path / name, value, what=f"writing {name}")

    def write_text(self, name: str, text: str) -> None:
        """Write a file of the run directory whole."""
        with write_atomically(self._run_dir.path / name, what=f"writing {name}") as file:
            file.write(text.encode())

    def write_arrays(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write arrays into a file of the run directory, whole."""
        with write_atomically(self._run_dir.path / name, what=f"writing {name}") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Count what happens inside towards a duration of the manifest."""
        start_s = time.monotonic()
        try:
            yield
        finally:
            self.durations_s[what] = self.durations_s.get(what, 0.0) + time.monotonic() - start_s

    def sync(self) -> None:
        """Make the metrics and events written so far survive a power cut."""
        self._files.metrics.sync()
        self._files.events.sync()

    def close(self) -> None:
        """Nothing more is written."""
        if self._open is not None:
            self._open.close()

    @property
    def _files(self) -> "_OpenFiles":
        assert self._open is not None, "the run has not begun"
        return self._open


class _OpenFiles:
    """The files that grow while a run goes on."""

    def __init__(self, run_dir: RunDir) -> None:
        self.num_events = len(read_json_lines(run_dir.events))
        self.metrics = JsonLines(run_dir.metrics)
        self.events = JsonLines(run_dir.events)
        with storage_errors("opening the log"):
            self._log = run_dir.log.open("a", encoding="utf-8")

    def write_log(self, text: str) -> None:
        with storage_errors("writing the log"):
            self._log.write(text + "\n")
            self._log.flush()

    def close(self) -> None:
        for file in (self.metrics, self.events, self._log):
            file.close()


def duration_text(seconds: float) -> str:
    """A time that people read.

    Example:
        3725 -> "1h 02m"; 65 -> "1m 05s"; 4.2 -> "4s"
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_of_hour = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes_of_hour:02d}m"
    return f"{minutes}m {rest:02d}s" if minutes else f"{rest}s"
