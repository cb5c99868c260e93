"""Runs to be compared: each trains in a process of its own, by the command that people use."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tunix_rt.base.errors import child_error
from tunix_rt.base.files.jsonl import read_json_lines
from tunix_rt.core.parity import ParityRun
from tunix_rt.engines.base import DeviceName, EngineName
from tunix_rt.files.run_dirs import RunDir

MODEL = "model"
ADAPTERS = "adapters"
_START_MODULE = "tunix_rt.engines.jax.parity_start"


@dataclass(frozen=True)
class FinishedRun:
    """A run that has come to its end."""

    record: ParityRun
    dataset: str
    dataset_hash: str
    model: Path
    """The exported weights."""


def write_start(recipe: Path, directory: Path, *, home: Path) -> None:
    """Let the JAX engine draw, in a child, what the recipe starts from at random.

    Raises:
        TunixRTError: The model cannot be had or does not go with the recipe.
    """
    _run("Making the weights to start from", [_START_MODULE, str(recipe), str(directory)], home)


def train_in_child(
    engine: EngineName,
    recipe: Path,
    directory: Path,
    *,
    home: Path,
    device: DeviceName = "cpu",
    adapters: Path | None = None,
) -> FinishedRun:
    """Train a recipe with `tunix-rt train`.

    Raises:
        TunixRTError: The run failed, for a reason of the kind that its exit code says.
    """
    command = ["tunix_rt.cli", "train", str(recipe), "--engine", engine, "--device", device, "--json"]
    command += ["--output", str(directory)]
    command += [] if adapters is None else ["--initial-adapters", str(adapters)]
    _run(f"Training with the {engine} engine", command, home)
    return _finished(engine, RunDir(directory))


def _run(what: str, module_and_arguments: list[str], home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *module_and_arguments],
        env=os.environ | {"TUNIX_RT_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode:
        raise child_error(what, done.returncode, done.stderr)


def _finished(engine: EngineName, run_dir: RunDir) -> FinishedRun:
    manifest = json.loads(run_dir.manifest.read_bytes())
    environment = json.loads(run_dir.environment.read_bytes())
    lines = [line for line in read_json_lines(run_dir.metrics) if "loss" in line]
    record = ParityRun(
        engine=engine,
        packages=environment["packages"],
        losses=tuple(line["loss"] for line in lines),
        batch_hashes=tuple(line["batch_sha256"] for line in lines),
    )
    return FinishedRun(record, manifest["dataset"], manifest["dataset_hash"], run_dir.model)
