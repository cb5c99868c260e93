"""The trained model as a directory that other programs load: a whole model, or a LoRA adapter.

model/  config.json  generation_config.json  model*.safetensors      full mode, or adapters merged
        adapter_config.json  adapter_model.safetensors               adapters on their own
        tokenizer.json  tokenizer_config.json  chat_template.jinja   always
"""

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

from torch import Tensor

from tunix_rt.base.files.atomic import write_directory_atomically
from tunix_rt.engines.adapter_config import WEIGHTS_FILE, write_adapter_config
from tunix_rt.engines.model_files import write_model_config
from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.safetensors_writer import write_model_files, write_tensor_file
from tunix_rt.engines.torch.adapters import adapter_tensors, merged_weights
from tunix_rt.engines.torch.model import Decoder
from tunix_rt.engines.torch.sharding import ALONE, Layout
from tunix_rt.engines.torch.step import TrainStep
from tunix_rt.engines.torch.tensor_bytes import lazy_tensor
from tunix_rt.tokenization.chat_template import save_tokenizer


def export_model(
    directory: Path, prepared: Prepared, decoder: Decoder, train_step: TrainStep, layout: Layout = ALONE
) -> None:
    """Write `directory` whole or not at all; what is there is replaced. No step may follow.

    Every process of a run must call this, because a tensor may be spread over all of them; the first one
    writes.
    """
    recipe = prepared.recipe
    is_adapter = recipe.lora is not None and not recipe.output.merge_adapters
    if recipe.lora is None:
        named: Iterable[tuple[str, Tensor]] = train_step.stored_weights().items()
    else:
        train_step.give_weights_back()
        named = adapter_tensors(decoder).items() if is_adapter else merged_weights(decoder, layout.full)
    tensors = [(name, layout.full(tensor)) for name, tensor in named]
    place = write_directory_atomically(directory, what="exporting the model")
    with place if layout.is_first else nullcontext() as target:
        if target is not None:
            _write(target, tensors, prepared, is_adapter=is_adapter)
    layout.wait()


def _write(target: Path, tensors: list[tuple[str, Tensor]], prepared: Prepared, *, is_adapter: bool) -> None:
    source, encoder, lora = prepared.source, prepared.encoder, prepared.recipe.lora
    files = [lazy_tensor(name, tensor) for name, tensor in tensors]
    if is_adapter:
        assert lora is not None
        write_tensor_file(target / WEIGHTS_FILE, files)
        write_adapter_config(target, lora, base_model=source.name, revision=source.revision)
    else:
        write_model_files(target, files)
        dtype = str(tensors[0][1].dtype).removeprefix("torch.")
        write_model_config(target, source, encoder, dtype=dtype)
    save_tokenizer(
        target, encoder.tokenizer, encoder.template, max_positions=source.architecture.max_positions
    )
