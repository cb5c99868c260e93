"""Train one recipe from the same weights with both engines, for parity tests."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from support.datasets import sums
from support.torch_models import CPU
from tunix_rt.engines.jax.model.lora import init_adapters
from tunix_rt.engines.jax.program import Program, build_program
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.jax.training.state import TrainState
from tunix_rt.engines.jax.weights import load_adapters as load_jax_adapters
from tunix_rt.engines.jax.weights import load_params, save_adapters, save_params
from tunix_rt.engines.torch.devices import choose_device
from tunix_rt.engines.torch.model.decoder import DecoderOptions, open_decoder
from tunix_rt.engines.torch.model.lora import adapter_tensors, load_adapters
from tunix_rt.engines.torch.start import load_decoder
from tunix_rt.engines.torch.training.step import TrainStep
from tunix_rt.engines.training.job import Rows, TrainingData
from tunix_rt.engines.training.preparation import Prepared, prepare
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.types import ModelSection, Recipe
from tunix_rt.tokenization.packing import Batch

NUM_STEPS = 20


@dataclass(frozen=True)
class Trained:
    """The results of one engine."""

    losses: list[float]
    grad_norms: list[float]
    weights: dict[str, Tensor]
    """The whole model under its published names, or the adapters under PEFT's names."""
    batch: dict[str, NDArray[Any]]
    """The first batch on the device: tokens, targets, loss_mask, segment_ids and positions."""


def save_tiny_model(name: str, directory: Path) -> Path:
    """Save random weights of a built-in model as a directory that both engines load."""
    source = resolve_model(ModelSection(name=name, weights="random"))
    decoder = open_decoder(source, DecoderOptions(is_random=True), CPU)
    save_file(dict(decoder.module.named_parameters()), directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps(dict(source.config)), encoding="utf-8")
    return directory


def prepare_sums(recipe: Recipe) -> Prepared:
    """Prepare the recipe with a dataset of small additions."""
    rows = Rows("train", lambda: iter(sums(200)))
    return prepare(recipe, TrainingData("sums", "hash-of-sums", rows, validation=None))


def save_first_adapters(prepared: Prepared, directory: Path) -> Path:
    """Save initial adapters in PEFT's layout, with both matrices of each pair random rather than zero."""
    assert prepared.recipe.lora is not None
    adapters = init_adapters(prepared.source.architecture, prepared.recipe.lora, jax.random.key(0))
    rng = np.random.default_rng(0)
    moved = jax.tree.map(lambda leaf: leaf + 0.02 * rng.standard_normal(leaf.shape, np.float32), adapters)
    save_adapters(directory, moved, prepared.recipe.lora, base_model=prepared.source.name)
    return directory


def train_in_jax(prepared: Prepared, adapters: Path | None, scratch: Path) -> Trained:
    """Train with the JAX engine, which is the reference."""
    program = _jax_program(prepared)
    architecture, directory = prepared.source.architecture, prepared.source.directory
    assert directory is not None
    first = None if adapters is None else load_jax_adapters(adapters, architecture)[0]
    state, frozen = program.init_state(load_params(directory, architecture, "float32"), first)
    losses, grad_norms = [], []
    for index in range(NUM_STEPS):
        batch = program.put_batch(prepared.batches.batch(index))
        state, metrics = program.train_step(state, frozen, batch)
        losses.append(float(metrics.loss))
        grad_norms.append(float(metrics.grad_norm))
    sent = program.put_batch(prepared.batches.batch(0))
    arrays = {name: np.asarray(array).reshape(-1, array.shape[-1]) for name, array in sent.items()}
    return Trained(losses, grad_norms, _jax_weights(program, state, scratch), arrays)


def train_in_torch(prepared: Prepared, adapters: Path | None) -> Trained:
    """Train with the torch engine."""
    decoder = load_decoder(prepared.source, prepared.recipe, choose_device(DeviceRequest("cpu")))
    if adapters is not None:
        load_adapters(decoder, adapters)
    step = TrainStep(decoder, prepared.recipe, NUM_STEPS, CPU)
    metrics = [step.run(step.put_batch(prepared.batches.batch(index)), index) for index in range(NUM_STEPS)]
    weights = step.stored_weights() if adapters is None else adapter_tensors(decoder)
    return Trained(
        [float(each.loss) for each in metrics],
        [float(each.grad_norm) for each in metrics],
        {name: tensor.detach() for name, tensor in weights.items()},
        _torch_batch(step, prepared.batches.batch(0)),
    )


def largest_difference(left: dict[str, Tensor], right: dict[str, Tensor]) -> float:
    """Return the largest absolute difference of two sets of tensors."""
    assert left.keys() == right.keys()
    return max(float((left[name] - right[name]).abs().max()) for name in left)


def _jax_program(prepared: Prepared) -> Program:
    mesh = make_mesh(prepared.recipe.sharding, jax.devices()[:1])
    architecture = prepared.source.architecture
    return build_program(prepared.recipe, architecture, mesh, num_steps=NUM_STEPS, platform="cpu")


def _jax_weights(program: Program, state: TrainState, scratch: Path) -> dict[str, Tensor]:
    lora = program.recipe.lora
    if lora is None:
        save_params(scratch, state.trainable, program.architecture)
        return load_file(scratch / "model.safetensors")
    save_adapters(scratch, state.trainable, lora, base_model="base")
    return load_file(scratch / "adapter_model.safetensors")


def _torch_batch(step: TrainStep, batch: Batch) -> dict[str, NDArray[Any]]:
    """Return a batch as sent to the device; targets and mask are zero where no token is trained."""
    parts = step.put_batch(batch).micro_batches
    rows = {
        name: torch.cat([getattr(part, name) for part in parts]).numpy()
        for name in ("tokens", "segment_ids", "positions")
    }
    masks, targets = [], []
    for part in parts:
        mask, target = torch.zeros(part.tokens.numel()), torch.zeros(part.tokens.numel(), dtype=torch.int64)
        mask[part.loss_positions] = part.weights
        target[part.loss_positions] = part.targets
        masks.append(mask.view_as(part.tokens))
        targets.append(target.view_as(part.tokens))
    return rows | {"loss_mask": torch.cat(masks).numpy(), "targets": torch.cat(targets).numpy()}
