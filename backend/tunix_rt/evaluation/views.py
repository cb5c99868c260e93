"""Evaluations in the terminal."""

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from tunix_rt.base.terminal.output import counted, print_table, printable, say
from tunix_rt.evaluation.predict import EvaluationProgress
from tunix_rt.evaluation.scoring.evalset_report import EvalSetReport
from tunix_rt.evaluation.types import Estimate, Evaluation, GroupScores, Prediction, Verdict


def print_evalset(report: EvalSetReport) -> None:
    """Print whether an eval set is valid, its composition and every problem."""
    verdict = "is valid" if report.is_valid else "must not be used"
    say(f"{report.file} {verdict}: {counted(report.num_items, 'item')}, content {report.content_hash}")
    for label, counts in (
        ("sections", report.sections),
        ("categories", report.categories),
        ("difficulties", report.difficulties),
    ):
        say(f"{label}: {', '.join(f'{name} {count}' for name, count in counts.items())}")
    for problem in report.problems:
        where = f"line {problem.line}: " if problem.line is not None else ""
        say(f"{problem.severity}: {where}{problem.message}")


LINE_EVERY_S = 5.0
_MAX_EXAMPLE_LINES = 20
_MAX_EXAMPLE_COLUMNS = 200


class EvaluationBar:
    """A progress bar in a terminal, a line every few seconds elsewhere; both on standard error."""

    def __init__(self, console: Console) -> None:
        self._console = console
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[figures]}"))
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("", total=1.0, visible=False, figures="")
        self._last_line_s = -LINE_EVERY_S
        self.num_done = 0
        """Completions on disk."""

    def __enter__(self) -> "EvaluationBar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show_line(self, text: str) -> None:
        """Print a message above the bar."""
        self._console.print(text, markup=False, highlight=False)

    def show_hashing(self, fraction: float) -> None:
        """Show how much of the weights has been hashed."""
        self._show("hashing the weights", fraction, 1.0, f"{fraction:.0%}")

    def show_progress(self, progress: EvaluationProgress) -> None:
        """Show how many completions are done."""
        self.num_done = progress.num_done
        self._show("writing", progress.num_done, progress.num_total, str(progress))
        now_s = time.monotonic()
        is_due = progress.num_done == progress.num_total or now_s - self._last_line_s >= LINE_EVERY_S
        if is_due and not self._console.is_terminal:
            self._last_line_s = now_s
            self.show_line(str(progress))

    def _show(self, description: str, completed: float, total: float, figures: str) -> None:
        self._bar.update(
            self._task,
            description=description,
            completed=completed,
            total=total,
            figures=figures,
            visible=True,
        )


def print_evaluation(
    evaluation: Evaluation, predictions: Sequence[Prediction], directory: Path | None
) -> None:
    """Print the scores, a correct and a wrong example, and the next commands."""
    scores = evaluation.scores
    what = f"{evaluation.model.name} on {evaluation.evalset}"
    say(f"{what}: {counted(evaluation.num_items, 'item')}, {_how(evaluation)}")
    for name, value in _lines(scores.overall):
        say(f"{name:<20} {value}")
    for code, count in scores.failures.items():
        say(f"{'unscored':<20} {count:,} x {code}")
    say("")
    columns = ("section", "items", "accuracy", "95 %", "format", "steps right", "unscored")
    rows = [
        (
            name,
            group.num_items,
            _percent(group.accuracy),
            None if group.accuracy is None else f"{group.accuracy.low:.1%}–{group.accuracy.high:.1%}",
            _percent(group.format_adherence),
            _percent(group.step_correctness),
            group.num_unscored,
        )
        for name, group in scores.by_section.items()
    ]
    print_table(columns, rows)
    _print_example("Example of a correct answer", predictions, ("correct",))
    _print_example("Example of a wrong answer", predictions, ("wrong", "no-answer"))
    say("")
    say(f"evaluation {evaluation.evaluation_id}" + ("" if directory is None else f" in {directory}"))
    short = str(evaluation.evaluation_id)[:8]
    say(f"Next: tunix-rt eval items {short} --verdict wrong, tunix-rt compare OTHER {short},")
    say(f"tunix-rt baselines set NAME {short}, tunix-rt gate --baseline NAME")


