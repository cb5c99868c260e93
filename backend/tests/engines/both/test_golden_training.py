"""Short CPU trainings of each engine and mode repeat the recorded losses; full models repeat their texts."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from support.golden import command_output, recorded

RECIPE = """
model: {name: tiny-gemma3, weights: random, tokenizer: tiny}
data: {dataset: demo-arithmetic-v2, row_length: 64}
training:
  num_steps: 50
  batch_size: 4
  learning_rate: 3e-3
  warmup_steps: 5
  precision: {compute: float32}
eval: {every_steps: 25, max_batches: 2}
output: {save_every_steps: null}
"""
NUM_PROMPTS = 5

MODES = {
    "full": (),
    # Adapters learn more slowly, especially on random weights.
    "lora": ("training.mode=lora", "training.learning_rate=1e-2"),
    "qlora": ("training.mode=qlora", "training.learning_rate=1e-2"),
}
# The torch engine needs bitsandbytes for nf4, the default.
TORCH_QLORA = ("quantization.format=int8", "quantization.block_size=16")

# A run is bit-equal only on the same machine: kernels for other vector widths sum in another order, and fifty
# steps amplify the differences.
REL_TOLERANCE = 2e-5


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """The number of threads determines the order of sums."""
    torch.set_num_threads(1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("engine", ["jax", "torch"])
def test_training_repeats_recorded_losses(engine: str, mode: str, tmp_path: Path, update: bool) -> None:
    run = train(engine, mode, tmp_path)
    losses = losses_of(run)
    expected = recorded("losses.json", f"{engine}-{mode}", losses, update=update)
    for kind, values in expected.items():
        assert losses[kind] == pytest.approx(values, rel=REL_TOLERANCE, abs=0), kind
    if mode == "full":
        texts = greedy_texts(run, engine, tmp_path)
        assert texts == recorded("greedy_texts.json", engine, texts, update=update)


def train(engine: str, mode: str, directory: Path) -> Path:
    recipe, run = directory / "golden.yaml", directory / "run"
    recipe.write_text(RECIPE, encoding="utf-8")
    overrides = MODES[mode] + (TORCH_QLORA if (engine, mode) == ("torch", "qlora") else ())
    sets = [word for text in overrides for word in ("--set", text)]
    command_output("train", recipe, "--engine", engine, "--device", "cpu", "--output", run, *sets)
    return run


def losses_of(run: Path) -> dict[str, list[float]]:
    """The training loss of every step and the validation losses, to nine digits."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return {
        key: [float(f"{line[key]:.9g}") for line in lines if key in line]
        for key in ("loss", "validation_loss")
    }


def greedy_texts(run: Path, engine: str, directory: Path) -> dict[str, Any]:
    """The completions for the first held-out questions, and the fingerprint of the evaluation."""
    output = directory / "evaluation"
    where = ["--engine", engine, "--device", "cpu", "--output", output]
    what = ["--eval-set", "demo_arithmetic_heldout", "--limit", str(NUM_PROMPTS), "--max-new-tokens", "40"]
    evaluation = json.loads(command_output("eval", "run", run, *what, *where, "--json"))
    lines = (output / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    predictions = [json.loads(line) for line in lines]
    return {
        "fingerprint": evaluation["fingerprint"],
        "texts": {prediction["prompt"]: prediction["generation"]["text"] for prediction in predictions},
    }
