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
from tunix_rt.engines.weights.sources import with_absolute_paths
from tunix_rt.recipes.load import Flag, ResolvedRecipe, load_recipe
from tunix_rt.recipes.types import VALIDATION

MODEL = "model"
ADAPTERS = "adapters"


@dataclass(frozen=True)
class ComparisonRequest:
    """The recipe to train twice."""

    recipe_path: Path
    dataset: str | None = None
    """Key. None: the recipe's."""
    num_steps: int = 20
    sets: tuple[str, ...] = ()
    """`key=value` each, as `load_recipe` takes them."""


@dataclass(frozen=True)
class FinishedRun:
    """A finished run."""

    record: ParityRun
    dataset: str
    dataset_hash: str
    model: Path
    """The exported weights."""


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
    run_child(f"Training with the {engine} engine", command, home)
    run_dir = RunDir(directory)
    manifest = json.loads(run_dir.manifest.read_bytes())
    lines = [line for line in read_json_lines(run_dir.metrics) if "loss" in line]
    record = ParityRun(
        engine=engine,
        packages=json.loads(run_dir.environment.read_bytes())["packages"],
        losses=tuple(line["loss"] for line in lines),
        batch_hashes=tuple(line["batch_sha256"] for line in lines),
    )
    return FinishedRun(record, manifest["dataset"], manifest["dataset_hash"], run_dir.model)


def run_child(what: str, module_and_arguments: list[str], home: Path) -> None:
    """Run a Python module in a child process; `what` is the subject of the error message.

    Raises:
        TunixRTError: The child failed; the class follows from its exit code.
    """
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


_SHORT_RUN: dict[str, JsonValue] = {
    "eval.every_steps": None,
    "eval.split": VALIDATION,
    "eval.max_batches": None,
    "eval.early_stop_patience": None,
    "output.log_every_steps": 1,
    "output.save_every_steps": None,
    "output.model": "final",
}
_SAME_NUMBERS: dict[str, JsonValue] = {
    "training.precision.compute": "float32",
    "training.precision.weights": "float32",
    "training.precision.optimizer_state": "float32",
    "training.precision.stochastic_rounding": False,
    "training.attention": "auto",
    "sharding.data": 1,
    "sharding.fsdp": "auto",
    "sharding.tensor": 1,
}


def load_short_recipe(request: ComparisonRequest, *, across_engines: bool) -> ResolvedRecipe:
    """The recipe as a short run in which every step is logged, with an override for every change.

    Across engines, everything that would make their numbers differ is changed too. What a run learns stays
    unchanged: data, order, optimizer, schedule.
    """
    path, sets = request.recipe_path, request.sets
    flags = {} if request.dataset is None else {"data.dataset": Flag(request.dataset, "--dataset")}
    recipe = load_recipe(path, sets=sets, flags=flags).recipe
    values = dict(_SAME_NUMBERS) if across_engines else {}
    if across_engines and recipe.lora is not None:
        values |= {"lora.dropout": 0.0}  # each engine samples its own
    if across_engines and recipe.quantization is not None:
        # Each engine quantises blocks of its own layout; the rest of QLoRA is LoRA.
        values |= {"training.mode": "lora", "quantization": None}
    reason = "--parity" if across_engines else "--determinism"
    length: dict[str, JsonValue] = {
        "training.num_steps": request.num_steps,
        "training.num_epochs": None,
        "training.warmup_steps": min(recipe.training.warmup_steps, request.num_steps),
    }
    flags |= {key: Flag(value, reason) for key, value in (values | _SHORT_RUN).items()}
    flags |= {key: Flag(value, "--steps") for key, value in length.items()}
    return with_absolute_paths(load_recipe(path, sets=sets, flags=flags))
