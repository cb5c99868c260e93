"""Exports of trained models, checkpoints and merged adapters.

model/  config.json  generation_config.json  model*.safetensors      full mode, or adapters merged
        adapter_config.json  adapter_model.safetensors               adapters on their own
        tokenizer.json  tokenizer_config.json  chat_template.jinja   always
"""

from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import jax

from tunix_rt.base.files.atomic import write_directory_atomically
from tunix_rt.engines.export import (
    RequestedFormat,
    merged_format,
    recipe_of_checkpoint,
    write_model_config,
    write_tokenizer,
)
from tunix_rt.engines.generation.base import GeneratorRequest
from tunix_rt.engines.generation.generator import encoder_of
from tunix_rt.engines.jax.devices import choose_device
from tunix_rt.engines.jax.generation.generator import load_weights
from tunix_rt.engines.jax.model.lora import Adapters, adapter_scale
from tunix_rt.engines.jax.model.params import Params
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.jax.start import build_run, load_state
from tunix_rt.engines.jax.training.checkpoints import Checkpoints
from tunix_rt.engines.jax.training.state import TrainState
from tunix_rt.engines.jax.weights import load_adapters, save_adapters, save_params
from tunix_rt.engines.training.checkpointing import Start, restore
from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.preparation import Prepared
from tunix_rt.engines.weights.sources import ModelSource, resolve_model
from tunix_rt.recipes.types import Recipe, ShardingSection
from tunix_rt.tokenization.encoding import TraceEncoder


def export_state(directory: Path, state: TrainState, frozen: Any, prepared: Prepared) -> None:
    """Write the weights of a training state as `export_model` does."""
    is_full = prepared.recipe.training.mode == "full"
    params, adapters = (state.trainable, None) if is_full else (frozen, state.trainable)
    export_model(directory, params, adapters, prepared.recipe, prepared.source, prepared.encoder)


def export_model(
    directory: Path,
    params: Params,
    adapters: Adapters | None,
    recipe: Recipe,
    source: ModelSource,
    encoder: TraceEncoder,
) -> None:
    """Write a model directory atomically.

    Every process of a run must call this; the first one writes.

    Args:
        directory: Replaced if it exists.
        params: The model without its adapters; quantised matrices are written dequantised.
        adapters: The LoRA adapters; None in full mode.
        recipe: Decides whether adapters are merged.
        source: The model that training started from.
        encoder: The tokenizer and chat template of the training.
    """
    is_writer = jax.process_index() == 0
    atomic = write_directory_atomically(directory, what="exporting the model") if is_writer else None
    with atomic or nullcontext(directory) as target:
        if adapters is not None and not recipe.output.merge_adapters:
            assert recipe.lora is not None
            save_adapters(target, adapters, recipe.lora, base_model=source.name, revision=source.revision)
        else:
            scale = adapter_scale(recipe.lora) if recipe.lora is not None else 1.0
            save_params(target, params, source.architecture, adapters=adapters, adapter_scale=scale)
            if is_writer:
                write_model_config(target, source, encoder, dtype=params["embedding"].dtype.name)
        if is_writer:
            write_tokenizer(target, source, encoder)


def export_checkpoint(job: TrainingJob, step: int, directory: Path) -> None:
    """Write the weights that a run had after `step` steps."""
    recipe = recipe_of_checkpoint(job)
    _, prepared, program = build_run(job, recipe)
    num_newest = recipe.output.keep_checkpoints
    with closing(Checkpoints(job.checkpoints, program.abstract_state, num_newest=num_newest)) as checkpoints:
        restored = restore(checkpoints, step, prepared.identity)
    state, frozen = load_state(Start(step, state=restored.state), program, prepared)
    export_state(directory, state, frozen, prepared)


def merge_adapter(request: GeneratorRequest, directory: Path, dtype: RequestedFormat) -> None:
    """Write a model with its adapter merged."""
    assert request.adapter is not None
    source = resolve_model(request.model)
    encoder = encoder_of(request, source)
    devices = choose_device(request.device).devices[:1]
    stored = merged_format(source, dtype)
    params = load_weights(request, source, stored, make_mesh(ShardingSection(data=1, fsdp=1), devices))
    adapters, lora = load_adapters(request.adapter, source.architecture)
    with write_directory_atomically(directory, what="merging the adapter") as target:
        save_params(target, params, source.architecture, adapters=adapters, adapter_scale=adapter_scale(lora))
        write_model_config(target, source, encoder, dtype=stored)
        write_tokenizer(target, source, encoder)
