"""Checkpoints from eight devices resume on two devices and on one. A child process simulates the devices."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.training import TrainingWorkspace

CHILD = """
import json, shutil, sys
from pathlib import Path
from support.training import TrainingWorkspace

workspace = TrainingWorkspace(Path(sys.argv[1]))
sets = ["training.batch_size=8", "eval.every_steps=null", "eval.max_batches=null"]
workspace.train("eight", *sets, "training.num_steps=2")
for count in (1, 2):
    name = f"on-{count}"
    shutil.copytree(workspace.root / "eight", workspace.root / name)
    workspace.train(name, *sets, "training.num_steps=4", f"sharding.fsdp={count}", resume_from="latest")
print(json.dumps({name: workspace.metrics(name) for name in ("eight", "on-1", "on-2")}))
"""

# Slow: three trainings on eight simulated devices; test_train_together.py resumes on fewer processes.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def metrics(workspace: TrainingWorkspace) -> Any:
    flags = {
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(workspace.root)],
        env=os.environ | flags,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["on-1", "on-2"])
def test_run_resumes_on_fewer_devices(workspace: TrainingWorkspace, metrics: Any, name: str) -> None:
    assert [line["step"] for line in metrics[name]] == [1, 2, 3, 4]
    assert metrics[name][:2] == metrics["eight"]
    log = (workspace.root / name / "log.txt").read_text()
    assert "data 1 x fsdp 8 x tensor 1" in log
    assert f"data 1 x fsdp {name[-1]} x tensor 1" in log


def test_device_count_keeps_losses(metrics: Any) -> None:
    losses = {name: [line["loss"] for line in metrics[name]] for name in ("on-1", "on-2")}
    assert losses["on-1"] == pytest.approx(losses["on-2"], rel=1e-5)
    assert losses["on-1"][3] < losses["on-1"][0]
