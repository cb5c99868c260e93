"""Fits the planner's component model of the torch engine to measured steps.

    python -m benchmarks.fit_torch_plan [--grid FILE] [--write FILE]

Three of four steps are fitted, the fourth is held out; the table shows predicted and measured of all. When a
held-out step is more than 10 % off, it exits with 1 and writes nothing.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.engines.planning.memory import (
    FILE,
    TorchCalibration,
    TorchCoefficients,
    estimate_torch_components,
    torch_calibration,
)
from tunix_rt.engines.planning.step import StepShape, step_shape
from tunix_rt.engines.planning.targets import GIB, find_target
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.load import validate_recipe
from tunix_rt.recipes.types import Recipe

GRID = Path(__file__).parent / "results" / "torch_grid.json"
MEASURED = "peak_allocated_bytes"
"""What must fit. `peak_bytes` has what the allocator holds beyond it as long as there is room."""
HELD_OUT_EVERY = 4
LARGEST_ERROR = 0.10
_NAMES = tuple(TorchCoefficients.model_fields)
_PRIOR_WEIGHT = 0.01
"""Pull of the coefficients that are there already: without it, one that no step decides could be anything."""


def measured_steps(path: Path) -> dict[str, dict[str, Any]]:
    """The steps of a grid that ran."""
    steps: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["steps"]
    return {name: step for name, step in steps.items() if MEASURED in step}


def shape_of(step: dict[str, Any]) -> StepShape:
    """The sizes of a measured step."""
    recipe = validate_recipe(step["recipe"])
    if recipe.training.loss_chunk_tokens is None:
        # The planner must think that all tokens are trained; of the grid's, two thirds are.
        recipe = _with_chunk(recipe, recipe.training.batch_size * recipe.data.row_length * 2 // 3)
    architecture = resolve_model(recipe.model, needs_weights=False).architecture
    return step_shape(recipe, architecture, find_target(step["target"]), "torch")


def _with_chunk(recipe: Recipe, num_tokens: int) -> Recipe:
    training = recipe.training.model_copy(update={"loss_chunk_tokens": num_tokens})
    return recipe.model_copy(update={"training": training})


def predicted_bytes(shape: StepShape, coefficients: TorchCoefficients) -> int:
    """What the component model says."""
    return sum(estimate_torch_components(shape, coefficients).values())


def fit(steps: list[tuple[StepShape, int]], start: TorchCoefficients) -> TorchCoefficients:
    """The coefficients, none of them negative, with the least sum of squared relative errors."""
    first = np.array([getattr(start, name) for name in _NAMES])
    scale = np.maximum(first, 0.1)

    def errors(scaled: Any) -> Any:
        tried = _coefficients(scaled * scale)
        relative = [predicted_bytes(shape, tried) / measured - 1 for shape, measured in steps]
        return np.array([*relative, *(_PRIOR_WEIGHT * (scaled - first / scale))])

    found = least_squares(errors, first / scale, bounds=(0, np.inf), diff_step=0.02)
    return _coefficients(found.x * scale)


def _coefficients(values: Any) -> TorchCoefficients:
    return TorchCoefficients(**dict(zip(_NAMES, map(float, values), strict=True)))


def report(steps: dict[str, dict[str, Any]], coefficients: TorchCoefficients) -> float:
    """Print predicted against measured; the largest error of a step that was held out."""
    worst = 0.0
    for index, (name, step) in enumerate(steps.items()):
        predicted, measured = predicted_bytes(shape_of(step), coefficients), step[MEASURED]
        error = predicted / measured - 1
        if is_held_out(index):
            worst = max(worst, abs(error))
        mark = "held out" if is_held_out(index) else ""
        print(f"{name:50} {predicted / GIB:8.2f} {measured / GIB:8.2f} GiB {error:+7.1%} {mark}")
    return worst


def is_held_out(index: int) -> bool:
    """Whether a step of this place takes no part in the fit."""
    return index % HELD_OUT_EVERY == HELD_OUT_EVERY - 1


def main() -> None:
    """Fit, show, and write the planner's file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--grid", type=Path, default=GRID)
    parser.add_argument("--write", type=Path, default=FILE)
    arguments = parser.parse_args()
    steps = measured_steps(arguments.grid)
    fitted_to = [
        (shape_of(step), step[MEASURED])
        for index, step in enumerate(steps.values())
        if not is_held_out(index)
    ]
    if not fitted_to:
        sys.exit(f"{arguments.grid} holds no measured steps. Run: python -m benchmarks.gpu_grid")
    coefficients = fit(fitted_to, torch_calibration().coefficients)
    worst = report(steps, coefficients)
    print(f"largest error of a held-out step: {worst:.1%}")
    if worst > LARGEST_ERROR:
        sys.exit(f"more than {LARGEST_ERROR:.0%}: nothing was written")
    target = next(iter(steps.values()))["target"]
    calibration = TorchCalibration(
        source=f"fitted to {len(fitted_to)} steps measured on an {target}, "
        f"{len(steps) - len(fitted_to)} held out and at most {worst:.1%} off "
        f"(benchmarks/results/{arguments.grid.name})",
        measured_on=target,
        coefficients=_rounded(coefficients),
    )
    write_json_atomically(arguments.write, calibration.model_dump(mode="json"))


def _rounded(coefficients: TorchCoefficients) -> TorchCoefficients:
    return TorchCoefficients(**{name: round(getattr(coefficients, name), 3) for name in _NAMES})


if __name__ == "__main__":
    main()
