"""Runs and training progress in the terminal."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from tunix_rt.base.terminal.output import note, print_json, print_table, say
from tunix_rt.engines.training.records import Progress, duration_text
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.runs.service import QueueState, RunList
from tunix_rt.runs.types import TERMINAL, Run, RunDetail, ServiceEvent

_GIB = 2**30


def print_runs(page: RunList) -> None:
    """A page of runs as a table."""
    if not page.data:
        say("No runs match. Submit one: tunix-rt runs submit smoke_tiny")
        return
    columns = ("id", "status", "model", "dataset", "steps", "loss")
    rows = []
    for run in page.data:
        figures = run.figures
        steps = None if figures is None else f"{figures.num_steps:,} of {figures.num_planned_steps:,}"
        loss = None if figures is None or figures.final_loss is None else f"{figures.final_loss:.4f}"
        rows.append((run.run_id, status_text(run), run.model, run.dataset, steps, loss))
    print_table(columns, rows)
    note(f"{len(page.data)} of {page.pagination.total}")


def print_run(run: RunDetail, events: Sequence[ServiceEvent]) -> None:
    """A run: its status, planned and measured figures, and its events."""
    for name, value in _facts(run):
        say(f"{name:<11}{value}")
    compared = list(_planned_and_measured(run))
    if compared:
        print_table(("", "planned", "measured"), compared)
    print_table(
        ("time (UTC)", "event", "message"),
        [(f"{event.time:%Y-%m-%d %H:%M:%S}", event.kind, event.message) for event in events],
    )


def print_changed(run: RunDetail, *, as_json: bool) -> None:
    """A run that a command has changed."""
    print_json(run.to_json()) if as_json else say(f"{status_text(run)}: {run.run_id}")


def print_queue(queue: QueueState) -> None:
    """The state of the queue."""
    counts = ", ".join(f"{count:,} {status}" for status, count in sorted(queue.num_runs.items()))
    held = f" ({queue.num_held:,} held)" if queue.num_held else ""
    say(f"queue      {'paused' if queue.is_paused else 'open'}")
    say(f"runs       {counts or 'none'}{held}")
    if not queue.workers:
        say("workers    none; start one: tunix-rt worker")
        return
    rows = [
        (worker.worker_id, worker.status, worker.host, " ".join(map(str, worker.slots)))
        for worker in queue.workers
    ]
    print_table(("worker", "status", "host", "slots"), rows)


def status_text(run: Run) -> str:
    """The status with what qualifies it: `queued (retry at 12:30:00)`."""
    if run.executor == "direct" and run.status not in TERMINAL:
        return f"{run.status} (unmanaged)"
    if run.is_held:
        return "paused" if run.status == "queued" else f"{run.status} (pausing)"
    if run.status == "queued" and run.not_before is not None and run.not_before > datetime.now(UTC):
        return f"queued (retry at {run.not_before:%H:%M:%S})"
    return run.status


def _facts(run: RunDetail) -> Iterator[tuple[str, str]]:
    yield "run", run.run_id
    yield "status", status_text(run)
    yield "recipe", f"{run.recipe_name}: {run.model}, {run.mode}, on {run.dataset}"
    yield "runs with", f"engine {run.engine}, device {run.device}, executor {run.executor}"
    if run.priority:
        yield "priority", str(run.priority)
    if run.sweep_id is not None:
        yield "sweep", run.sweep_id
    if run.num_attempts:
        yield "attempts", f"{run.num_attempts}, last by {run.worker_id}"
    if run.request.is_forced:
        yield "forced", "queued although the plan does not fit"
    if run.failure is not None:
        yield "failure", run.failure.detail
        yield "next", run.failure.next_step


def _planned_and_measured(run: RunDetail) -> Iterator[tuple[str, str, str]]:
    plan, figures = run.plan, run.figures
    if plan is None and figures is None:
        return
    took_s = None
    if run.started_at is not None and run.finished_at is not None:
        took_s = (run.finished_at - run.started_at).total_seconds()
    steps, memory = (figures.num_steps, figures.peak_memory_bytes) if figures is not None else (None, None)
    whole = " (whole process)" if figures is not None and figures.peak_memory_of == "process" else ""
    rows: tuple[tuple[str, str, float | None, Callable[[float], str], str], ...] = (
        ("steps", "num_steps", steps, "{:,}".format, ""),
        ("memory", "per_device_bytes", memory, lambda size: f"{size / _GIB:.2f} GiB", whole),
        ("time", "total_seconds", took_s, duration_text, ""),
    )
    for name, key, measured, text, addition in rows:
        planned = (plan or {}).get(key)
        left = text(planned) if isinstance(planned, int | float) else "-"
        yield name, left, ("-" if measured is None else text(measured)) + addition


class TrainingView:
    """Shows the messages and the progress of a run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        columns = (
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
        )
        self._bar = Bar(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task: TaskID | None = None

    def __enter__(self) -> "TrainingView":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show_line(self, text: str) -> None:
        """Print a line above the bar."""
        self._console.print(text, markup=False, highlight=False)

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        """Move the bar; without a terminal, print a line when one is due."""
        if not self._console.is_terminal:
            if is_due:
                self.show_line(str(progress))
            return
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task("", total=progress.num_steps, figures="")
        figures = str(progress).partition(" | ")[2]
        self._bar.update(self._task, completed=progress.step, figures=figures)


def summary(manifest: RunManifest, directory: str) -> str:
    """The result of a run as text."""
    figures = manifest.figures
    lines = [f"{manifest.status}: run {manifest.run_id} in {directory}"]
    if figures is not None:
        lines.append(f"steps      {figures.num_steps} of {figures.num_planned_steps}")
        if figures.final_loss is not None:
            lines.append(f"loss       {figures.final_loss:.4f}")
        if figures.best_validation_loss is not None:
            lines.append(
                f"validation {figures.best_validation_loss:.4f} at best, after step {figures.best_step}"
            )
        if figures.tokens_per_s is not None:
            mfu = "" if figures.mfu is None else f", {figures.mfu:.1%} MFU"
            lines.append(f"speed      {figures.tokens_per_s:,.0f} tokens/s{mfu}")
        used = "used by the whole process" if figures.peak_memory_of == "process" else "used"
        parts = {"planned for the step": figures.planned_memory_bytes, used: figures.peak_memory_bytes}
        shown = [f"{size / _GIB:.2f} GiB {what}" for what, size in parts.items() if size is not None]
        lines.append(f"memory     {', '.join(shown)}")
    seconds = (manifest.finished_at - manifest.started_at).total_seconds()
    lines.append(f"time       {duration_text(seconds)}")
    return "\n".join(lines)
