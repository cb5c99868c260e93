"""Runs for people: a table, one run with its history, how the queue stands."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from tunix_rt.base.terminal.output import note, print_json, print_table, say
from tunix_rt.core.runs.run import Run, RunDetail, ServiceEvent
from tunix_rt.core.runs.states import TERMINAL
from tunix_rt.engines.training.records import duration_text
from tunix_rt.services.runs.listing import QueueState, RunList

_GIB = 2**30


def print_runs(page: RunList) -> None:
    """A page of runs as a table."""
    if not page.data:
        say("No run fits. Submit one: tunix-rt runs submit smoke_tiny")
        return
    columns = ("id", "status", "model", "dataset", "steps", "loss")
    print_table(columns, [_row(run) for run in page.data])
    note(f"{len(page.data)} of {page.pagination.total}")


def print_run(run: RunDetail, events: Sequence[ServiceEvent]) -> None:
    """Where a run stands, what was planned and measured, and what happened to it."""
    for name, value in _facts(run):
        say(f"{name:<11}{value}")
    compared = list(_planned_and_measured(run))
    if compared:
        print_table(("", "planned", "measured"), compared)
    print_table(
        ("when (UTC)", "what", "message"),
        [(f"{event.time:%Y-%m-%d %H:%M:%S}", event.kind, event.message) for event in events],
    )


def print_changed(run: RunDetail, *, as_json: bool) -> None:
    """A run that somebody did something with."""
    print_json(run.to_json()) if as_json else say(f"{status_text(run)}: {run.run_id}")


def print_queue(queue: QueueState) -> None:
    """How the queue stands."""
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
    """The status, and what a person must know with it."""
    if run.executor == "direct" and run.status not in TERMINAL:
        return f"{run.status} (outside the queue)"
    if run.is_held:
        return "paused" if run.status == "queued" else f"{run.status} (pausing)"
    if run.status == "queued" and run.not_before is not None and run.not_before > datetime.now(UTC):
        return f"queued (retry at {run.not_before:%H:%M:%S})"
    return run.status


def _row(run: Run) -> tuple[object, ...]:
    figures = run.figures
    return (
        run.run_id,
        status_text(run),
        run.model,
        run.dataset,
        None if figures is None else f"{figures.num_steps:,} of {figures.num_planned_steps:,}",
        None if figures is None or figures.final_loss is None else f"{figures.final_loss:.4f}",
    )


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
        yield "forced", "queued although the plan said that it does not fit"
    if run.failure is not None:
        yield "failure", run.failure.detail
        yield "next", run.failure.next_step


def _planned_and_measured(run: RunDetail) -> Iterator[tuple[str, str, str]]:
    figures = run.figures
    if run.plan is None and figures is None:
        return
    steps = None if figures is None else figures.num_steps
    memory = None if figures is None else figures.peak_memory_bytes
    whole = " (whole process)" if figures is not None and figures.peak_memory_of == "process" else ""
    yield "steps", _number(_planned(run, "num_steps")), _number(steps)
    yield "memory", _memory(_planned(run, "per_device_bytes")), _memory(memory) + whole
    yield "time", _time(_planned(run, "total_seconds")), _time(_seconds(run))


def _planned(run: RunDetail, figure: str) -> float | None:
    value = None if run.plan is None else run.plan.get(figure)
    return value if isinstance(value, int | float) else None


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,}"


def _memory(num_bytes: float | None) -> str:
    return "-" if num_bytes is None else f"{num_bytes / _GIB:.2f} GiB"


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else duration_text(seconds)


def _seconds(run: Run) -> float | None:
    if run.started_at is None or run.finished_at is None:
        return None
    return (run.finished_at - run.started_at).total_seconds()
