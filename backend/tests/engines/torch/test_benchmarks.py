"""GPU benchmarks run on a tiny model, and the planner is calibrated with a measured grid."""

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


# Slow: each benchmark run takes 15 s of CPU time.
@pytest.mark.slow
def test_grid_is_measured_once(tmp_path: Path) -> None:
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


# Slow: each benchmark run takes 15 s of CPU time.
@pytest.mark.slow
def test_training_benchmark_runs_on_tiny_model(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    command = ("torch_training", "--tiny", "--only", "ours-lora", "--json", str(table))
    fills = []
    for row_length in (192, 512):
        result = run_benchmark(*command, "--set", f"data.row_length={row_length}")
        assert result.returncode == 0, result.stderr
        figures = json.loads(table.read_text())["ours-lora"]
        assert figures["samples_per_s"] > 0
        fills.append(figures["fill_ratio"])
    assert fills[0] != fills[1]


def predicted_bytes(step: dict[str, Any], coefficients: TorchCoefficients) -> int:
    """The bytes that these coefficients predict for a step."""
    question = question_of(step)
    shape = step_shape(question.recipe, question.architecture, question.target, "torch")
    return sum(estimate_torch_components(shape, coefficients).values())


def synthetic_grid(**coefficients: float) -> dict[str, Any]:
    """A measured grid that these coefficients explain exactly."""
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
                steps[f"{mode} {rows} {remat}"] = step | {
                    "peak_allocated_bytes": predicted_bytes(step, truth)
                }
    return {"source": "made up by a test", "steps": steps}


def test_planner_is_fitted_to_grid(tmp_path: Path) -> None:
    grid, calibration = tmp_path / "grid.json", tmp_path / "calibration.json"
    measured = synthetic_grid(layer_at_work=5.0, kept_by_none=4.0)
    grid.write_text(json.dumps(measured))
    result = run_benchmark("fit_torch_plan", "--grid", str(grid), "--write", str(calibration))
    assert result.returncode == 0, result.stdout + result.stderr
    fitted = TorchCalibration.model_validate_json(calibration.read_bytes())
    assert fitted.measured_on == "h200"
    for step in measured["steps"].values():
        assert predicted_bytes(step, fitted.coefficients) == pytest.approx(
            step["peak_allocated_bytes"], rel=0.005
        )


def test_unexplained_grid_writes_no_calibration(tmp_path: Path) -> None:
    grid, calibration = tmp_path / "grid.json", tmp_path / "calibration.json"
    measured = synthetic_grid()
    for index, step in enumerate(measured["steps"].values()):
        # Every fourth step, which is held out, is four times as large.
        step["peak_allocated_bytes"] *= 1 + index % 4
    grid.write_text(json.dumps(measured))
    result = run_benchmark("fit_torch_plan", "--grid", str(grid), "--write", str(calibration))
    assert result.returncode == 1
    assert "nothing was written" in result.stderr
    assert not calibration.exists()
