"""A plan in the terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tunix_rt.base.terminal.output import counted
from tunix_rt.engines.planning.targets import GIB
from tunix_rt.engines.planning.types import COMPONENT_MEANINGS, Plan

_BAR_WIDTH = 40
_WIDE = 130
"""Terminal width from which the meaning of each component is shown."""


@contextmanager
def compiling_line(console: Console) -> Iterator[Callable[[str, float], None]]:
    """A status line with the elapsed time of the compiler, as a function that shows what is being compiled.

    Silent without a terminal.
    """
    status = console.status("")

    def update(what: str, elapsed_s: float) -> None:
        if console.is_terminal:
            status.update(Text(f"compiling {what}: {elapsed_s:.0f} s (1 to 5 minutes the first time)"))
            status.start()

    try:
        yield update
    finally:
        status.stop()


def print_estimate(plan: Plan, console: Console) -> None:
    """Print the estimate while the compiler runs."""
    if console.is_terminal:
        console.print(f"estimate: {plan.reason}", markup=False, highlight=False, style="dim")


def print_plan(plan: Plan, console: Console) -> None:
    """Print verdict, memory, time, fixes and assumptions."""
    style = "bold green" if plan.fits else "bold red"
    head, _, rest = plan.reason.partition(":")
    devices = f"{plan.num_devices} of {plan.num_target_devices} devices"
    subject = f"{plan.model} on {plan.target}, {devices}"
    console.print(Text.assemble((head, style), f":{rest}\n", (subject, "dim")))
    console.print(_components(plan, is_wide=console.width >= _WIDE))
    console.print(_time(plan), highlight=False)
    if plan.fixes:
        console.print("Changes that make it fit, cheapest first:", style="bold")
    elif not plan.fits:
        console.print("No change to this recipe makes it fit: use a smaller model or a larger target.")
    for fix in plan.fixes:
        size, seconds = _size(fix.per_device_bytes), duration(fix.step_seconds)
        text = f"      {size} ({fix.source}), step about {seconds}; {fix.cost}"
        console.print(f"  {fix.change}", markup=False, highlight=False)
        console.print(text, markup=False, highlight=False, style="dim")
    for line in (*plan.assumptions, *plan.notes):
        console.print(f"- {line}", markup=False, highlight=False, style="dim")


def _components(plan: Plan, *, is_wide: bool) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("component", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("bar", no_wrap=True)
    table.add_column("meaning", style="dim", no_wrap=True)
    scale = max(plan.limit_bytes, plan.per_device_bytes)
    for name, size in plan.components.items():
        meaning = COMPONENT_MEANINGS[name] if is_wide else ""
        table.add_row(name.replace("_", " "), _size(size), _bar(size, scale), meaning)
    table.add_row(
        f"total, {plan.source}", _size(plan.per_device_bytes), _bar(plan.per_device_bytes, scale), ""
    )
    table.add_row("limit", _size(plan.limit_bytes), _bar(plan.limit_bytes, scale), "")
    return table


def _size(num_bytes: int) -> str:
    if num_bytes < 0.1 * GIB:
        return f"{num_bytes / 1024**2:.1f} MiB"
    return f"{num_bytes / GIB:.2f} GiB"


def _bar(size: int, scale: int) -> str:
    eighths = round(8 * _BAR_WIDTH * size / scale)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _time(plan: Plan) -> str:
    line = f"step about {duration(plan.step_seconds)} for {plan.tokens_per_step:,} tokens"
    if plan.total_seconds is None or plan.num_steps is None:
        return line
    line += f"; {counted(plan.num_steps, 'step')} about {duration(plan.total_seconds)}"
    if plan.session_seconds is None:
        return line
    verdict = "within" if plan.fits_session else "longer than"
    return f"{line}, {verdict} the session of {duration(plan.session_seconds)}"


def duration(seconds: float) -> str:
    """A duration for display.

    Example:
        0.0312 -> "31 ms", 5400 -> "1.5 h"
    """
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
