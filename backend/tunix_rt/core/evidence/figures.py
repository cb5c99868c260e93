"""Whether the figures that a run ends with follow from the lines that it wrote."""

from collections.abc import Iterator

from tunix_rt.base.records import differences
from tunix_rt.core.evidence.summary import EvalSummary, TrainingCurve
from tunix_rt.engines.training.types import RunFigures, RunManifest

_CLOCK_SLACK = 0.05
"""The overall speed leaves out the first step, the lines do not always: the two may differ by that share."""


def figure_problems(manifest: RunManifest, curve: TrainingCurve) -> Iterator[str]:
    """What the manifest says otherwise than metrics.jsonl, one line each."""
    if not curve.is_ascending:
        yield "the steps of metrics.jsonl are not in ascending order"
    if manifest.figures is None:
        if manifest.status == "succeeded":
            yield "run_manifest.json has no figures"
        return
    yield from _loss_problems(manifest.figures, curve)
    yield from _extent_problems(manifest.figures, curve)


def _loss_problems(figures: RunFigures, curve: TrainingCurve) -> Iterator[str]:
    last, best = curve.last_validation, curve.best_validation
    pairs = (
        ("final_loss", figures.final_loss, None if curve.last is None else curve.last.loss),
        ("validation_loss", figures.validation_loss, None if last is None else last.validation_loss),
        (
            "best_validation_loss",
            figures.best_validation_loss,
            None if best is None else best.validation_loss,
        ),
        ("best_step", figures.best_step, None if best is None else best.step),
    )
    for name, stated, recomputed in pairs:
        if stated is not None and stated != recomputed:
            yield f"run_manifest.json says {name} {stated}; from metrics.jsonl it is {recomputed}"


def _extent_problems(figures: RunFigures, curve: TrainingCurve) -> Iterator[str]:
    last_step = 0 if curve.last is None else curve.last.step
    if figures.num_steps < last_step:
        yield f"run_manifest.json says {figures.num_steps} steps; metrics.jsonl goes to step {last_step}"
    if figures.num_steps and not curve.num_lines:
        yield f"run_manifest.json says {figures.num_steps} steps; metrics.jsonl has none of them"
    stated = figures.peak_memory_bytes
    if stated is not None and stated < curve.peak_memory_bytes:
        yield f"run_manifest.json says {stated} bytes at most; metrics.jsonl has {curve.peak_memory_bytes}"
    if figures.tokens_per_s is not None and curve.tokens_per_s is not None and last_step == figures.num_steps:
        slowest, fastest = curve.tokens_per_s
        if not slowest * (1 - _CLOCK_SLACK) <= figures.tokens_per_s <= fastest * (1 + _CLOCK_SLACK):
            yield (
                f"run_manifest.json says {figures.tokens_per_s:.0f} tokens/s; the lines of metrics.jsonl "
                f"have {slowest:.0f} to {fastest:.0f}"
            )


def summary_problems(stated: EvalSummary, recomputed: EvalSummary | None) -> Iterator[str]:
    """What eval_summary.json says otherwise than the files it names, one line each."""
    if recomputed is None:
        yield "eval_summary.json sums up a run without a training or a score"
        return
    for key, mine, theirs in differences(stated.to_json(), recomputed.to_json()):
        yield f"eval_summary.json says {key} {_shown(mine)}; recomputed it is {_shown(theirs)}"


def _shown(value: object) -> object:
    return "not there" if value is None else value
