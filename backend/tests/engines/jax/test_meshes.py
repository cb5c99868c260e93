"""The same recipe on meshes of eight simulated devices, compiled in one child process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    child = subprocess.run(
        [sys.executable, "-m", "support.mesh_child"],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert child.returncode == 0, child.stderr[-2000:]
    parsed: dict[str, Any] = json.loads(child.stdout)
    return parsed


@pytest.mark.parametrize(
    ("mode", "mesh"), [("full", "fsdp"), ("full", "tensor"), ("full", "all"), ("qlora", "all")]
)
def test_mesh_losses_match_one_device(report: dict[str, Any], mode: str, mesh: str) -> None:
    losses = report["losses"][mode]
    assert losses[mesh] == pytest.approx(losses["one"], abs=1e-5)


def test_fsdp_shards_weights_and_moments(report: dict[str, Any]) -> None:
    memory = report["memory"]
    weights_and_two_moments = 3 * memory["weights"]
    assert memory["arguments"] < weights_and_two_moments / 8 * 1.05


def test_fsdp_gathers_layer_by_layer(report: dict[str, Any]) -> None:
    """Weights gathered all at once would alone exceed the temporaries."""
    memory = report["memory"]
    assert memory["temporaries"] < 0.6 * memory["weights"]
