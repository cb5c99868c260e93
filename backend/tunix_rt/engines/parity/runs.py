"""Runs to compare: a reproducible recipe, trained in child processes."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from tunix_rt.base.errors import child_error
from tunix_rt.base.files.jsonl import read_json_lines
from tunix_rt.engines.parity.types import ParityRun
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.types import DeviceName, EngineName
from tunix_rt.recipes.load import Flag, ResolvedRecipe, load_recipe
from tunix_rt.recipes.types import VALIDATION, Recipe

MODEL = "model"
ADAPTERS = "adapters"
_START_MODULE = "tunix_rt.engines.jax.parity_start"


@dataclass(frozen=True)
class FinishedRun:
    """A finished run."""

    record: ParityRun
    dataset: str
    dataset_hash: str
    model: Path
    """The exported weights."""


def write_start(recipe: Path, directory: Path, *, home: Path) -> None:
    """Initialize the random weights of the recipe with the JAX engine, in a child process.

    Raises:
        TunixRTError: The model is unavailable or does not match the recipe.
    """
    _run("Creating the initial weights", [_START_MODULE, str(recipe), str(directory)], home)


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
        TunixRTError: The run failed; the class follows from its exit code.
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


_REASON = "--parity"


def load_parity_recipe(
    path: Path, *, dataset: str | None, num_steps: int, sets: tuple[str, ...]
) -> ResolvedRecipe:
    """The recipe, with overrides for everything that would make the numbers of two engines differ.

    What a run learns stays unchanged: data, order, optimizer, schedule.
    """
    flags = {} if dataset is None else {"data.dataset": Flag(dataset, "--dataset")}
    recipe = load_recipe(path, sets=sets, flags=flags).recipe
    return load_recipe(path, sets=sets, flags={**flags, **_parity_flags(recipe, num_steps)})


def from_saved_weights(resolved: ResolvedRecipe, directory: Path) -> ResolvedRecipe:
    """The same recipe, starting from the weights in a directory."""
    model = resolved.recipe.model.model_copy(update={"name": str(directory), "weights": "pretrained"})
    return resolved.model_copy(update={"recipe": resolved.recipe.model_copy(update={"model": model})})


def _parity_flags(recipe: Recipe, num_steps: int) -> dict[str, Flag]:
    values: dict[str, JsonValue] = {
        "training.precision.compute": "float32",
        "training.precision.weights": "float32",
        "training.precision.optimizer_state": "float32",
        "training.precision.stochastic_rounding": False,
        "training.attention": "auto",
        "sharding.data": 1,
        "sharding.fsdp": "auto",
        "sharding.tensor": 1,
    }
    if recipe.lora is not None:
        values |= {"lora.dropout": 0.0}  # each engine samples its own
    if recipe.quantization is not None:
        # Each engine quantises blocks of its own layout; the rest of QLoRA is LoRA.
        values |= {"training.mode": "lora", "quantization": None}
    flags = {key: Flag(value, _REASON) for key, value in values.items()}
    return flags | short_run_flags(recipe, num_steps, _REASON)


def short_run_flags(recipe: Recipe, num_steps: int, reason: str) -> dict[str, Flag]:
    """Flags for a short run: every step is logged, no validation, only the last checkpoint."""
    values: dict[str, JsonValue] = {
        "eval.every_steps": None,
        "eval.split": VALIDATION,
        "eval.max_batches": None,
        "eval.early_stop_patience": None,
        "output.log_every_steps": 1,
        "output.save_every_steps": None,
        "output.model": "final",
    }
    length: dict[str, JsonValue] = {
        "training.num_steps": num_steps,
        "training.num_epochs": None,
        "training.warmup_steps": min(recipe.training.warmup_steps, num_steps),
    }
    flags = {key: Flag(value, reason) for key, value in values.items()}
    return flags | {key: Flag(value, "--steps") for key, value in length.items()}
