"""Exports of trained models, checkpoints and merged adapters.

model/  config.json  generation_config.json  model*.safetensors      full mode, or adapters merged
        adapter_config.json  adapter_model.safetensors               adapters on their own
        tokenizer.json  tokenizer_config.json  chat_template.jinja   always
"""

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

from torch import Tensor

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
from tunix_rt.engines.torch.devices import choose_device
from tunix_rt.engines.torch.distributed import ALONE, Layout
from tunix_rt.engines.torch.model.decoder import Decoder, DecoderOptions, open_decoder
from tunix_rt.engines.torch.model.lora import adapter_tensors, load_adapters, merged_weights
from tunix_rt.engines.torch.start import load_training
from tunix_rt.engines.torch.training.checkpoints import Checkpoints
from tunix_rt.engines.torch.training.step import TrainStep
from tunix_rt.engines.torch.weights import lazy_tensor
from tunix_rt.engines.training.checkpointing import Start, restore
from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.preparation import Prepared, prepare
from tunix_rt.engines.weights.adapters import WEIGHTS_FILE, write_adapter_config
from tunix_rt.engines.weights.safetensors import write_model_files, write_tensor_file
from tunix_rt.engines.weights.sources import resolve_model


def export_model(
    directory: Path, prepared: Prepared, decoder: Decoder, train_step: TrainStep, layout: Layout = ALONE
) -> None:
    """Write a model directory atomically, replacing an existing one. No step may follow.

    Every process of a run must call this, because tensors may be sharded over all of them; the first one
    writes.
    """
    recipe = prepared.recipe
    is_adapter = recipe.lora is not None and not recipe.output.merge_adapters
    if recipe.lora is None:
        named: Iterable[tuple[str, Tensor]] = train_step.stored_weights().items()
    else:
        train_step.restore_stored_weights()
        named = adapter_tensors(decoder).items() if is_adapter else merged_weights(decoder, layout.full)
    tensors = [(name, layout.full(tensor)) for name, tensor in named]
    atomic = write_directory_atomically(directory, what="exporting the model")
    with atomic if layout.is_first else nullcontext() as target:
        if target is not None:
            source, encoder = prepared.source, prepared.encoder
            files = [lazy_tensor(name, tensor) for name, tensor in tensors]
            if recipe.lora is not None and is_adapter:
                write_tensor_file(target / WEIGHTS_FILE, files)
                write_adapter_config(target, recipe.lora, base_model=source.name, revision=source.revision)
            else:
                write_model_files(target, files)
                dtype = str(tensors[0][1].dtype).removeprefix("torch.")
                write_model_config(target, source, encoder, dtype=dtype)
            write_tokenizer(target, source, encoder)
    layout.wait()


def export_checkpoint(job: TrainingJob, step: int, directory: Path) -> None:
    """Write the weights that a run had after `step` steps."""
    recipe = recipe_of_checkpoint(job)
    device = choose_device(job.device)
    prepared = prepare(recipe, job.data)
    checkpoints = Checkpoints(job.checkpoints, num_newest=recipe.output.keep_checkpoints, layout=ALONE)
    try:
        restored = restore(checkpoints, step, prepared.identity)
    finally:
        checkpoints.close()
    start = Start(step, state=restored.state)
    decoder, train_step = load_training(start, prepared, device, ALONE, initial_adapters=None)
    export_model(directory, prepared, decoder, train_step)


def merge_adapter(request: GeneratorRequest, directory: Path, dtype: RequestedFormat) -> None:
    """Write a model with its adapter merged."""
    assert request.adapter is not None
    source = resolve_model(request.model)
    encoder = encoder_of(request, source)
    stored = merged_format(source, dtype)
    options = DecoderOptions(
        weights=stored,
        kernel="dense",
        seed=request.seed,
        is_random=request.model.weights == "random",
    )
    decoder = open_decoder(source, options, choose_device(request.device).device)
    load_adapters(decoder, request.adapter)
    tensors = [lazy_tensor(name, tensor) for name, tensor in merged_weights(decoder)]
    with write_directory_atomically(directory, what="merging the adapter") as target:
        write_model_files(target, tensors)
        write_model_config(target, source, encoder, dtype=stored)
        write_tokenizer(target, source, encoder)
