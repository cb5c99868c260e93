"""Models that the torch engine writes without a training: a checkpoint, a merged adapter."""

from pathlib import Path

from tunix_rt.base.files.atomic import write_directory_atomically
from tunix_rt.engines.base import TrainingJob
from tunix_rt.engines.exporting import AskedFormat, merged_format, recipe_of_checkpoint
from tunix_rt.engines.generation import GeneratorRequest
from tunix_rt.engines.generation_opening import encoder_of
from tunix_rt.engines.model_files import write_model_config
from tunix_rt.engines.models import resolve_model
from tunix_rt.engines.preparation import prepare
from tunix_rt.engines.safetensors_writer import write_model_files
from tunix_rt.engines.starting import Start, restore
from tunix_rt.engines.torch.adapters import load_adapters, merged_weights
from tunix_rt.engines.torch.checkpoints import Checkpoints
from tunix_rt.engines.torch.devices import choose_device
from tunix_rt.engines.torch.export import export_model
from tunix_rt.engines.torch.model import DecoderOptions, open_decoder
from tunix_rt.engines.torch.sharding import ALONE
from tunix_rt.engines.torch.starting import load_training
from tunix_rt.engines.torch.tensor_bytes import lazy_tensor
from tunix_rt.tokenization.chat_template import save_tokenizer


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


def merge_adapter(request: GeneratorRequest, directory: Path, dtype: AskedFormat) -> None:
    """Write a model with its adapter added."""
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
        max_positions = source.architecture.max_positions
        save_tokenizer(target, encoder.tokenizer, encoder.template, max_positions=max_positions)
