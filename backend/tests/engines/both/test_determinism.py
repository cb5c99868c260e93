"""`tunix-rt doctor --determinism`: two runs on CPU are identical, with either engine."""

import json
import subprocess
from pathlib import Path

import pytest
from support.children import PROGRAM
from support.training import make_workspace

from tunix_rt.engines.select import has_nvidia_gpu, has_tpu


# Slow: four trainings in child processes; tests/engines/parity/test_determinism.py covers the comparison.
@pytest.mark.slow
@pytest.mark.skipif(has_nvidia_gpu() or has_tpu(), reason="accelerators are measured manually")
def test_cpu_runs_are_bit_equal(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path / "workspace")
    done = subprocess.run(
        [*PROGRAM, "doctor", "--determinism", str(workspace.recipe), "--steps", "2", "--json"],
        env=workspace.environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["passed"]
    assert [(repeat["engine"], repeat["platform"]) for repeat in report["repeats"]] == [
        ("jax", "cpu"),
        ("torch", "cpu"),
    ]
    assert all(repeat["is_bit_equal"] for repeat in report["repeats"])
    assert all(repeat["losses"][0] != repeat["losses"][1] for repeat in report["repeats"])
    assert [path.name for path in workspace.settings.home_dir.glob(".determinism-*")] == []
