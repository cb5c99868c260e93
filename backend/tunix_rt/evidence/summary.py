"""Figures of a run with their sources, and whether they match metrics.jsonl."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tunix_rt.base.records import Record, differences
from tunix_rt.engines.training.types import MetricsLine, RunManifest, ValidationLine
from tunix_rt.evaluation.run_scores import Scorecard
from tunix_rt.evaluation.types import Evaluation
from tunix_rt.models.types import InnerPath


class FigureSource(Record):
    """Where a figure comes from."""

    file: InnerPath
    place: str
    """Location in the file, for example `loss of step 2000`."""


class Figure(Record):
    """A number with its unit and source."""

    value: float
    unit: str
    source: FigureSource


class EvalSummary(Record):
    """The figures of a run that succeeded and was evaluated."""

    summary_version: Literal["1"] = "1"
    run_id: str
    model: str
    """The model that training started from."""
    dataset: str
    dataset_hash: str
    eval_set: str
    evaluated_at: datetime
    primary_score: Figure
    scorecard: Scorecard
    section_scores: dict[str, float]
    """Accuracy by section, where anything could be scored."""
    figures: dict[str, Figure]
    predictions_path: Literal["predictions.jsonl"] = "predictions.jsonl"


@dataclass
class TrainingCurve:
    """A summary of `metrics.jsonl`."""

    num_lines: int = 0
    first: MetricsLine | None = None
    last: MetricsLine | None = None
    last_validation: ValidationLine | None = None
    best_validation: ValidationLine | None = None
    tokens_per_s: tuple[float, float] | None = None
    """The lowest and the highest speed."""
    peak_memory_bytes: int = 0
    is_ascending: bool = True
    """Whether the steps are in ascending order."""


def training_curve(lines: Iterable[MetricsLine | ValidationLine]) -> TrainingCurve:
    """Read the lines once, keeping only what the figures need."""
    curve = TrainingCurve()
    for line in lines:
        if isinstance(line, ValidationLine):
            curve.last_validation = line
            best = curve.best_validation
            if best is None or line.validation_loss < best.validation_loss:
                curve.best_validation = line
            continue
        curve.num_lines += 1
        curve.first = curve.first or line
        curve.is_ascending &= curve.last is None or curve.last.step < line.step
        curve.last = line
        curve.peak_memory_bytes = max(curve.peak_memory_bytes, line.peak_memory_bytes or 0)
        if line.tokens_per_s is not None:
            slowest, fastest = curve.tokens_per_s or (line.tokens_per_s, line.tokens_per_s)
            curve.tokens_per_s = min(slowest, line.tokens_per_s), max(fastest, line.tokens_per_s)
    return curve


def eval_summary(manifest: RunManifest, curve: TrainingCurve, evaluation: Evaluation) -> EvalSummary | None:
    """The summary; None without logged steps or a score."""
    scores = evaluation.scores
    accuracy = scores.overall.accuracy
    if accuracy is None or curve.last is None or curve.first is None:
        return None
    sections = {name: group.accuracy for name, group in scores.by_section.items()}
    return EvalSummary(
        run_id=manifest.run_id,
        model=manifest.model,
        dataset=manifest.dataset,
        dataset_hash=manifest.dataset_hash,
        eval_set=evaluation.evalset,
        evaluated_at=evaluation.created_at,
        primary_score=_figure(
            accuracy.value, "share of right answers", "predictions.jsonl", "verdicts of all scored lines"
        ),
        scorecard=Scorecard(
            n_items=scores.overall.num_items,
            n_scored=scores.overall.num_scored,
            n_skipped=scores.overall.num_unscored,
            primary_score=accuracy.value,
            low=accuracy.low,
            high=accuracy.high,
        ),
        section_scores={name: share.value for name, share in sections.items() if share is not None},
        figures=_training_figures(manifest, curve.first, curve),
    )


def _training_figures(manifest: RunManifest, first: MetricsLine, curve: TrainingCurve) -> dict[str, Figure]:
    assert curve.last is not None
    nats, metrics = "nats per trained token", "metrics.jsonl"
    found = {
        "first_loss": _figure(first.loss, nats, metrics, f"loss of step {first.step}"),
        "final_loss": _figure(curve.last.loss, nats, metrics, f"loss of step {curve.last.step}"),
        "num_steps": _figure(curve.last.step, "steps", metrics, "step of the last line"),
    }
    validations = {"validation_loss": curve.last_validation, "best_validation_loss": curve.best_validation}
    for name, line in validations.items():
        if line is not None:
            found[name] = _figure(line.validation_loss, nats, metrics, f"validation_loss of step {line.step}")
    if curve.peak_memory_bytes:
        place = "largest peak_memory_bytes"
        found["peak_memory_bytes"] = _figure(curve.peak_memory_bytes, "bytes", metrics, place)
    # These depend on the clock of the run.
    run_file = "run_manifest.json"
    if manifest.figures is not None and (speed := manifest.figures.tokens_per_s) is not None:
        found["tokens_per_s"] = _figure(speed, "tokens per second", run_file, "figures.tokens_per_s")
    if (seconds := manifest.durations_s.get("train")) is not None:
        found["train_seconds"] = _figure(seconds, "s", run_file, "durations_s.train")
    return found


def _figure(value: float, unit: str, file: str, place: str) -> Figure:
    return Figure(value=value, unit=unit, source=FigureSource(file=file, place=place))


_CLOCK_SLACK = 0.05
"""Allowed relative difference: the overall speed excludes the first step, the lines do not always."""


def figure_problems(manifest: RunManifest, curve: TrainingCurve) -> Iterator[str]:
    """Differences between the manifest and metrics.jsonl, one line each."""
    if not curve.is_ascending:
        yield "the steps of metrics.jsonl are not in ascending order"
    figures = manifest.figures
    if figures is None:
        if manifest.status == "succeeded":
            yield "run_manifest.json has no figures"
        return
    last, best = curve.last_validation, curve.best_validation
    recomputed = {
        "final_loss": curve.last and curve.last.loss,
        "validation_loss": last and last.validation_loss,
        "best_validation_loss": best and best.validation_loss,
        "best_step": best and best.step,
    }
    for name, value in recomputed.items():
        stated = getattr(figures, name)
        if stated is not None and stated != value:
            yield f"run_manifest.json has {name} {stated}; from metrics.jsonl it is {value}"
    last_step = 0 if curve.last is None else curve.last.step
    if figures.num_steps < last_step:
        yield f"run_manifest.json has {figures.num_steps} steps; metrics.jsonl goes to step {last_step}"
    if figures.num_steps and not curve.num_lines:
        yield f"run_manifest.json has {figures.num_steps} steps; metrics.jsonl has none of them"
    peak_bytes = figures.peak_memory_bytes
    if peak_bytes is not None and peak_bytes < curve.peak_memory_bytes:
        yield f"run_manifest.json has {peak_bytes} bytes at most; metrics.jsonl has {curve.peak_memory_bytes}"
    if figures.tokens_per_s is not None and curve.tokens_per_s is not None and last_step == figures.num_steps:
        slowest, fastest = curve.tokens_per_s
        if not slowest * (1 - _CLOCK_SLACK) <= figures.tokens_per_s <= fastest * (1 + _CLOCK_SLACK):
            yield (
                f"run_manifest.json has {figures.tokens_per_s:.0f} tokens/s; the lines of metrics.jsonl "
                f"have {slowest:.0f} to {fastest:.0f}"
            )


def summary_problems(stated: EvalSummary, recomputed: EvalSummary | None) -> Iterator[str]:
    """Differences between eval_summary.json and the files it names, one line each."""
    if recomputed is None:
        yield "eval_summary.json summarizes a run without logged steps or a score"
        return
    for key, *values in differences(stated.to_json(), recomputed.to_json()):
        mine, theirs = ("missing" if value is None else value for value in values)
        yield f"eval_summary.json has {key} {mine}; recomputed it is {theirs}"


def success_headline(summary: EvalSummary) -> str:
    """The headline of a run that succeeded.

    Example:
        "demo-1 trained tiny-gemma on demo-v1 for 2,000 steps (loss 4.29 to 0.0024) and answers 99.0% of sums
        right (n = 200)."
    """
    figures, card = summary.figures, summary.scorecard
    losses = f"loss {figures['first_loss'].value:.3g} to {figures['final_loss'].value:.3g}"
    return (
        f"{summary.run_id} trained {summary.model} on {summary.dataset} for "
        f"{figures['num_steps'].value:,.0f} steps ({losses}) and answers "
        f"{summary.primary_score.value:.1%} of {summary.eval_set} right (n = {card.n_scored:,})."
    )


def failure_headline(run_id: str, manifest: RunManifest | None) -> str:
    """The headline of a run that did not succeed."""
    if manifest is None:
        return f"FAILURE REPORT: the run {run_id} ended without a last word."
    reason = "" if manifest.failure is None else f": {manifest.failure.detail}"
    return f"FAILURE REPORT: the run {run_id} {_STATUS_TEXTS[manifest.status]}{reason}"


_STATUS_TEXTS = {
    "failed": "failed",
    "cancelled": "was cancelled",
    "cancelling": "was being cancelled",
    "running": "had not ended",
    "queued": "had not begun",
    "succeeded": "succeeded",
}
