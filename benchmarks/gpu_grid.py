"""Measures what steps need on a GPU: peak memory and time over a grid of modes, rows, batches and remat.

    python -m benchmarks.gpu_grid --engine torch [--only TEXT ...] [--parallel-gib GIB] [--json FILE]
    python -m benchmarks.gpu_grid --engine torch --tiny          a model of the demo on the CPU, to try it out

Every case runs in a process of its own, on random tokens and weights. The file is written after every case,
and what it holds is not measured again: the program may be stopped and started. With --parallel-gib as many
cases run at one time as the planner thinks fit into so much memory; their times, worth nothing, are left out.
`benchmarks.fit_torch_plan` fits the planner to the file.
"""

import argparse
import json
import math
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engine_steps import Device, open_step, timed
from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.engines.planning.memory import estimate_components, estimate_torch_components
from tunix_rt.engines.planning.step import step_shape
from tunix_rt.engines.planning.targets import GIB, find_target
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.load import validate_recipe
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.packing import Batch

RESULTS = Path(__file__).parent / "results"
CASE_TIMEOUT_S = 240
NUM_WARMUP, NUM_TIMED = 2, 4
_MOST_AT_ONCE = 8
_TIMES = ("step_seconds", "tokens_per_s")

_BF16 = {"weights": "bfloat16"}
MODES: dict[str, dict[str, Any]] = {
    "adamw": {},
    "adafactor bf16": {"optimizer": "adafactor", "precision": _BF16 | {"stochastic_rounding": True}},
    "lora": {"mode": "lora", "precision": _BF16},
    "qlora": {"mode": "qlora", "precision": _BF16},
}
SHAPES: tuple[tuple[int, int], ...] = ((512, 8), (1536, 3), (1536, 11))
"""Row length and rows a step."""
REMATS = ("block", "dots", "none")
_GEMMA = "google/gemma-2b"
_TINY = "tiny-gemma"

Cases = dict[str, dict[str, Any]]


def case(model: str, row_length: int, num_rows: int, **training: Any) -> dict[str, Any]:
    """A recipe as plain values."""
    return {
        "model": {"name": model, "weights": "random"},
        "data": {"row_length": row_length},
        "training": {"num_steps": 1000, "batch_size": num_rows} | training,
    }


def grid(model: str = _GEMMA, shapes: tuple[tuple[int, int], ...] = SHAPES) -> Cases:
    """Every mode with every shape and remat."""
    return {
        f"{model.split('/')[-1]} {mode} {length} x {rows}, {remat}": case(
            model, length, rows, remat=remat, **training
        )
        for mode, training in MODES.items()
        for length, rows in shapes
        for remat in REMATS
    }


def beyond_the_grid() -> Cases:
    """Keys and models that the grid holds still."""
    return {
        **{
            f"gemma-2b {mode} {length} x {rows}, {remat}, not compiled": case(
                _GEMMA, length, rows, remat=remat, **MODES[mode] | {"num_steps": 50}
            )
            for mode in ("adamw", "lora")
            for length, rows in ((512, 8), (1536, 3))
            for remat in ("dots", "none")
        },
        "gemma-2b adamw 512 x 32 in 4 parts": case(_GEMMA, 512, 32, gradient_accumulation_steps=4),
        "gemma-2b adamw 512 x 8, all logits": case(_GEMMA, 512, 8, loss_chunk_tokens=None),
        "gemma-2b adamw 512 x 8, dense attention": case(_GEMMA, 512, 8, attention="dense"),
        "gemma-2b adamw bf16 moments 512 x 8": case(
            _GEMMA, 512, 8, precision={"optimizer_state": "bfloat16"}
        ),
        **{
            f"gemma-2b lora 768 x 45 in 15 parts, {remat}": case(
                _GEMMA, 768, 45, gradient_accumulation_steps=15, remat=remat, **MODES["lora"]
            )
            for remat in ("dots", "none")
        },
        "gemma-2-2b lora 1024 x 4": case("google/gemma-2-2b", 1024, 4, **MODES["lora"]),
        "gemma-3-1b adamw 2048 x 4": case("google/gemma-3-1b-pt", 2048, 4),
        "llama-3.2-1b adamw 1024 x 8": case("meta-llama/Llama-3.2-1B", 1024, 8),
        "smollm2-135m adamw 1024 x 8": case("HuggingFaceTB/SmolLM2-135M", 1024, 8),
        "gemma-2b lora 1984 x 17 in 17 parts": case(
            _GEMMA, 1984, 17, gradient_accumulation_steps=17, remat="dots", **MODES["lora"]
        ),
    }


def all_cases(*, is_tiny: bool) -> Cases:
    """What is measured."""
    if not is_tiny:
        return grid() | beyond_the_grid()
    cases = grid(_TINY, ((64, 4),))
    for values in cases.values():
        # Not every CPU computes in bfloat16.
        values["training"]["precision"] = {**values["training"].get("precision", {}), "compute": "float32"}
    return cases


