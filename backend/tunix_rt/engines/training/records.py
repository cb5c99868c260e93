"""The records of a run: metrics, events, log, progress."""

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
    """The progress of a run."""

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
    """A display of a run, such as a terminal."""

    def show_line(self, text: str) -> None:
        """Show a line of text."""

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        """Show the progress after a step. `is_due` is true about once a second, for line-based displays."""


class RunRecords:
    """Writes metrics.jsonl, events.jsonl and log.txt, and updates the view.

    Nothing is written before `begin`: a rejected run leaves no files, and an existing run stays unchanged.
    """

    def __init__(self, run_dir: RunDir, view: View) -> None:
        self._run_dir = run_dir
        self._view = view
        self._open: _OpenFiles | None = None
        self._buffered_log: list[str] = []
        self._last_progress_s = -PROGRESS_EVERY_S
        self.durations_s: dict[str, float] = {}
        self.is_forced = False
        """Whether the run was forced although its plan does not fit."""
        self.peak_before_bytes: int | None = None
        """The peak memory in the metrics before a resume."""

    @property
    def has_begun(self) -> bool:
        """Whether the records are open."""
        return self._open is not None

    def begin(self, *, step: int) -> None:
        """Open the records at `step`; metrics of later steps are removed, as those steps are repeated."""
        self._run_dir.manifest.unlink(missing_ok=True)
        keep_json_lines(self._run_dir.metrics, lambda line: bool(line["step"] <= step))
        keep_json_lines(self._run_dir.events, lambda line: True)
        lines = read_json_lines(self._run_dir.metrics)
        peaks = [line["peak_memory_bytes"] for line in lines if "peak_memory_bytes" in line]
        self.peak_before_bytes = max(peaks, default=None)
        self._open = _OpenFiles(self._run_dir)
        for text in self._buffered_log:
            self._open.write_log(text)

    def metrics(self, line: MetricsLine | ValidationLine) -> None:
        """Append a metrics line."""
        self._files.metrics.append(line.to_json())

    def event(self, kind: EventKind, message: str, **details: JsonValue) -> None:
        """Record an event and show its message."""
        self.note(kind, message, **details)
        self._view.show_line(redacted(message))

    def note(self, kind: EventKind, message: str, **details: JsonValue) -> None:
        """Record an event without showing it."""
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
        """Write a line to the log and show it."""
        text = redacted(text)
        if self._open is None:
            self._buffered_log.append(text)
        else:
            self._open.write_log(text)
        self._view.show_line(text)

    def progress(self, progress: Progress) -> None:
        """Show the progress; about once a second, log it too."""
        now_s = time.monotonic()
        is_last = progress.step == progress.num_steps
        is_due = is_last or now_s - self._last_progress_s >= PROGRESS_EVERY_S
        if is_due:
            self._last_progress_s = now_s
            self._files.write_log(str(progress))
        self._view.show_progress(progress, is_due=is_due)

    def write_json(self, name: str, value: dict[str, Any]) -> None:
        """Write a JSON file of the run directory atomically."""
        write_json_atomically(self._run_dir.path / name, value, what=f"writing {name}")

    def write_text(self, name: str, text: str) -> None:
        """Write a text file of the run directory atomically."""
        with write_atomically(self._run_dir.path / name, what=f"writing {name}") as file:
            file.write(text.encode())

    def write_arrays(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write arrays to a file of the run directory atomically."""
        with write_atomically(self._run_dir.path / name, what=f"writing {name}") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Add the time inside to a duration of the manifest."""
        start_s = time.monotonic()
        try:
            yield
        finally:
            self.durations_s[what] = self.durations_s.get(what, 0.0) + time.monotonic() - start_s

    def sync(self) -> None:
        """Flush metrics and events to disk, so that they survive a power failure."""
        self._files.metrics.sync()
        self._files.events.sync()

    def close(self) -> None:
        """Close the files."""
        if self._open is not None:
            self._open.close()

    @property
    def _files(self) -> "_OpenFiles":
        assert self._open is not None, "the run has not begun"
        return self._open


class _OpenFiles:
    """The files that a run appends to."""

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
    """A duration for display.

    Example:
        3725 -> "1h 02m"; 65 -> "1m 05s"; 4.2 -> "4s"
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_of_hour = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes_of_hour:02d}m"
    return f"{minutes}m {rest:02d}s" if minutes else f"{rest}s"
