"""The metric of a trial: while it runs, from its lines of metrics; at its end, from its figures."""

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import Any

from pydantic import JsonValue

from tunix_rt.base.files.jsonl import read_json_lines
from tunix_rt.base.home import Home
from tunix_rt.core.sweeps.spec import Metric
from tunix_rt.core.sweeps.sweep import Sweep, Trial
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.runs.types import Run

_STEP_PERCENT = 5


def final_value(home: Home, sweep: Sweep, trial: Trial, run: Run) -> float | None:
    """The metric of a run that succeeded; None: it has none."""
    if sweep.spec.metric == "score":
        evaluation = EvaluationRepository(home.database).newest_of_run(
            run.run_id, evalset=sweep.spec.eval_set
        )
        return None if evaluation is None else evaluation.scores.primary_score
    if run.figures is None:
        return None
    if sweep.spec.metric == "loss":
        return run.figures.final_loss
    # The loss of the weights that were exported.
    is_best = value_of(sweep, trial, "output.model") == "best"
    return run.figures.best_validation_loss if is_best else run.figures.validation_loss


def points_so_far(home: Home, sweep: Sweep, trial: Trial) -> list[tuple[int, float]]:
    """How the trial has gone: percent of its training, and the metric there."""
    lines = read_json_lines(RunDir(home.settings.runs_dir / trial.run_id).metrics)
    num_steps = value_of(sweep, trial, "training.num_steps")
    num_epochs = value_of(sweep, trial, "training.num_epochs")
    name, total = ("epoch", num_epochs) if num_steps is None else ("step", num_steps)
    assert isinstance(total, int | float)  # the recipe has one of the two
    return list(progress_points(lines, sweep.spec.metric, of=name, total=total))


def progress_points(
    lines: Iterable[Mapping[str, Any]], metric: Metric, *, of: str, total: float
) -> Iterator[tuple[int, float]]:
    """The mean of the metric up to each twentieth of a training that a line has reached.

    Trials of different lengths can be compared at the same percent, and one step's noise decides nothing.

    Example:
        10 steps with the losses 9, 8, 7, … -> (10, 9), (20, 8), (30, 7), …
    """
    reached, values = 0, []
    for line in lines:
        if metric not in line:
            continue
        values.append(line[metric])
        percent = min(int(100 * line[of] / total) // _STEP_PERCENT * _STEP_PERCENT, 100)
        if percent > reached:
            yield percent, fmean(values)
            reached, values = percent, []


def value_of(sweep: Sweep, trial: Trial, key: str) -> JsonValue:
    """What a trial's recipe has under a dotted key; None when it has nothing there."""
    if key in trial.params:
        return trial.params[key]
    found: JsonValue = sweep.recipe
    for part in key.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(part)
    return found