def random_rows(recipe: Recipe, vocab_size: int, seed: int) -> Batch:
    """Full rows of two examples each, two thirds of them trained."""
    shape = (recipe.training.batch_size, recipe.data.row_length)
    tokens = np.random.default_rng(seed).integers(1, vocab_size, shape).astype(np.int32)
    half = shape[1] // 2
    columns = np.arange(shape[1], dtype=np.int32)
    positions = np.where(columns < half, columns, columns - half)
    is_trained = (positions >= half // 3) & (columns < shape[1] - 1)
    return Batch(
        tokens=tokens,
        targets=np.roll(tokens, -1, axis=1),
        loss_mask=np.tile(is_trained.astype(np.uint8), (shape[0], 1)),
        segment_ids=np.tile(np.where(columns < half, 1, 2).astype(np.int32), (shape[0], 1)),
        positions=np.tile(positions.astype(np.int32), (shape[0], 1)),
        examples=(),
    )


def measure(engine: Any, values: dict[str, Any], device: Device) -> dict[str, Any]:
    """Run a case in this process."""
    recipe = validate_recipe(values)
    vocab_size = resolve_model(recipe.model, needs_weights=False).architecture.vocab_size
    batches = [random_rows(recipe, vocab_size, seed) for seed in range(NUM_WARMUP + NUM_TIMED)]
    step = open_step(engine, recipe, device)
    seconds, losses = timed(step, batches, num_warmup=NUM_WARMUP)
    tokens = recipe.training.batch_size * recipe.data.row_length
    return {
        **step.memory(),
        "step_seconds": round(seconds, 5),
        "tokens_per_s": round(tokens / seconds),
        "losses": [round(loss, 4) for loss in losses],
        **step.details,
    }


def measured_in_child(engine: str, name: str, *, is_tiny: bool) -> dict[str, Any]:
    """Figures of a case, or why there are none."""
    command = [sys.executable, "-m", "benchmarks.gpu_grid", "--engine", engine, "--case", name]
    try:
        done = subprocess.run(
            command + ["--tiny"] * is_tiny, capture_output=True, text=True, timeout=CASE_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no end after {CASE_TIMEOUT_S} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1][:300]}
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures


def source_text(engine: str) -> str:
    """What measured, for whoever reads the figures later."""
    packages = ("jax", "torch", "transformers", "peft", "bitsandbytes", "flash-attn")
    versions = []
    for package in packages:
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    now = datetime.now(UTC)
    return f"python -m benchmarks.gpu_grid --engine {engine}, {', '.join(versions)}; {now:%Y-%m-%d}"


class Room:
    """Memory of the GPU, handed out to cases by what the planner says that they need."""

    def __init__(self, gib: float) -> None:
        self._free = self._all = gib
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, gib: float) -> Iterator[None]:
        """Wait for so much, all of it at most."""
        gib = min(gib, self._all)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= gib)
            self._free -= gib
        try:
            yield
        finally:
            with self._changed:
                self._free += gib
                self._changed.notify_all()


def planned_gib(engine: Any, values: dict[str, Any], target: str) -> float:
    """What the planner says, and something more."""
    recipe = validate_recipe(values)
    architecture = resolve_model(recipe.model, needs_weights=False).architecture
    shape = step_shape(recipe, architecture, find_target(target), engine)
    components = estimate_torch_components(shape) if engine == "torch" else estimate_components(shape)
    return sum(components.values()) / GIB * 1.15 + 1.5


def run_all(arguments: argparse.Namespace, path: Path) -> None:
    """Measure what the file does not hold yet; failures are tried again."""
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    steps: dict[str, Any] = known.get("steps", {})
    target = "cpu" if arguments.tiny else arguments.target
    lock, room = threading.Lock(), Room(arguments.parallel_gib or math.inf)

    def run_one(name: str, values: dict[str, Any]) -> None:
        needed = planned_gib(arguments.engine, values, arguments.target) if arguments.parallel_gib else 0.0
        with room.taken(needed):
            figures = measured_in_child(arguments.engine, name, is_tiny=arguments.tiny)
        if arguments.parallel_gib:
            figures = {key: value for key, value in figures.items() if key not in _TIMES}
        with lock:
            steps[name] = {"target": target, "engine": arguments.engine, "recipe": values, **figures}
            write_json_atomically(path, {"source": source_text(arguments.engine), "steps": steps})
            print(f"{name:50} {json.dumps(figures)}", flush=True)

    wanted = {
        name: values
        for name, values in all_cases(is_tiny=arguments.tiny).items()
        if not arguments.only or any(text in name for text in arguments.only)
    }
    with ThreadPoolExecutor(_MOST_AT_ONCE if arguments.parallel_gib else 1) as pool:
        missing = {name: wanted[name] for name in wanted if "peak_bytes" not in steps.get(name, {})}
        for done in [pool.submit(run_one, name, values) for name, values in missing.items()]:
            done.result()


def main() -> None:
    """Run all cases, or one of them in this process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--engine", choices=["jax", "torch"], required=True)
    parser.add_argument("--target", default="h200", help="the planner's name of the GPU that is here")
    parser.add_argument("--only", nargs="*", help="cases whose name has one of these texts")
    parser.add_argument("--tiny", action="store_true", help="a tiny model on the CPU")
    parser.add_argument("--parallel-gib", type=float, help="run several cases at one time in so much memory")
    parser.add_argument("--case", help="measure this one in this process")
    parser.add_argument("--json", type=Path, help="default: results/<engine>_grid.json; needed with --tiny")
    arguments = parser.parse_args()
    if arguments.case:
        values = all_cases(is_tiny=arguments.tiny)[arguments.case]
        try:
            print(json.dumps(measure(arguments.engine, values, "cpu" if arguments.tiny else "gpu")))
        except TunixRTError as error:
            sys.exit(str(error))
    elif arguments.tiny and arguments.json is None:
        parser.error("--tiny needs --json FILE: its figures are no results")
    else:
        run_all(arguments, arguments.json or RESULTS / f"{arguments.engine}_grid.json")


if __name__ == "__main__":
    main()
