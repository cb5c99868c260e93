"""The GPU benchmarks run on a tiny model, and the planner can be calibrated with a grid."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.planning_page import question_of

from tunix_rt.engines.planning.memory import (
    TorchCalibration,
    TorchCoefficients,
    estimate_torch_components,
    torch_calibration,
)
from tunix_rt.engines.planning.step import step_shape

ROOT = Path(__file__).parents[4]


def run_benchmark(name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )


# Slow: each run of a benchmark takes 15 s of CPU time.
@pytest.mark.slow
def test_grid_is_measured_once_on_tiny_model(tmp_path: Path) -> None:
    grid = tmp_path / "grid.json"
    command = (
        "gpu_grid",
        "--engine",
        "torch",
        "--tiny",
        "--json",
        str(grid),
        "--only",
        "adamw 64 x 4, block",
    )
    assert run_benchmark(*command).returncode == 0
    [(name, step)] = json.loads(grid.read_text())["steps"].items()
    assert name == "tiny-gemma adamw 64 x 4, block"
    assert step["peak_bytes"] > 0 < step["step_seconds"]
    assert run_benchmark(*command).stdout == ""


# Slow, as the test before.
@pytest.mark.slow
def test_training_benchmark_runs_on_tiny_model(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    command = ("torch_training", "--tiny", "--only", "ours-lora", "--json", str(table))
    fills = []
    for row_length in (192, 512):
        done = run_benchmark(*command, "--set", f"data.row_length={row_length}")
        assert done.returncode == 0, done.stderr
        figures = json.loads(table.read_text())["ours-lora"]
        assert figures["samples_per_s"] > 0
        fills.append(figures["fill_ratio"])
    assert fills[0] != fills[1]


def size_of(step: dict[str, Any], coefficients: TorchCoefficients) -> int:
    """Bytes that these coefficients predict."""
    asked = question_of(step)
    shape = step_shape(asked.recipe, asked.architecture, asked.target, "torch")
    return sum(estimate_torch_components(shape, coefficients).values())


def measured_with(**coefficients: float) -> dict[str, Any]:
    """A grid as a GPU would give it that these coefficients describe."""
    truth = torch_calibration().coefficients.model_copy(update=coefficients)
    steps: dict[str, Any] = {}
    for mode in ("full", "lora"):
        for rows in (2, 4, 8):
            for remat in ("block", "none"):
                recipe = {
                    "model": {"name": "google/gemma-2b", "weights": "random"},
                    "data": {"row_length": 1024},
                    "training": {"num_steps": 1, "mode": mode, "batch_size": rows, "remat": remat},
                }
                step = {"target": "h200", "engine": "torch", "recipe": recipe}
                steps[f"{mode} {rows} {remat}"] = step | {"peak_allocated_bytes": size_of(step, truth)}
    return {"source": "made up by a test", "steps": steps}


def test_the_planner_is_fitted_to_a_grid(tmp_path: Path) -> None:
    grid, written = tmp_path / "grid.json", tmp_path / "calibration.json"
    measured = measured_with(layer_at_work=5.0, kept_by_none=4.0)
    grid.write_text(json.dumps(measured))
    done = run_benchmark("fit_torch_plan", "--grid", str(grid), "--write", str(written))
    assert done.returncode == 0, done.stdout + done.stderr
    fitted = TorchCalibration.model_validate_json(written.read_bytes())
    assert fitted.measured_on == "h200"
    for step in measured["steps"].values():
        assert size_of(step, fitted.coefficients) == pytest.approx(step["peak_allocated_bytes"], rel=0.005)


def test_a_grid_that_the_model_cannot_explain_is_not_written(tmp_path: Path) -> None:
    grid, written = tmp_path / "grid.json", tmp_path / "calibration.json"
    measured = measured_with()
    for index, step in enumerate(measured["steps"].values()):
        # Every fourth step, the one held out, is four times as large.
        step["peak_allocated_bytes"] *= 1 + index % 4
    grid.write_text(json.dumps(measured))
    done = run_benchmark("fit_torch_plan", "--grid", str(grid), "--write", str(written))
    assert done.returncode == 1
    assert "nothing was written" in done.stderr
    assert not written.exists()