def _how(evaluation: Evaluation) -> str:
    """How the completions were generated, and how fast."""
    if evaluation.generation is None:
        return "external predictions"
    decoding = evaluation.protocol.decoding
    how = "greedy"
    if decoding.temperature > 0:
        how = (
            f"{counted(decoding.num_samples, 'sample')} at temperature {decoding.temperature:g}, "
            f"top-p {decoding.top_p:g}, seed {decoding.seed}"
        )
    tokens_per_s = f"{evaluation.generation.tokens_per_s:,.0f} tokens/s"
    return f"{how}, at most {decoding.max_new_tokens} tokens, {tokens_per_s}"


def _lines(scores: GroupScores) -> list[tuple[str, object]]:
    """The available scores by name."""
    lengths = {"tokens": scores.reasoning_tokens, "steps": scores.reasoning_steps}
    reasoning = ", ".join(
        f"{spread.mean:.1f} {unit} (median {spread.median:.0f}, 90 % below {spread.p90:.0f})"
        for unit, spread in lengths.items()
        if spread is not None
    )
    named: list[tuple[str, object]] = [
        ("accuracy", scores.accuracy),
        ("lenient accuracy", scores.lenient_accuracy),
        *((f"pass@{k}", estimate) for k, estimate in scores.pass_at.items()),
        *((f"majority@{k}", estimate) for k, estimate in scores.majority_at.items()),
        ("format adherence", scores.format_adherence),
        ("reasoning", reasoning or None),
        ("step correctness", scores.step_correctness),
        ("right by wrong work", scores.right_by_wrong_work),
        ("no answer", f"{scores.num_no_answer:,}"),
        ("cut off", f"{scores.num_cut_off:,}"),
        ("unscored", f"{scores.num_unscored:,} of {scores.num_predictions:,}"),
    ]
    return [(name, value) for name, value in named if value is not None]


def _percent(estimate: Estimate | None) -> str | None:
    return None if estimate is None else f"{estimate.value:.1%}"


def _print_example(title: str, predictions: Sequence[Prediction], verdicts: tuple[Verdict, ...]) -> None:
    of_kind = [prediction for prediction in predictions if prediction.judgement.verdict in verdicts]
    if of_kind:
        # A well-formed completion says more than an answer alone.
        example = max(of_kind, key=lambda prediction: prediction.judgement.is_well_formed)
        say("")
        say(f"{title} ({example.item_id}):")
        print_prediction(example, is_whole=False)


def print_prediction(prediction: Prediction, *, is_whole: bool = True) -> None:
    """Print one item with its completion, or the start of it, and the judgement."""
    generation, judgement = prediction.generation, prediction.judgement
    say(f"  prompt    {_indented(prediction.prompt)}")
    say(f"  expected  {_indented(prediction.expected_answer)}")
    if generation.text is not None:
        shown = generation.text
        if not is_whole:  # an untrained model fills pages
            lines = [line[:_MAX_EXAMPLE_COLUMNS] for line in shown.split("\n") if line.strip()]
            more = ["[…]"] if len(lines) > _MAX_EXAMPLE_LINES else []
            shown = "\n".join(lines[:_MAX_EXAMPLE_LINES] + more) or "(nothing but white space)"
        say(f"  written   {_indented(shown)}")
    rule = "" if judgement.rule is None else f", found by {judgement.rule}"
    say(f"  verdict   {judgement.verdict}: {_indented(judgement.explanation)}{rule}")
    for step in judgement.steps:
        if step.verdict != "unchecked":
            say(f"  {step.verdict:<9} {_indented(step.text)}")


def _indented(text: str) -> str:
    return printable(text).replace("\n", "\n            ")
