"""A training as a person watches it: a bar in a terminal, plain lines elsewhere; both on standard error."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from tunix_rt.engines.training.records import Progress, duration_text
from tunix_rt.engines.training.types import RunFigures, RunManifest


class TrainingView:
    """Shows the lines and the progress of a run."""

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show_line(self, text: str) -> None:
        """Something to read, above the bar."""
        self._console.print(text, markup=False, highlight=False)

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        """Move the bar; without a terminal, print a line now and then."""
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
    """How a run ended, for people."""
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
        lines.append(f"memory     {_memory(figures)}")
    lines.append(f"time       {duration_text(sum(_top_level(manifest)))}")
    return "\n".join(lines)


def _memory(figures: RunFigures) -> str:
    used = "used by the whole process" if figures.peak_memory_of == "process" else "used"
    parts = {"planned for the step": figures.planned_memory_bytes, used: figures.peak_memory_bytes}
    return ", ".join(f"{size / 2**30:.2f} GiB {what}" for what, size in parts.items() if size is not None)


def _top_level(manifest: RunManifest) -> list[float]:
    return [(manifest.finished_at - manifest.started_at).total_seconds()]
