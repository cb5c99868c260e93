"""Train a tiny model with either engine, in this process or in child processes."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.children import environment, run_program, start_program
from support.datasets import build, sums
from tunix_rt.base.files.jsonl import read_json_lines
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.data import dataset_rows
from tunix_rt.engines.training.job import Engine, ResumePoint, TrainingJob
from tunix_rt.engines.training.records import Progress
from tunix_rt.engines.training.run import run
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.engines.types import DeviceRequest, EngineName
from tunix_rt.recipes.load import load_recipe

DATASET = "demo-v1"
# With a constant schedule, runs of any length share one compiled program.
RECIPE = f"""
model: {{name: tiny-llama, weights: random}}
data: {{dataset: {DATASET}, row_length: 64}}
training:
  num_steps: 12
  batch_size: 4
  learning_rate: 1e-2
  schedule: constant
  warmup_steps: 2
  remat: none
  precision: {{compute: float32}}
eval: {{every_steps: 4, max_batches: 2}}
output: {{save_every_steps: 3}}
"""

_TIMING_KEYS = ("time", "tokens_per_s", "peak_memory_bytes", "mfu")


class Listener:
    """A view that records its output."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def show_line(self, text: str) -> None:
        self.lines.append(text)

    def show_progress(self, progress: Progress, *, is_due: bool) -> None:
        self.lines.append(str(progress))


@dataclass(frozen=True)
class TrainingWorkspace:
    """A training workspace: a home directory with a dataset, a recipe and the outputs of runs."""

    root: Path
    engine: EngineName = "jax"

    @property
    def settings(self) -> Settings:
        return Settings(home=self.root / "home")

    @property
    def recipe(self) -> Path:
        return self.root / "tiny.yaml"

    def train(
        self,
        output: str,
        *sets: str,
        resume_from: ResumePoint | None = None,
        view: Listener | None = None,
        **job: Any,
    ) -> RunManifest:
        """Train in this process."""
        resolved = load_recipe(self.recipe, sets=list(sets))
        training = TrainingJob(
            resolved=resolved,
            data=dataset_rows(self.settings, resolved.recipe),
            run_dir=RunDir(self.root / output),
            resume_from=resume_from,
            **{"device": DeviceRequest("cpu"), **job},
        )
        return run(self._engine(), training, view or Listener())

    def _engine(self) -> Engine:
        if self.engine == "torch":
            import torch

            from tunix_rt.engines.torch.engine import TorchEngine

            # On busy cores, two spinning threads are slower than one.
            torch.set_num_threads(1)
            return TorchEngine()
        from tunix_rt.engines.jax.engine import JaxEngine

        return JaxEngine()

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of child processes."""
        return environment(self.settings, OMP_NUM_THREADS="1", **more)

    def command(self, output: str, *more: str) -> list[str]:
        where = ["--engine", self.engine, "--device", "cpu", "--output", str(self.root / output)]
        return ["train", str(self.recipe), *where, *more]

    def start(self, output: str, *more: str) -> "subprocess.Popen[str]":
        """Start a training run in a child process."""
        return start_program(*self.command(output, *more), environ=self.environment())

    def run_child(self, output: str, *more: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        """Train in a child process and wait for it."""
        return run_program(
            *self.command(output, *more), settings=self.settings, OMP_NUM_THREADS="1", **environ
        )

    def metrics(self, output: str) -> list[dict[str, Any]]:
        """Return the lines of metrics.jsonl without the keys that depend on timing."""
        lines = read_json_lines(self.root / output / "metrics.jsonl")
        return [{key: line[key] for key in line if key not in _TIMING_KEYS} for line in lines]

    def weights(self, output: str) -> bytes:
        """Return the exported weights."""
        return (self.root / output / "model" / "model.safetensors").read_bytes()

    def events(self, output: str, kind: str) -> list[dict[str, Any]]:
        """Return the events of one kind."""
        lines = read_json_lines(self.root / output / "events.jsonl")
        return [line for line in lines if line["kind"] == kind]

    def manifest(self, output: str) -> dict[str, Any]:
        """Return the run manifest."""
        manifest: dict[str, Any] = json.loads((self.root / output / "run_manifest.json").read_bytes())
        return manifest

    def kept_steps(self, output: str) -> list[int]:
        """Return the steps that have a checkpoint."""
        names = os.listdir(self.root / output / "checkpoints")
        return sorted(int(name) for name in names if name.isdecimal())


def make_workspace(root: Path, engine: EngineName = "jax") -> TrainingWorkspace:
    """Create a workspace with a dataset of 48 sums, a quarter of them for validation."""
    root.mkdir(parents=True, exist_ok=True)
    build(root / "home", sums(48), splits={"train": 0.75, "validation": 0.25})
    workspace = TrainingWorkspace(root, engine)
    workspace.recipe.write_text(RECIPE, encoding="utf-8")
    return workspace


def workspace_fixture(*engines: EngineName) -> Any:
    """Return a fixture: a workspace for tiny models, one per module and engine."""

    @pytest.fixture(scope="module", params=engines)
    def workspace(
        tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
    ) -> TrainingWorkspace:
        return make_workspace(tmp_path_factory.mktemp("workspace"), request.param)

    return workspace
