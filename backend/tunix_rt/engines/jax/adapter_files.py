"""LoRA adapters as PEFT stores them: `adapter_config.json` and `adapter_model.safetensors`.

ours                   there
layers / q / a [in, r]    base_model.model.model.layers.<i>.self_attn.q_proj.lora_A.weight [r, in]
layers / q / b [r, out]   base_model.model.model.layers.<i>.self_attn.q_proj.lora_B.weight [out, r]
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tunix_rt.engines.adapter_config import WEIGHTS_FILE, write_adapter_config
from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.jax.linear import Adapter
from tunix_rt.engines.jax.lora import Adapters
from tunix_rt.engines.jax.weights_saving import fetch_layer
from tunix_rt.engines.safetensors_reader import StoredTensor
from tunix_rt.engines.safetensors_writer import FORMATS, LazyTensor, write_tensor_file
from tunix_rt.engines.stored_adapters import adapter_tensor_name, open_adapter
from tunix_rt.recipes.types import LoraSection


def save_adapters(
    directory: Path, adapters: Adapters, lora: LoraSection, *, base_model: str, revision: str | None = None
) -> None:
    """Write adapters for `peft.PeftModel.from_pretrained(base, directory)`.

    Args:
        directory: exists already.
        adapters: the trained matrices.
        lora: the recipe's section: rank, alpha, dropout.
        base_model: hub id or directory of the weights that the adapters belong to.
        revision: the base's commit on the hub.
    """
    tensors = list(_lazy_tensors(adapters))
    if jax.process_index() != 0:
        for tensor in tensors:
            tensor.fetch()
        return
    write_tensor_file(directory / WEIGHTS_FILE, tensors)
    write_adapter_config(directory, lora, base_model=base_model, revision=revision)


def load_adapters(directory: Path, architecture: Architecture) -> tuple[Adapters, LoraSection]:
    """Read adapters that PEFT or `save_adapters` wrote.

    Raises:
        DataError: A file is missing or damaged, does not fit the architecture, or is of a kind that this
            engine does not compute.
    """
    with open_adapter(directory, architecture) as (lora, tensors):
        layers: dict[str, Adapter] = {
            target: {
                "a": _stack(tensors, target, "a", architecture.num_layers),
                "b": _stack(tensors, target, "b", architecture.num_layers),
            }
            for target in lora.targets
        }
    return {"layers": layers}, lora


def _lazy_tensors(adapters: Adapters) -> Iterator[LazyTensor]:
    float32 = np.dtype("float32")
    for target, adapter in adapters["layers"].items():
        for part, stack in (("a", adapter["a"]), ("b", adapter["b"])):
            num_layers, *shape = stack.shape
            get = partial(fetch_layer, stack, dtype=float32, is_transposed=True)
            for layer in range(num_layers):
                name = adapter_tensor_name(layer, target, part)
                yield LazyTensor(name, tuple(shape[::-1]), FORMATS[float32.name], partial(get, layer))


def _stack(tensors: Mapping[str, StoredTensor], target: str, part: str, num_layers: int) -> Array:
    """One matrix of every layer, [L, in, r] or [L, r, out]."""
    matrices = [tensors[adapter_tensor_name(layer, target, part)].read().T for layer in range(num_layers)]
    return jnp.asarray(np.stack(matrices), jnp.float32)
