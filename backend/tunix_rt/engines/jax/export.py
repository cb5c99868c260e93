"""The trained model as a directory that other programs load: a whole model, or a LoRA adapter.

model/  config.json  generation_config.json  model*.safetensors      full mode, or adapters merged
adapter_config.json  adapter_model.safetensors               adapters on their own
tokenizer.json  tokenizer_config.json  chat_template.jinja   always
"""

from contextlib import nullcontext
from pathlib import Path

import jax

from tunix_rt.base.files.atomic import write_directory_atomically
from tunix_rt.engines.jax.adapter_files import save_adapters
from tunix_rt.engines.jax.lora import Adapters, adapter_scale
from tunix_rt.engines.jax.params import Params
from tunix_rt.engines.jax.weights_saving import save_params
from tunix_rt.engines.model_files import write_model_config
from tunix_rt.engines.models import ModelSource
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.chat_template import save_tokenizer
from tunix_rt.tokenization.encoding import TraceEncoder


def export_model(
    directory: Path,
    params: Params,
    adapters: Adapters | None,
    recipe: Recipe,
    source: ModelSource,
    encoder: TraceEncoder,
) -> None:
    """Write `directory` whole or not at all.

    Every process of a run must call this; the first one writes.

    Args:
        directory: what is there is replaced.
        params: the model, without its adapters; quantised matrices are written as numbers.
        adapters: what LoRA trained; None in full mode.
        recipe: says whether adapters are merged.
        source: the model that training started from.
        encoder: the tokenizer and chat template that were trained with.
    """
    is_writer = jax.process_index() == 0
    place = write_directory_atomically(directory, what="exporting the model") if is_writer else None
    with place or nullcontext(directory) as target:
        if adapters is not None and not recipe.output.merge_adapters:
            _write_adapters(target, adapters, recipe, source)
        else:
            scale = adapter_scale(recipe.lora) if recipe.lora is not None else 1.0
            save_params(target, params, source.architecture, adapters=adapters, adapter_scale=scale)
            if is_writer:
                write_model_config(target, source, encoder, dtype=params["embedding"].dtype.name)
        if is_writer:
            max_positions = source.architecture.max_positions
            save_tokenizer(target, encoder.tokenizer, encoder.template, max_positions=max_positions)


def _write_adapters(target: Path, adapters: Adapters, recipe: Recipe, source: ModelSource) -> None:
    assert recipe.lora is not None
    save_adapters(target, adapters, recipe.lora, base_model=source.name, revision=source.revision)
