"""`tunix-rt doctor --parity`: both engines train a recipe, and a certificate reports how they differ."""

import json
import subprocess
from pathlib import Path

import pytest
from support.children import PROGRAM, run_here
from support.training import TrainingWorkspace, make_workspace

from tunix_rt.engines.parity.types import ParityCertificate


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> TrainingWorkspace:
    return make_workspace(tmp_path_factory.mktemp("workspace"))


# Slow: 20 steps of each engine in child processes; test_parity_steps.py compares the engines step by step.
@pytest.mark.slow
def test_lora_certificate_is_printed_and_stored(workspace: TrainingWorkspace) -> None:
    changes = ("--set", "training.mode=lora", "--set", "training.schedule=cosine")
    done = subprocess.run(
        [*PROGRAM, "doctor", "--parity", str(workspace.recipe), *changes, "--json"],
        env=workspace.environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    path = Path(printed.pop("path"))
    assert json.loads(path.read_bytes()) == printed
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    certificate = ParityCertificate.model_validate(printed)
    assert certificate.passed
    assert certificate.batches_equal
    assert certificate.num_steps == 20
    assert 0 < certificate.max_loss_difference <= 1e-4
    assert 0 < certificate.max_weight_difference <= 1e-3
    assert [run.engine for run in certificate.runs] == ["jax", "torch"]
    assert [len(set(run.batch_hashes)) > 1 for run in certificate.runs] == [True, True]
    assert certificate.runs[0].losses[-1] < certificate.runs[0].losses[0]
    assert "eval.every_steps" in {override.key for override in certificate.overrides}


def test_unknown_dataset_is_rejected(workspace: TrainingWorkspace) -> None:
    done = run_here(
        "doctor", "--parity", workspace.recipe, "--dataset", "nothing-v1", settings=workspace.settings
    )
    assert done.returncode == 2
    assert "nothing-v1" in done.stderr
    assert not workspace.settings.parity_dir.joinpath("nothing-v1").exists()
