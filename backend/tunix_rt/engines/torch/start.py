"""The decoder that a recipe trains, initial or resumed; the plan; the summary of a run."""

import math
from pathlib import Path

import torch

from tunix_rt.engines.planning.fixes import with_advice
from tunix_rt.engines.planning.kernels import Setting, TorchKernelChoice, resolve_torch_kernel
from tunix_rt.engines.planning.limits import require_torch_format
from tunix_rt.engines.planning.planner import PlanQuestion, estimated_plan
from tunix_rt.engines.planning.step import NUM_BYTES, num_adapter_parameters
from tunix_rt.engines.planning.targets import device_target
from tunix_rt.engines.planning.types import Plan, Workload
from tunix_rt.engines.torch.devices import TorchDevice
from tunix_rt.engines.torch.distributed import Layout
from tunix_rt.engines.torch.model.decoder import Decoder, DecoderOptions, hold_for_compute, open_decoder
from tunix_rt.engines.torch.model.lora import add_adapters, load_adapters
from tunix_rt.engines.torch.model.quantization import quantize_layers
from tunix_rt.engines.torch.training.checkpoints import State
from tunix_rt.engines.torch.training.step import TrainStep
from tunix_rt.engines.training.checkpointing import Start
from tunix_rt.engines.training.preparation import Prepared
from tunix_rt.engines.training.run import (
    batch_line,
    block,
    data_line,
    logits_text,
    mib,
    model_line,
    training_line,
)
from tunix_rt.engines.weights.sources import ModelSource
from tunix_rt.recipes.types import Recipe


def plan_run(prepared: Prepared, device: TorchDevice) -> Plan:
    """The plan, with fixes if it does not fit."""
    question = PlanQuestion(
        prepared.recipe,
        prepared.source.architecture,
        device_target(device),
        Workload(num_steps=prepared.num_steps),
        engine="torch",
    )
    return with_advice(estimated_plan(question), question)


def resolve_kernel(recipe: Recipe, source: ModelSource, device: TorchDevice) -> TorchKernelChoice:
    """The attention kernel of a recipe on a device, and why it was chosen.

    Raises:
        InvalidInputError: A kernel was requested by name and cannot be used.
    """
    setting = Setting(
        source.architecture,
        device.platform,
        recipe.data.row_length,
        recipe.training.precision.compute,
        device.compute_capability,
    )
    return resolve_torch_kernel(recipe.training.attention, setting)


def load_decoder(source: ModelSource, recipe: Recipe, device: TorchDevice) -> Decoder:
    """Load the decoder of a recipe; exactly its trained parameters require a gradient.

    Raises:
        DataError: The weight files are damaged or do not match the model.
        InvalidInputError: The recipe requires something that the model or the device does not support.
        MissingExtraError: An optional dependency of the mode is not installed.
    """
    precision = recipe.training.precision
    require_torch_format(precision.compute, device.kind, device.compute_capability)
    options = DecoderOptions(
        weights=precision.weights,
        compute=precision.compute,
        kernel=resolve_kernel(recipe, source, device).kernel,
        seed=recipe.training.seed,
        is_random=recipe.model.weights == "random",
        is_frozen=recipe.training.mode == "lora",
    )
    if recipe.quantization is None:
        decoder = open_decoder(source, options, device.device)
    else:
        # Layer by layer from the host: the device never holds the unquantised model.
        decoder = open_decoder(source, options, torch.device("cpu"))
        quantize_layers(decoder, recipe.quantization, device.device)
        hold_for_compute(decoder.module, decoder.compute_dtype)
        decoder.module.to(device.device)
    if recipe.lora is not None:
        add_adapters(decoder, recipe.lora, recipe.training.seed)
    return decoder


def run_summary(prepared: Prepared, device: TorchDevice, kernel: TorchKernelChoice, layout: Layout) -> str:
    """The summary of a run, one line per subject."""
    recipe, architecture = prepared.recipe, prepared.source.architecture
    training, precision = recipe.training, recipe.training.precision
    is_full = training.mode == "full"
    num_parts = training.gradient_accumulation_steps
    rows = training.batch_size // num_parts
    num_trained = architecture.num_parameters if is_full else num_adapter_parameters(architecture, recipe)
    rounding = ", stochastic rounding" if precision.stochastic_rounding else ""
    embedding = [architecture.vocab_size, architecture.hidden_size]
    embedding_size = mib(math.prod(embedding) * NUM_BYTES[precision.weights])
    return block(
        {
            "model": model_line(prepared, num_trained),
            "training": training_line(recipe),
            "precision": f"compute {precision.compute}, weights {precision.weights}, "
            f"trained {precision.weights if is_full else 'float32'}, "
            f"optimizer state {precision.optimizer_state}{rounding}",
            "batch": batch_line(prepared, (num_parts, rows, recipe.data.row_length), "int64"),
            "data": data_line(prepared),
            "attention": f"{kernel.kernel} ({kernel.reason})",
            "devices": str(device),
            "mesh": str(layout),
            "largest": f"embedding {embedding} {precision.weights} {embedding_size}, "
            + logits_text(recipe, architecture, rows=rows // layout.num_processes),
        }
    )


def load_training(
    start: Start[State],
    prepared: Prepared,
    device: TorchDevice,
    layout: Layout,
    *,
    initial_adapters: Path | None,
) -> tuple[Decoder, TrainStep]:
    """The model and its training step. Frozen weights are always loaded again, as checkpoints have none.

    A new LoRA run starts from `initial_adapters`, a directory in PEFT's layout, or from random adapters.
    """
    decoder = load_decoder(prepared.source, prepared.recipe, device)
    if initial_adapters is not None and start.state is None:
        load_adapters(decoder, initial_adapters)
    train_step = TrainStep(decoder, prepared.recipe, prepared.num_steps, device.device, layout)
    if start.state is not None:
        train_step.load_state_dict(start.state)
    return decoder, train_step
