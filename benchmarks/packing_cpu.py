"""How much faster an epoch of dev-reasoning-v2 is packed than padded, for the tiny Gemma on this CPU.

The same model, rows and step; steps of both kinds take turns, so that a busy machine slows both alike.
Prints a table and exits 1 when the ratio is below its bar.

    python -m benchmarks.packing_cpu [--rounds 15]
"""

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax

from tunix_rt.base.settings import Settings
from tunix_rt.engines.jax.program import Program, build_program
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.training.data import dataset_rows
from tunix_rt.engines.training.preparation import Prepared, prepare
from tunix_rt.recipes.load import load_recipe
from tunix_rt.recipes.types import Recipe

BAR = 3.0
SMOKE_RECIPE = Path(__file__).parents[1] / "training" / "configs" / "smoke_tiny.yaml"
SETS = ["data.row_length=512", "training.batch_size=8", "eval={}"]


@dataclass
class Contestant:
    """One way to fill rows, with a state that trains on."""

    name: str
    prepared: Prepared
    program: Program
    state: Any
    frozen: Any
    seconds: list[float] = field(default_factory=list)

    def step(self, index: int) -> None:
        """Train on one batch and remember how long that took."""
        batch = self.program.put_batch(self.prepared.batches.batch(index))
        start = time.perf_counter()
        self.state, metrics = self.program.train_step(self.state, self.frozen, batch)
        jax.block_until_ready(metrics)
        self.seconds.append(time.perf_counter() - start)

    @property
    def epoch_seconds(self) -> float:
        """Of one pass over all examples, by the median step."""
        return statistics.median(self.seconds) * self.prepared.batches.num_batches_per_epoch

    def __str__(self) -> str:
        batches, step_seconds = self.prepared.batches, statistics.median(self.seconds)
        parts = (
            f"{self.name} {batches.num_examples} examples in {batches.num_batches_per_epoch} batches",
            f"{batches.fill_ratio:.0%} full",
            f"{step_seconds:.3f} s a step",
            f"{self.epoch_seconds:.1f} s an epoch",
            f"{batches.num_examples / self.epoch_seconds:.1f} examples/s",
        )
        return "  " + ", ".join(parts)


def main() -> None:
    """Measure and print; exit 1 when the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home))
        packed = contestant("packed", settings, "data.packing=true")
        padded = contestant("padded", settings, "data.packing=false")
        for index in range(1 + options.rounds):
            for each in (packed, padded):
                each.step(index)
    for each in (packed, padded):
        del each.seconds[0]  # compiles
        print(each)
    ratio = padded.epoch_seconds / packed.epoch_seconds
    verdict = "ok" if ratio >= BAR else "MISSED"
    print(f"  packed is {ratio:.1f} times as fast (n = {options.rounds} steps each), bar ≥ {BAR}  {verdict}")
    sys.exit(ratio < BAR)


def contestant(name: str, settings: Settings, packing: str) -> Contestant:
    """The smoke recipe with this way to fill rows, ready for its first step."""
    recipe: Recipe = load_recipe(SMOKE_RECIPE, sets=[*SETS, packing]).recipe
    prepared = prepare(recipe, dataset_rows(settings, recipe))
    mesh = make_mesh(recipe.sharding, jax.devices("cpu")[:1])
    architecture, num_steps = prepared.source.architecture, prepared.num_steps
    program = build_program(recipe, architecture, mesh, num_steps=num_steps, platform="cpu")
    return Contestant(name, prepared, program, *program.init_state(program.random_params()))


if __name__ == "__main__":
    main()
