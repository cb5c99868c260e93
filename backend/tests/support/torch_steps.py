"""Steps of the torch engine on a tiny model, from random weights or from a directory."""

from pathlib import Path
from typing import Any

from torch import Tensor

from support.programs import TINY_GEMMA2, random_batch
from support.torch_models import CPU
from tunix_rt.engines.torch.devices import choose_device
from tunix_rt.engines.torch.start import load_decoder
from tunix_rt.engines.torch.training.step import StepMetrics, TrainStep
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.engines.weights.architecture import architecture_from_config
from tunix_rt.engines.weights.sources import ModelSource, resolve_model
from tunix_rt.recipes.types import ModelSection, Recipe


def tiny_step(recipe: Recipe, directory: Path | None = None, *, num_steps: int = 10) -> TrainStep:
    """Return the train step of a recipe on the CPU, for a model directory or a random tiny Gemma 2."""
    source = tiny_source() if directory is None else resolve_model(ModelSection(name=str(directory)))
    decoder = load_decoder(source, recipe, choose_device(DeviceRequest("cpu")))
    return TrainStep(decoder, recipe, num_steps, CPU)


def train(step: TrainStep, num_steps: int, *, first: int = 0) -> list[StepMetrics]:
    """Train on the batches first, first + 1, …"""
    indices = range(first, first + num_steps)
    return [step.run(step.put_batch(random_batch(seed=index)), index) for index in indices]


def losses(metrics: list[StepMetrics]) -> list[float]:
    return [float(each.loss) for each in metrics]


def copied(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copy a state, so that later steps do not change it."""
    return {name: tensor.clone() for name, tensor in state.items()}


def largest_difference(left: dict[str, Tensor], right: dict[str, Tensor]) -> float:
    """Return the largest absolute difference of two states."""
    assert left.keys() == right.keys()
    return max(float((left[name].float() - right[name].float()).abs().max()) for name in left)


def tiny_source() -> ModelSource:
    """Return a tiny Gemma 2 without files."""
    config: dict[str, Any] = TINY_GEMMA2
    return ModelSource("tiny", architecture_from_config(config), config, directory=None, revision=None)
