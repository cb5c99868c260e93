"""Generation on eight simulated devices, and in a process that runs out of memory."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[2]


def run_child(subject: str, engine: str, *, num_devices: int = 1) -> dict[str, Any]:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={num_devices}"
    paths = {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    child = subprocess.run(
        [sys.executable, "-m", "support.generation_child", subject, engine],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "OMP_NUM_THREADS": "1"} | paths,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert child.returncode == 0, child.stderr[-2000:]
    report: dict[str, Any] = json.loads(child.stdout)
    return report


def test_eight_devices_match_one() -> None:
    report = run_child("devices", "jax", num_devices=8)
    assert report["devices"] == [1, 8]
    assert len(report["one"]) == 11
    assert report["every"] == report["one"]


@pytest.mark.parametrize("engine", ["jax", "torch"])
def test_out_of_memory_shrinks_batches(engine: str) -> None:
    """A prompt that does not fit in the smallest batch fails alone."""
    report = run_child("memory", engine)
    assert report["notes"][0] == "out of memory: continuing with batches of 8"
    assert list(report["ended"].values()) == [[]] * 16
    assert report["mixed"] == {"huge": "out-of-memory"} | report["expected"]
