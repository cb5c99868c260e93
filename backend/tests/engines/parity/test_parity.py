"""Parity checks: the recipe overrides, the errors of child processes, and the comparison of weights."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tunix_rt.base.errors import DataError, DoesNotFitError, InvalidInputError, TunixRTError, child_error
from tunix_rt.engines.parity.check import build_certificate, compare_weights
from tunix_rt.engines.parity.runs import ComparisonRequest, FinishedRun, load_short_recipe
from tunix_rt.engines.parity.types import ParityRun

CONFIGS = Path(__file__).parents[4] / "training" / "configs"
QLORA = """
model: {name: google/gemma-3-1b-it}
data: {dataset: dev-reasoning-v2}
training: {mode: qlora, num_epochs: 3, warmup_steps: 50, attention: cudnn, precision: {weights: bfloat16}}
lora: {dropout: 0.1}
quantization: {format: int8}
sharding: {tensor: 2}
eval: {every_steps: 4, early_stop_patience: 2}
output: {model: best}
"""


@pytest.fixture
def recipe_path(tmp_path: Path) -> Path:
    path = tmp_path / "qlora.yaml"
    path.write_text(QLORA, encoding="utf-8")
    return path


def test_parity_recipe_records_overrides(recipe_path: Path) -> None:
    resolved = load_short_recipe(ComparisonRequest(recipe_path), across_engines=True)
    training = resolved.recipe.training
    assert (training.mode, training.num_steps, training.warmup_steps) == ("lora", 20, 20)
    assert {training.precision.compute, training.precision.weights} == {"float32"}
    assert resolved.recipe.lora is not None
    assert resolved.recipe.lora.dropout == 0
    changed = {override.key: override.reason for override in resolved.overrides}
    assert changed == {
        "training.precision.compute": "--parity",
        "training.precision.weights": "--parity",
        "training.attention": "--parity",
        "training.mode": "--parity",
        "quantization": "--parity",
        "lora.dropout": "--parity",
        "sharding.tensor": "--parity",
        "eval.every_steps": "--parity",
        "eval.early_stop_patience": "--parity",
        "output.model": "--parity",
        "training.num_steps": "--steps",
        "training.num_epochs": "--steps",
        "training.warmup_steps": "--steps",
    }


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_recipe_can_be_compared(path: Path) -> None:
    resolved = load_short_recipe(ComparisonRequest(path, "demo-v1", num_steps=3), across_engines=True)
    assert resolved.recipe.training.num_steps == 3
    assert resolved.recipe.data.dataset == "demo-v1"


def test_parity_key_cannot_be_overridden(recipe_path: Path) -> None:
    request = ComparisonRequest(recipe_path, sets=("training.precision.compute=bfloat16",))
    with pytest.raises(InvalidInputError, match=r"training.precision.compute is given twice"):
        load_short_recipe(request, across_engines=True)


def test_child_error_keeps_type_and_message() -> None:
    stderr = 'compiling\n{"detail": "It needs 9 GiB.", "next_step": "Lower it.", "code": "does-not-fit"}\n'
    error = child_error("Training", 5, stderr)
    assert type(error) is DoesNotFitError
    assert str(error) == "Training failed: It needs 9 GiB. Lower it."


def test_crashed_child_error_includes_stderr() -> None:
    error = child_error("Training", -9, "Traceback\nKeyError: 'loss'")
    assert type(error) is TunixRTError
    assert "KeyError: 'loss'" in error.detail


def write_weights(directory: Path, **tensors: float) -> Path:
    directory.mkdir()
    arrays = {name: np.full((2, 3), value, np.float32) for name, value in tensors.items()}
    save_file(arrays, directory / "model.safetensors")
    return directory


def test_largest_weight_difference_is_found(tmp_path: Path) -> None:
    first = write_weights(tmp_path / "a", up=1.0, down=2.0)
    second = write_weights(tmp_path / "b", up=1.25, down=2.0)
    difference = compare_weights(first, second)
    assert (difference.largest, difference.tensor, difference.num_weights) == (0.25, "up", 12)


def test_different_tensor_names_are_rejected(tmp_path: Path) -> None:
    first, second = write_weights(tmp_path / "a", up=1.0), write_weights(tmp_path / "b", gate=1.0)
    with pytest.raises(DataError, match="different tensors: gate, up"):
        compare_weights(first, second)


def finished_run(engine: str, model: Path, *losses: float, batch_hash: str = "") -> FinishedRun:
    hashes = (batch_hash,) * len(losses)
    record = ParityRun(engine=engine, packages={}, losses=losses, batch_hashes=hashes)
    return FinishedRun(record, "demo-v1", "abc", model)


def test_certificate_locates_largest_differences(tmp_path: Path, recipe_path: Path) -> None:
    resolved = load_short_recipe(ComparisonRequest(recipe_path), across_engines=True)
    first = finished_run("jax", write_weights(tmp_path / "a", up=1.0, down=2.0), 3.0, 2.0, 1.0)
    second = finished_run("torch", write_weights(tmp_path / "b", up=1.0, down=2.5), 3.0, 2.25, 1.125)
    certificate = build_certificate("qlora", resolved, first, second)
    assert (certificate.max_loss_difference, certificate.max_loss_difference_step) == (0.25, 2)
    assert (certificate.max_weight_difference, certificate.max_weight_difference_tensor) == (0.5, "down")
    assert certificate.batches_equal
    assert not certificate.passed


@pytest.mark.parametrize(
    ("batch_hash", "loss", "weight", "passed"),
    [
        ("same", 1e-4, 0.9e-3, True),
        ("other", 0.0, 0.0, False),
        ("same", 1.1e-4, 0.0, False),
        ("same", 0.0, 1.1e-3, False),
    ],
)
def test_certificate_enforces_bounds(
    tmp_path: Path, recipe_path: Path, batch_hash: str, loss: float, weight: float, passed: bool
) -> None:
    resolved = load_short_recipe(ComparisonRequest(recipe_path), across_engines=True)
    first = finished_run("jax", write_weights(tmp_path / "a", up=0.0), 0.0, batch_hash="same")
    second = finished_run("torch", write_weights(tmp_path / "b", up=weight), loss, batch_hash=batch_hash)
    assert build_certificate("qlora", resolved, first, second).passed is passed
