"""Models that the JAX engine writes without a training: a checkpoint, a merged adapter."""

from pathlib import Path

from tunix_rt.base.files.atomic import write_directory_atomically
from tunix_rt.engines.base import TrainingJob
from tunix_rt.engines.exporting import AskedFormat, merged_format, recipe_of_checkpoint
from tunix_rt.engines.generation import GeneratorRequest
from tunix_rt.engines.generation_opening import encoder_of
from tunix_rt.engines.jax.adapter_files import load_adapters
from tunix_rt.engines.jax.checkpoints import Checkpoints
from tunix_rt.engines.jax.devices import choose_device
from tunix_rt.engines.jax.export import export_model
from tunix_rt.engines.jax.generation.opening import load_weights
from tunix_rt.engines.jax.lora import adapter_scale
from tunix_rt.engines.jax.program import build_program
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.jax.starting import load_state
from tunix_rt.engines.jax.weights_saving import save_params
from tunix_rt.engines.model_files import write_model_config
from tunix_rt.engines.models import resolve_model
from tunix_rt.engines.preparation import prepare
from tunix_rt.engines.starting import Start, restore
from tunix_rt.recipes.types import ShardingSection
from tunix_rt.tokenization.chat_template import save_tokenizer


def export_checkpoint(job: TrainingJob, step: int, directory: Path) -> None:
    """Write the weights that a run had after `step` steps."""
    recipe = recipe_of_checkpoint(job)
    choice = choose_device(job.device)
    prepared = prepare(recipe, job.data)
    program = build_program(
        recipe,
        prepared.source.architecture,
        make_mesh(recipe.sharding, choice.devices),
        num_steps=prepared.num_steps,
        platform=choice.platform,
    )
    checkpoints = Checkpoints(
        job.checkpoints, program.abstract_state, num_newest=recipe.output.keep_checkpoints
    )
    try:
        restored = restore(checkpoints, step, prepared.identity)
    finally:
        checkpoints.close()
    state, frozen = load_state(Start(step, state=restored.state), program, prepared)
    is_full = recipe.training.mode == "full"
    export_model(
        directory,
        state.trainable if is_full else frozen,
        None if is_full else state.trainable,
        recipe,
        prepared.source,
        prepared.encoder,
    )


def merge_adapter(request: GeneratorRequest, directory: Path, dtype: AskedFormat) -> None:
    """Write a model with its adapter added."""
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
        max_positions = source.architecture.max_positions
        save_tokenizer(target, encoder.tokenizer, encoder.template, max_positions=max_positions)
